import warnings

import numpy as np
import pymanopt.manifolds
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, ConvergenceWarning
from grassvine.foundations.seeds import stream

GRASSMANN = gv.geometry.Grassmann()


def somewhere(n_items: int, rank: int, seed: int = 0) -> tuple[Array, Array]:
    """A point, and a tangent of length 1 there."""
    rng = stream(seed, "test", "grassmann")
    point = GRASSMANN.random_point(n_items, rank, rng)
    tangent = GRASSMANN.project(point, rng.standard_normal((n_items, rank)))
    return point, tangent / np.linalg.norm(tangent)


def turn(rank: int, seed: int = 0) -> Array:
    return np.linalg.qr(stream(seed, "test", "turn").standard_normal((rank, rank)))[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("distance", "relative"),
    [
        (1e-11, 1e-4),  # four digits where arccos has none
        (1e-8, 1e-7),
        (1e-4, 1e-11),
        (0.01, 1e-12),
        (0.3, 1e-12),
        (1.0, 1e-12),
        (1.5, 1e-12),
    ],
)
def test_a_distance_is_right(distance: float, relative: float, seed: int) -> None:
    point, tangent = somewhere(2000, 5, seed)
    # A turned basis of the same subspace: the distance must not see it.
    other = GRASSMANN.exp(point, distance * tangent) @ turn(5, seed)
    assert GRASSMANN.distance(point, other) == pytest.approx(distance, rel=relative, abs=0.0)


def test_a_distance_is_right_where_all_angles_coincide() -> None:
    point = np.eye(10)[:, :3]
    other = np.cos(0.4) * point + np.sin(0.4) * np.eye(10)[:, 3:6]
    assert GRASSMANN.distance(point, other) == pytest.approx(0.4 * np.sqrt(3), rel=1e-14)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1.0])
@pytest.mark.parametrize(("n_items", "rank"), [(3, 2), (40, 1), (300, 6)])
def test_principal_angles_are_those_of_scipy(n_items: int, rank: int, scale: float) -> None:
    point, tangent = somewhere(n_items, rank)
    other = GRASSMANN.exp(point, scale * tangent) @ turn(rank)
    angles = GRASSMANN.principal_angles(point, other)
    # Both are right to some roundings of numbers of about 1.
    np.testing.assert_allclose(angles, scipy.linalg.subspace_angles(point, other), atol=1e-14)
    assert np.linalg.norm(angles) == pytest.approx(GRASSMANN.distance(point, other), rel=1e-12)


def test_principal_angles_of_all_sizes_are_right_together() -> None:
    wanted = np.array([np.pi / 2, 1.5, 0.3, 1e-5, 1e-10, 0.0])
    point, across = np.eye(12)[:, :6], np.eye(12)[:, 6:]
    other = (point * np.cos(wanted) + across * np.sin(wanted)) @ turn(6)
    angles = GRASSMANN.principal_angles(point, other)
    np.testing.assert_allclose(angles, wanted, atol=1e-14)  # some roundings of numbers of about 1


@pytest.mark.parametrize("gap", [1e-15, 1e-10, 1e-6, 1e-3])
def test_log_is_stable_near_the_cut_locus(gap: float) -> None:
    point = np.eye(8)[:, :2]
    angle = np.pi / 2 - gap
    other = np.cos(angle) * point + np.sin(angle) * np.eye(8)[:, 2:4]
    tangent = GRASSMANN.log(point, other @ turn(2))
    assert np.linalg.norm(tangent) == pytest.approx(angle * np.sqrt(2), rel=1e-12)
    # The way there ends there, though near π/2 it is one of several of nearly the same length.
    assert GRASSMANN.distance(GRASSMANN.exp(point, tangent), other) < 1e-12


def test_log_between_orthogonal_subspaces_is_finite_and_of_full_length() -> None:
    point, other = np.eye(8)[:, :3], np.eye(8)[:, 3:6]
    tangent = GRASSMANN.log(point, other)
    assert np.linalg.norm(tangent) == pytest.approx(np.pi / 2 * np.sqrt(3), rel=1e-14)
    assert GRASSMANN.distance(GRASSMANN.exp(point, tangent), other) < 1e-12


@given(seed=st.integers(0, 2**32), data=st.data())
def test_only_the_subspace_counts_not_its_basis(seed: int, data: st.DataObject) -> None:
    n_items = data.draw(st.integers(2, 30))
    rank = data.draw(st.integers(1, n_items))
    rng = stream(seed, "test", "two points")
    one = GRASSMANN.random_point(n_items, rank, rng)
    other = GRASSMANN.random_point(n_items, rank, rng)
    q = turn(rank, seed)
    # Rounding of sums of n_items products; near π/2 the angles themselves lose no digits.
    assert GRASSMANN.distance(one @ q, other) == pytest.approx(
        GRASSMANN.distance(one, other), abs=1e-7 if rank * 2 > n_items else 1e-12
    )
    tangent = GRASSMANN.project(one, rng.standard_normal(one.shape))
    moved, turned = GRASSMANN.exp(one, tangent), GRASSMANN.exp(one @ q, tangent @ q)
    np.testing.assert_allclose(turned, moved @ q, atol=1e-12)


def test_many_steps_do_not_drift_off_the_manifold() -> None:
    point, tangent = somewhere(100, 5)
    for _ in range(2000):
        point = GRASSMANN.exp(point, 0.1 * GRASSMANN.project(point, tangent))
    assert np.linalg.norm(point.T @ point - np.eye(5)) < 1e-14


def test_ordinary_exp_and_log_agree_with_pymanopt() -> None:
    manifold = pymanopt.manifolds.Grassmann(50, 4)
    point, tangent = somewhere(50, 4)
    other = GRASSMANN.exp(point, 0.7 * tangent)
    reference = manifold.exp(point, 0.7 * tangent)
    assert GRASSMANN.distance(other, reference) < 1e-13
    np.testing.assert_allclose(manifold.log(point, other), 0.7 * tangent, atol=1e-12)


@pytest.mark.parametrize("n_points", [1, 2, 7])
def test_the_mean_makes_the_logs_cancel(n_points: int) -> None:
    centre, _ = somewhere(40, 3)
    rng = stream(0, "test", "cloud")
    points = [
        GRASSMANN.exp(centre, 0.1 * GRASSMANN.project(centre, rng.standard_normal((40, 3))))
        for _ in range(n_points)
    ]
    mean = GRASSMANN.mean(points)
    pull = sum((GRASSMANN.log(mean, point) for point in points), np.zeros_like(mean))
    assert np.linalg.norm(pull) / n_points <= 1e-12


def test_the_mean_reports_when_it_did_not_settle() -> None:
    rng = stream(1, "test", "far apart")
    # Random subspaces of half the space lie about as far apart as subspaces can.
    points = [GRASSMANN.random_point(30, 15, rng) for _ in range(40)]
    with pytest.warns(
        ConvergenceWarning, match="did not converge in 200 steps .* run more iterations"
    ):
        GRASSMANN.mean(points)


def test_the_mean_of_near_points_gives_no_warning() -> None:
    point, tangent = somewhere(30, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GRASSMANN.mean([point, GRASSMANN.exp(point, 1e-7 * tangent)])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((6, 2)), "all zeros and spans no subspace"),
        (np.ones((6, 2)), r"not orthonormal \(‖UᵀU − I‖ = .*orthonormalise them"),
        (np.eye(2, 6), "has 6 columns but only 2 rows; the rank cannot exceed"),
    ],
)
def test_validation_refuses_what_spans_no_subspace(value: Array, message: str) -> None:
    with pytest.raises(BasisError, match=message):
        GRASSMANN.as_point(value)


@pytest.mark.parametrize("rank", [0, -1, 7])
def test_a_random_point_needs_a_possible_rank(rank: int) -> None:
    with pytest.raises(BasisError, match=f"rank is {rank}, but a subspace of 6 items has"):
        GRASSMANN.random_point(6, rank, np.random.default_rng(0))
