import numpy as np
import pytest
from tests.samples import N_ITEMS, tasks

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError


def by_the_book(given: gv.Tasks, basis: Array, lam: float) -> tuple[float, Array, Array]:
    cost, gradient, weights = 0.0, np.zeros_like(basis), []
    for x, y in zip(given.features, given.targets, strict=True):
        reduced = x @ basis
        system = reduced.T @ reduced + lam * np.eye(basis.shape[1])
        w = np.linalg.solve(system, reduced.T @ y)
        residual = reduced @ w - y
        cost += float(0.5 * residual @ residual + 0.5 * lam * w @ w)
        gradient += np.outer(x.T @ residual, w)
        weights.append(w)
    return cost, gradient, np.array(weights)


@pytest.mark.parametrize("lam", [0.0, 0.7])
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_it_follows_the_definition(lam: float, rank: int) -> None:
    given = tasks()
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, np.random.default_rng(0))
    cost, gradient, weights = by_the_book(given, basis, lam)
    problem = gv.MultitaskProblem(given, alpha=lam)
    found = problem.evaluate(basis)
    # The smallest task has 5 samples for 5 weights: a square system of condition below 1e5.
    assert found.cost == pytest.approx(cost, rel=1e-9)
    np.testing.assert_allclose(
        found.gradient, gradient, atol=1e-8 * float(np.linalg.norm(gradient))
    )
    np.testing.assert_allclose(
        problem.weights(basis), weights, atol=1e-7 * float(np.linalg.norm(weights))
    )


def test_a_long_task_is_stored_as_a_triangle() -> None:
    problem = gv.MultitaskProblem(tasks())
    stored = problem._stacked.sizes.tolist()
    assert stored == [5, 8, N_ITEMS, N_ITEMS + 1, N_ITEMS + 1, N_ITEMS + 1]
    assert problem.n_values == 5 + 8 + 20 + 21 + 22 + 50


def test_a_task_without_samples_contributes_nothing() -> None:
    given = tasks()
    empty = (np.empty((0, N_ITEMS)), np.empty(0))
    longer = gv.Tasks.from_arrays(
        [empty[0], *given.features, empty[0]], [empty[1], *given.targets, empty[1]]
    )
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 3, np.random.default_rng(0))
    one, other = gv.MultitaskProblem(given), gv.MultitaskProblem(longer)
    assert one.evaluate(basis).cost == other.evaluate(basis).cost
    weights = other.weights(basis)
    assert len(weights) == 8 and not weights[0].any() and not weights[-1].any()
    np.testing.assert_array_equal(weights[1:-1], one.weights(basis))


def test_tasks_with_fewer_samples_than_dimensions_are_handled() -> None:
    rng = np.random.default_rng(0)
    few = gv.Tasks.from_arrays([rng.standard_normal((2, 6))], [rng.standard_normal(2)])
    evaluation = gv.MultitaskProblem(few).evaluate(gv.geometry.Grassmann().random_point(6, 4, rng))
    assert np.isfinite(evaluation.gradient).all()
    assert evaluation.cost < 1e-12  # four weights fit two samples


def test_a_task_whose_features_are_zero_is_handled() -> None:
    zero = gv.Tasks.from_arrays([np.zeros((3, 6))], [np.ones(3)])
    evaluation = gv.MultitaskProblem(zero).evaluate(np.eye(6)[:, :2])
    assert evaluation.cost == 1.5 and not evaluation.gradient.any()


@pytest.mark.parametrize(
    ("alpha", "message"), [(-1.0, "alpha is -1"), (float("inf"), "alpha is inf; choose a finite")]
)
def test_the_ridge_is_checked(alpha: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        gv.MultitaskProblem(tasks(), alpha=alpha)


def test_some_task_must_have_a_sample() -> None:
    nothing = gv.Tasks.from_arrays([np.empty((0, 4))], [np.empty(0)])
    with pytest.raises(DataError, match="none of the tasks has a sample; pass at least one"):
        gv.MultitaskProblem(nothing)
