from typing import Any

import numpy as np
import pytest
from tests.samples import N_ITEMS, samples

import grassvine as gv
from grassvine.foundations.errors import DataError


def test_the_cost_is_least_at_the_principal_subspace() -> None:
    problem = gv.PCAProblem(samples())
    directions = np.linalg.svd(samples())[2].T
    best = problem.evaluate(np.ascontiguousarray(directions[:, :3]))
    assert np.linalg.norm(gv.geometry.Grassmann().project(directions[:, :3], best.gradient)) < 1e-12
    worse = problem.evaluate(np.ascontiguousarray(directions[:, 1:4]))
    assert best.cost < worse.cost
    assert best.squared_error < worse.squared_error


def test_unit_steps_are_orthogonal_iterations() -> None:
    problem = gv.PCAProblem(samples())
    start = gv.geometry.Grassmann().random_point(N_ITEMS, 3, np.random.default_rng(0))
    covariance = samples().T @ samples()
    powered = np.linalg.qr(covariance @ start)[0]
    # Exp of the step and the power step agree to first order in the angle; from near the solution
    # the difference is of third order.
    for _ in range(60):
        start = np.linalg.qr(covariance @ start)[0]
    powered = np.linalg.qr(covariance @ start)[0]
    moved = gv.gossip.descend(problem, start, 1)
    angle = gv.geometry.Grassmann().distance(start, powered)
    assert gv.geometry.Grassmann().distance(moved, powered) < 2 * angle**3 + 1e-14


def test_descent_finds_the_principal_subspace() -> None:
    found = gv.gossip.descend(gv.PCAProblem(samples()), np.eye(N_ITEMS)[:, :2], 2000)
    wanted = np.linalg.svd(samples())[2].T[:, :2]
    assert gv.geometry.Grassmann().distance(found, np.ascontiguousarray(wanted)) < 1e-10


def test_samples_are_checked_and_left_alone() -> None:
    given = samples()
    given.flags.writeable = False
    gv.PCAProblem(given).evaluate(np.eye(N_ITEMS)[:, :2])
    with pytest.raises(DataError, match="the sample matrix contains nan at row 1, column 0"):
        gv.PCAProblem(np.array([[1.0], [np.nan]]))


@pytest.mark.parametrize("size", [1, 2**16], ids=["many blocks", "one block"])
def test_a_mean_is_subtracted_block_by_block(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("grassvine.problems.pca.BLOCK_SIZE", size)
    rng = np.random.default_rng(3)
    given, mean = 1e3 + rng.standard_normal((301, 7)), np.full(7, 1e3)
    problem, centred = gv.PCAProblem(given, mean), given - mean
    basis = np.linalg.qr(rng.standard_normal((7, 3)))[0]
    # The same numbers, added up in another order.
    close: Any = {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(problem.weights(basis), centred @ basis, **close)
    np.testing.assert_allclose(problem.matrix(), centred.T @ centred, **close)
    np.testing.assert_allclose(problem.matrix_product(basis), centred.T @ centred @ basis, **close)
    assert problem.trace == pytest.approx(np.sum(centred**2), rel=1e-12)
    found, expected = problem.evaluate(basis), gv.PCAProblem(centred).evaluate(basis)
    np.testing.assert_allclose(found.gradient, expected.gradient, **close)
    assert found.cost == pytest.approx(expected.cost, rel=1e-12)
    assert found.squared_error == pytest.approx(expected.squared_error, rel=1e-12)


def test_a_mean_has_one_finite_number_per_column() -> None:
    for mean, reason in ((np.zeros(3), "the mean has shape 1×3"), (np.full(2, np.nan), "nan")):
        with pytest.raises(DataError, match=reason):
            gv.PCAProblem(np.ones((4, 2)), mean)
