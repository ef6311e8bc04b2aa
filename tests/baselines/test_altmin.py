from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from tests.real_data import parkinsons, school
from tests.samples import tasks

import grassvine as gv
from grassvine.baselines import alt_min
from grassvine.data import hold_out_samples
from grassvine.foundations.errors import DataError
from grassvine.paper.scores import nmse_of_weights


def test_the_objective_never_rises_and_settles() -> None:
    result = alt_min(tasks(), alpha=1.0, tol=1e-5)
    # Rounding of a sum of a hundred squares.
    assert all(b <= a * (1 + 1e-13) for a, b in pairwise(result.objectives))
    assert result.stop_reason == "the relative change of the objective was at most 1e-05"


def test_the_end_is_stationary() -> None:
    given, alpha = tasks(), 1.0
    result = alt_min(given, alpha, smoothing=1e-2, tol=1e-14)
    scatter = result.weights.T @ result.weights + 1e-2 * np.eye(given.n_items)
    values, vectors = np.linalg.eigh(scatter)
    root = (vectors * np.sqrt(values)) @ vectors.T
    covariance = root / np.trace(root)
    for x, y, w in zip(given.features, given.targets, result.weights, strict=True):
        slope = x.T @ (x @ w - y) + alpha * np.linalg.solve(covariance, w)
        # The objective has settled to 1e-14 of itself, so the slope to about its root.
        assert np.linalg.norm(slope) < 1e-5 * np.linalg.norm(x.T @ y)


def test_tasks_that_share_a_subspace_are_learned_from_few_samples() -> None:
    data = gv.datasets.subspace_tasks(20, 100, 2, samples=(10, 15), noise=0.01, seed=3)
    shared = alt_min(data.tasks, tol=1e-6).weights
    alone = [
        np.linalg.lstsq(x, y, rcond=None)[0]
        for x, y in zip(data.tasks.features, data.tasks.targets, strict=True)
    ]
    outside = np.eye(20) - data.subspace @ data.subspace.T
    assert np.linalg.norm(shared @ outside) < 0.05 * np.linalg.norm(np.array(alone) @ outside)


def nmse(given: gv.Tasks, seed: int) -> float:
    """The mean over tasks of test MSE over the variance of the training labels, 80/20."""
    train, test = hold_out_samples(given, 0.2, seed=seed)
    return float(nmse_of_weights(alt_min(train).weights, train, test).mean())


@pytest.mark.parametrize(
    ("load", "expected", "band"), [(parkinsons, 0.343, 0.008), (school, 0.775, 0.012)]
)
def test_it_reaches_the_errors_of_the_paper(
    load: Callable[[], gv.Tasks], expected: float, band: float
) -> None:
    """Case 7: the paper prints .340 and .781. Means of ten splits vary by .005 and .008."""
    errors = [nmse(load(), seed) for seed in range(10)]
    assert np.mean(errors) == pytest.approx(expected, abs=band)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0, which decouples the tasks"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"max_iter": 0}, "max_iter is 0; choose a number of at least 1"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        alt_min(tasks(), **options)  # type: ignore[arg-type]


def test_it_reports_when_its_iterations_were_too_few() -> None:
    assert alt_min(tasks(), max_iter=1).stop_reason == "reached the limit of 1 iterations"
