from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pymanopt.optimizers
import pytest
from tests.real_data import movielens_100k
from tests.samples import N_ITEMS, own_function, samples, tasks

import grassvine as gv
from grassvine.baselines import rtrmc, spectral_start, to_pymanopt
from grassvine.baselines.trust_region import LocalModel, _truncated_cg, trust_region
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError

GRASSMANN = gv.geometry.Grassmann()


@pytest.mark.parametrize("seed", range(4))
def test_it_recovers_a_table_in_ten_iterations(seed: int) -> None:
    """500×2000, rank 5, oversampling 6, no noise: the authors' code takes 6 to RMSE 3.8e-13."""
    data = gv.datasets.low_rank_ratings(500, 2000, 5, oversampling=6.0, noise=0.0, seed=seed)
    problem = gv.CompletionProblem(data.ratings)
    result = rtrmc(problem, spectral_start(data.ratings, 5), tol=1e-12)
    rmse = np.sqrt(problem.evaluate(result.basis).squared_error / problem.n_values)
    assert len(result.iterations) <= 10
    assert rmse <= 1e-11
    assert GRASSMANN.distance(result.basis, data.subspace) < 1e-11


def test_it_recovers_a_table_from_a_random_start_too() -> None:
    data = gv.datasets.low_rank_ratings(500, 2000, 5, oversampling=6.0, noise=0.0, seed=0)
    start = gv.Plan(500, 5, gv.networks.path(2)).start(0)
    result = rtrmc(gv.CompletionProblem(data.ratings), start, tol=1e-12)
    assert GRASSMANN.distance(result.basis, data.subspace) < 1e-11


def test_costs_never_rise_and_the_end_is_stationary_on_a_real_table() -> None:
    table = movielens_100k()
    problem = gv.CompletionProblem(table, unobserved=0.1)
    result = rtrmc(problem, spectral_start(table, 5))
    costs = [iteration.cost for iteration in result.iterations] + [result.cost]
    # The last steps may not be told from rounding.
    assert all(later <= before * (1 + 1e-12) for before, later in pairwise(costs))
    assert "the gradient norm fell to 1e-08" in result.stop_reason
    gradient = GRASSMANN.project(result.basis, problem.evaluate(result.basis).gradient)
    assert np.linalg.norm(gradient) <= 1e-8 * result.iterations[0].gradient_norm


def test_it_ends_where_pymanopt_s_trust_region_ends() -> None:
    table = gv.datasets.low_rank_ratings(40, 200, 3, oversampling=3.0, noise=0.3, seed=5).ratings
    problem = gv.CompletionProblem(table, unobserved=0.05)
    start = spectral_start(table, 3)
    theirs = pymanopt.optimizers.TrustRegions(verbosity=0, min_gradient_norm=1e-9).run(
        to_pymanopt(problem, 3), initial_point=start
    )
    ours = rtrmc(problem, start, tol=1e-11)
    # Both stop at a gradient of 1e-9 or less: the cost is then the same to its square.
    assert ours.cost <= theirs.cost * (1 + 1e-12)
    assert GRASSMANN.distance(ours.basis, theirs.point) < 1e-6


@pytest.mark.parametrize(
    "problem",
    [gv.MultitaskProblem(tasks(), alpha=0.5), gv.PCAProblem(samples())],
    ids=["multitask", "pca"],
)
def test_it_solves_any_problem_with_hessian_products(
    problem: gv.MultitaskProblem | gv.PCAProblem,
) -> None:
    start = GRASSMANN.random_point(N_ITEMS, 2, np.random.default_rng(0))
    result = rtrmc(problem, start, tol=1e-9)
    assert "the gradient norm fell" in result.stop_reason
    assert result.cost < problem.evaluate(start).cost


def test_from_where_it_ended_it_ends_at_once() -> None:
    problem = gv.MultitaskProblem(tasks(), alpha=0.5)
    start = GRASSMANN.random_point(N_ITEMS, 2, np.random.default_rng(0))
    first = rtrmc(problem, start, tol=0.0)
    again = rtrmc(problem, first.basis, tol=0.0)
    assert first.stop_reason == again.stop_reason == "no step reduces the cost any further"
    assert len(again.iterations) <= 3
    # Rounding of a sum of a hundred squares.
    assert again.cost == pytest.approx(first.cost, rel=1e-14)
    # Not before the gradient is rounding, though the cost is from about 1e-7 on.
    gradient = GRASSMANN.project(first.basis, problem.evaluate(first.basis).gradient)
    assert np.linalg.norm(gradient) <= 1e-12 * first.iterations[0].gradient_norm


def test_it_reports_when_its_iterations_were_too_few() -> None:
    start = GRASSMANN.random_point(N_ITEMS, 2, np.random.default_rng(0))
    result = rtrmc(gv.PCAProblem(samples()), start, max_outer=2)
    assert result.stop_reason == "reached the limit of 2 iterations"
    assert len(result.iterations) == 2


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="CustomProblem has no hessian_product, which a trust"):
        rtrmc(gv.CustomProblem(N_ITEMS, own_function), np.eye(N_ITEMS)[:, :2])
    with pytest.raises(BasisError, match="start has shape 3×3, not 20×rank"):
        rtrmc(gv.PCAProblem(samples()), np.eye(3))


@dataclass
class InnerSolve:
    """An inner solve as it was observed: its model, its residual norms, and how it ended."""

    model: LocalModel
    norms: list[float] = field(default_factory=list)
    at_boundary: bool = False

    @property
    def goal(self) -> float:
        first = self.norms[0]
        return first * min(first, 0.03)


@pytest.fixture
def inner_solves(monkeypatch: pytest.MonkeyPatch) -> list[InnerSolve]:
    """The inner solves of all trust regions in a test; the preconditioner gets every residual."""
    seen: list[InnerSolve] = []

    def observed(model: LocalModel, radius: float, most: int) -> tuple[Any, Any, int, bool]:
        one = InnerSolve(model)

        def precondition(residual: Array) -> Array:
            one.norms.append(float(np.linalg.norm(residual)))
            return model.precondition(residual)

        step, image, inner, one.at_boundary = _truncated_cg(
            replace(model, precondition=precondition), radius, most
        )
        one.norms.append(float(np.linalg.norm(model.gradient + image)))
        seen.append(one)
        return step, image, inner, one.at_boundary

    monkeypatch.setitem(trust_region.__globals__, "_truncated_cg", observed)
    return seen


def test_an_inner_solve_stops_where_its_docstring_says(inner_solves: list[InnerSolve]) -> None:
    """At ‖r‖ ≤ ‖r₀‖·min(‖r₀‖^θ, κ) with θ = 1 and κ = 0.03, and not before; κ is not 0.1."""
    table = gv.datasets.low_rank_ratings(40, 200, 3, oversampling=3.0, noise=0.3, seed=5).ratings
    rtrmc(gv.CompletionProblem(table, unobserved=0.05), spectral_start(table, 3), tol=1e-9)
    inside = [one for one in inner_solves if not one.at_boundary]
    for one in inside:
        *before, last = one.norms
        # The last residual is formed from the image of the step, which adds a few roundings.
        assert last <= one.goal * (1 + 1e-9) and min(before) > one.goal
    by_kappa = [one for one in inside if one.norms[0] > 0.1]
    by_theta = [one for one in inside if one.norms[0] < 0.03]
    assert by_kappa and by_theta
    # κ = 0.1 would have stopped at residuals from which these went on.
    assert any(norm < 0.1 * one.norms[0] for one in by_kappa for norm in one.norms[:-1])
    # θ < 1 would have stopped some of these, a larger θ none of them so early.
    assert any(norm < one.norms[0] ** 1.5 for one in by_theta for norm in one.norms[:-1])
    assert any(one.norms[-1] > one.norms[0] ** 3 for one in by_theta)


def test_its_preconditioner_is_the_curvature_at_each_item(inner_solves: list[InnerSolve]) -> None:
    """M multiplies row i by s_i·WᵀW, and the result of M⁻¹ is projected to the tangent space."""
    table = gv.datasets.low_rank_ratings(40, 200, 3, oversampling=3.0, noise=0.3, seed=5).ratings
    problem, start = gv.CompletionProblem(table, unobserved=0.05), spectral_start(table, 3)
    rtrmc(problem, start, max_outer=1)
    here = problem.evaluate(start)
    tangent = GRASSMANN.project(start, np.random.default_rng(0).standard_normal(start.shape))
    rows = np.linalg.solve(here.curvature, tangent.T).T / here.item_scales[:, None]
    found = inner_solves[0].model.precondition(tangent)
    # The condition of WᵀW is below 100; two ways to invert it differ by some hundred roundings.
    np.testing.assert_allclose(found, GRASSMANN.project(start, rows), rtol=0, atol=1e-12)
