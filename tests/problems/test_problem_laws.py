"""Laws that every problem keeps: derivatives, invariance under U → UQ, clean hands."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import N_ITEMS, PROBLEMS

import grassvine as gv
from grassvine.foundations.errors import BasisError
from grassvine.problems import LocalProblem, TwiceDifferentiable

each_problem = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS.keys())
Maker = Callable[[int], LocalProblem]


@each_problem
@settings(max_examples=10)
@given(rank=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_a_problem_keeps_its_laws(make: Maker, rank: int, seed: int) -> None:
    gv.checks.check_problem(make(seed), rank, seed=seed)


@each_problem
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_gradients_have_taylor_slope_two(make: Maker, rank: int) -> None:
    for geometry in (gv.geometry.Grassmann(), gv.geometry.Euclidean()):
        slope = gv.checks.check_gradient(make(0), rank, geometry=geometry)
        assert 1.9 <= slope <= 2.1


@each_problem
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_hessians_have_taylor_slope_two(make: Maker, rank: int) -> None:
    problem = make(0)
    if not isinstance(problem, TwiceDifferentiable):
        pytest.skip("a user's own function has no Hessian product")
    for geometry in (gv.geometry.Grassmann(), gv.geometry.Euclidean()):
        slope = gv.checks.check_hessian(problem, rank, geometry=geometry)
        assert 1.9 <= slope <= 2.1


@each_problem
@pytest.mark.parametrize("rank", [2, 5])
def test_the_hessian_is_symmetric(make: Maker, rank: int) -> None:
    problem = make(0)
    if not isinstance(problem, TwiceDifferentiable):
        pytest.skip("a user's own function has no Hessian product")
    rng = np.random.default_rng(1)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, rng)
    one, other = rng.standard_normal((2, N_ITEMS, rank))
    left = float(np.sum(one * problem.hessian_product(basis, other)))
    right = float(np.sum(other * problem.hessian_product(basis, one)))
    # Two sums of about a hundred products of size one, through solves of condition below 1e4.
    assert left == pytest.approx(right, rel=1e-9)


@each_problem
def test_a_basis_of_the_wrong_shape_is_refused_before_any_kernel_runs(make: Maker) -> None:
    problem = make(0)
    for wrong in (np.eye(N_ITEMS + 1)[:, :3], np.ones(N_ITEMS)):
        with pytest.raises(BasisError, match=f"basis has shape .*, not {N_ITEMS}×rank"):
            problem.evaluate(wrong)
