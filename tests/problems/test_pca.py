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
