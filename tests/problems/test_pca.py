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
@pytest.mark.parametrize("shift", [1e3, 0.3], ids=["large mean", "small mean"])
def test_the_mean_is_subtracted_from_every_sample(
    monkeypatch: pytest.MonkeyPatch, size: int, shift: float
) -> None:
    monkeypatch.setattr("grassvine.problems.pca.BLOCK_SIZE", size)
    rng = np.random.default_rng(3)
    given, mean = shift + rng.standard_normal((301, 7)), np.full(7, shift)
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


@pytest.mark.parametrize("shift", [0.0, 0.5, 1e3], ids=["no mean", "small mean", "large mean"])
def test_a_matrix_corrected_for_the_mean_loses_no_digits(shift: float) -> None:
    rng = np.random.default_rng(4)
    given = rng.standard_normal((400, 20)) + shift * rng.random(20)
    mean = given[:300].mean(axis=0)  # that of all samples; an agent's own is another one
    problem = gv.PCAProblem(given, mean)
    wide = (given - mean).astype(np.longdouble)
    exact = np.asarray(wide.T @ wide, dtype=np.float64)
    # 400 products of samples that are not centred, whose squares are at most four times as large.
    error = 4.0 * 400 * 2.0**-52 * np.diagonal(exact).max()
    np.testing.assert_allclose(problem.matrix(), exact, rtol=0, atol=error)


def test_a_mean_that_is_small_only_in_the_first_block_costs_no_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grassvine.problems.pca.BLOCK_SIZE", 1)
    rng = np.random.default_rng(7)
    given = 1.0 + 1e-6 * rng.standard_normal((4000, 5))
    given[:32] += rng.standard_normal((32, 5)) * [3.0, 1e-6, 1e-6, 1e-6, 1e-6]
    problem, mean = gv.PCAProblem(given, np.ones(5)), np.ones(5)
    centred = given - mean
    block = np.eye(5)[:, 1:]
    # Squares of 1e-6 of 4000 samples: their sums are 4e-9, and 1e-12 of it is lost in blocks. With
    # products of samples that are not centred, 4000·2⁻⁵² = 1e-12 would be lost.
    close: Any = {"rtol": 1e-12, "atol": 1e-20}
    np.testing.assert_allclose(
        problem.matrix_product(block), centred.T @ (centred @ block), **close
    )
    np.testing.assert_allclose(problem.weights(block), centred @ block, **close)
    assert problem.trace == pytest.approx(np.sum(centred**2), rel=1e-12)


def test_a_matrix_is_kept_where_it_is_small_beside_the_samples() -> None:
    rng = np.random.default_rng(5)
    tall, wide = gv.PCAProblem(rng.random((40, 10))), gv.PCAProblem(rng.random((39, 10)))
    assert tall.keeps_matrix and tall.matrix() is tall.matrix()
    assert not wide.keeps_matrix and wide.matrix() is not wide.matrix()
    np.testing.assert_array_equal(wide.matrix(), wide.matrix())


def test_the_trace_has_the_same_bits_before_and_after_a_product() -> None:
    rng = np.random.default_rng(6)
    given, mean = rng.standard_normal((5000, 30)), rng.standard_normal(30)
    one, other = gv.PCAProblem(given, mean), gv.PCAProblem(given, mean)
    other.matrix_product(np.eye(30)[:, :2])
    assert one.trace == other.trace


def test_a_mean_has_one_finite_number_per_column() -> None:
    for mean, reason in ((np.zeros(3), "the mean has shape 1×3"), (np.full(2, np.nan), "nan")):
        with pytest.raises(DataError, match=reason):
            gv.PCAProblem(np.ones((4, 2)), mean)
