import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.gossip.preconditioner import Preconditioner, curvature, preconditioner
from grassvine.problems import Evaluation


def evaluated(rank: int = 3, seed: int = 0) -> tuple[Evaluation, Array]:
    rng = stream(seed, "test", "metric")
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, rng)
    evaluation = gv.CompletionProblem(ratings(seed)).evaluate(basis)
    return evaluation, rng.standard_normal((N_ITEMS, rank))


def by_the_book(evaluation: Evaluation, share: float, stiffness: float, xi: Array) -> Array:
    scaled = evaluation.item_scales[:, None] * xi @ evaluation.curvature
    return share * scaled + stiffness * xi


@given(rank=st.integers(1, 5), share=st.floats(0.1, 1.0), stiffness=st.floats(0.1, 1e6))
def test_it_follows_its_formula(rank: int, share: float, stiffness: float) -> None:
    evaluation, xi = evaluated(rank)
    metric = curvature(evaluation, share, stiffness)
    wanted = by_the_book(evaluation, share, stiffness, xi)
    # One eigendecomposition and two products of a few numbers.
    np.testing.assert_allclose(metric.apply(xi), wanted, atol=1e-12 * float(np.abs(wanted).max()))
    np.testing.assert_allclose(metric.apply_inverse(wanted), xi, atol=1e-9)


def test_the_paper_s_own_is_gram_plus_rho() -> None:
    evaluation, xi = evaluated()
    metric = preconditioner(gv.Gossip(7.0, preconditioner="gram"), evaluation, 0.5, 2 * 7.0)
    np.testing.assert_allclose(metric.apply(xi), xi @ evaluation.gram + 7.0 * xi, rtol=1e-10)


def test_none_is_the_identity() -> None:
    evaluation, xi = evaluated()
    metric = preconditioner(gv.gossip.stochastic(7.0), evaluation, 0.5, 14.0)
    np.testing.assert_allclose(metric.apply_inverse(xi), xi, rtol=1e-14)
    assert metric.least == 1.0


def test_nothing_is_divided_by_zero_where_there_is_no_curvature() -> None:
    nothing = np.zeros((N_ITEMS, 3))
    empty = Evaluation(0.0, nothing, np.zeros((3, 3)), np.zeros((3, 3)), np.ones(N_ITEMS))
    metric = curvature(empty, 1.0, 0.0)
    assert not metric.apply_inverse(nothing).any()
    assert metric.minimising_step(nothing, nothing) == 0.0


def test_the_minimiser_is_where_the_slope_vanishes() -> None:
    evaluation, xi = evaluated()
    metric: Preconditioner = curvature(evaluation, 1.0, 3.0)
    slope = np.ones_like(xi)
    t = metric.minimising_step(slope, xi)
    assert np.sum(slope * xi) + t * np.sum(xi * metric.apply(xi)) == pytest.approx(0.0, abs=1e-10)
