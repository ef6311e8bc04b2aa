"""The posterior of a task is that of the joint normal distribution, written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.sums.hierarchical.task_sets import N_FEATURES, alike

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError
from grassvine.foundations.seeds import stream
from grassvine.sums import CoefficientPrior, HierarchicalProblem
from grassvine.sums.hierarchical.designs import Designs


def prior(rank: int = 6, diagonal: float = 0.3, seed: int = 0) -> CoefficientPrior:
    rng, size = stream(seed, "data", "prior"), N_FEATURES + 1
    return CoefficientPrior(
        mean=rng.standard_normal(size),
        factor=rng.standard_normal((size, rank)),
        diagonal=diagonal * rng.random(size),
        mean_factor=0.2 * rng.standard_normal((size, size)),
        noise=0.7,
    )


def covariance(of: CoefficientPrior) -> Array:
    return of.factor @ of.factor.T + np.diag(of.diagonal)


def design(x: Array) -> Array:
    return np.column_stack([x, np.ones(len(x))])


@pytest.mark.parametrize("given", [prior(), prior(2), prior(2, 0.0), prior(0)], ids=range(4))
def test_coefficients_are_the_conditional_expectation(given: CoefficientPrior) -> None:
    tasks = alike()
    found = given.solve(Designs.of(tasks, intercepts=True))
    s = covariance(given)
    for task, (x, y) in enumerate(zip(tasks.features, tasks.targets, strict=True)):
        rows = design(x)
        system = rows @ s @ rows.T + given.noise * np.eye(len(y))
        wanted = given.mean + s @ rows.T @ np.linalg.solve(system, y - rows @ given.mean)
        np.testing.assert_allclose(found[task], wanted, atol=1e-10)


def test_the_cost_is_the_density_of_the_targets() -> None:
    tasks, given = alike(), prior()
    evaluation = HierarchicalProblem(tasks).evaluate(given)
    s, solved = covariance(given), given.solve(Designs.of(tasks, intercepts=True))
    log_density = squared_error = 0.0
    for x, y, w in zip(tasks.features, tasks.targets, solved, strict=True):
        rows = design(x)
        system = rows @ s @ rows.T + given.noise * np.eye(len(y))
        log_density += multivariate_normal(rows @ given.mean, system).logpdf(y)
        squared_error += float(np.sum((y - rows @ w) ** 2))
    assert evaluation.cost == pytest.approx(-log_density, rel=1e-10)
    assert evaluation.squared_error == pytest.approx(squared_error, rel=1e-10)


def test_variances_are_those_of_the_joint_distribution_of_mean_tasks_and_targets() -> None:
    """The mean m ~ N(given, V), of which the task's own samples tell nothing more."""
    tasks, given = alike(), prior()
    designs = Designs.of(tasks, intercepts=True)
    asked = stream(0, "data", "asked").standard_normal((5, N_FEATURES))
    numbers = np.array([3, 0, -1, 3, 7])
    found = given.variances(designs, numbers, design(asked))
    s, v = covariance(given), given.mean_factor @ given.mean_factor.T
    for number, z, variance in zip(numbers, design(asked), found, strict=True):
        moved, posterior = np.eye(len(s)), s
        if number >= 0:
            rows = design(tasks.features[number])
            system = rows @ s @ rows.T + given.noise * np.eye(len(rows))
            gain = s @ rows.T @ np.linalg.inv(system)
            moved, posterior = moved - gain @ rows, s - gain @ rows @ s
        wanted = z @ (posterior + moved @ v @ moved.T) @ z + given.noise
        assert variance == pytest.approx(wanted, rel=1e-9)


def test_tasks_without_samples_have_the_mean() -> None:
    tasks = alike(3)
    empty = np.zeros((0, N_FEATURES)), np.zeros(0)
    some = gv.Tasks((*tasks.features, empty[0]), (*tasks.targets, empty[1]))
    given = prior()
    found = given.solve(Designs.of(some, intercepts=True))
    np.testing.assert_array_equal(found[-1], given.mean)
    np.testing.assert_array_equal(found[:-1], given.solve(Designs.of(tasks, intercepts=True)))


@pytest.mark.parametrize("intercepts", [True, False])
def test_units_can_be_changed_before_or_after(intercepts: bool) -> None:
    tasks = alike()
    rng = stream(0, "data", "units")
    scales = 1.0 + rng.random(N_FEATURES + intercepts)
    if intercepts:
        scales[-1] = 1.0
    centre = 3.0 if intercepts else 0.0
    size = len(scales)
    given = CoefficientPrior(
        rng.standard_normal(size),
        rng.standard_normal((size, 3)),
        rng.random(size),
        rng.standard_normal((size, 2)),
        0.4,
    )
    designs = Designs.of(tasks, intercepts=intercepts)
    scaled = designs.scaled(scales, centre, 2.5)
    solved = given.solve(scaled) * 2.5 / scales
    if intercepts:
        solved[:, -1] += centre
    converted = given.in_units(scales, centre, 2.5)
    np.testing.assert_allclose(converted.solve(designs), solved, atol=1e-10)
    rows, numbers = rng.standard_normal((4, size)), np.array([0, 1, -1, 5])
    np.testing.assert_allclose(
        converted.variances(designs, numbers, rows),
        2.5**2 * given.variances(scaled, numbers, rows / scales),
        rtol=1e-9,
    )


def test_directions_are_the_leading_eigenvectors_of_the_covariance() -> None:
    given = prior(6, 0.0)
    basis = given.directions(N_FEATURES, 2)
    block = covariance(given)[:N_FEATURES, :N_FEATURES]
    wanted = np.linalg.eigh(block)[1][:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(np.sum(basis * wanted, axis=0)), 1.0, rtol=1e-10)
    assert all(column[np.abs(column).argmax()] > 0.0 for column in basis.T)


def test_arrays_and_back() -> None:
    given = prior(2)
    again = CoefficientPrior.from_arrays(given.arrays())
    for name, array in given.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


def test_what_is_no_distribution_is_refused() -> None:
    given = prior()
    for change, message in (
        ({"mean": np.zeros(2)}, "the diagonal has shape"),
        ({"mean": np.full(6, np.nan)}, "the mean is not a list of finite numbers"),
        ({"diagonal": -np.ones(6)}, "negative or not finite"),
        ({"factor": np.ones((2, 2))}, "factor has shape 2×2"),
        ({"noise": 0.0}, "the noise is 0"),
    ):
        with pytest.raises(BasisError, match=message):
            replace(given, **change)
    with pytest.raises(BasisError, match="the prior has 6 coefficients and the tasks have 5"):
        HierarchicalProblem(alike(), intercepts=False).evaluate(given)
