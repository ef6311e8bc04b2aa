from itertools import pairwise

import numpy as np
import pymanopt.optimizers
import pytest
from tests.real_data import movielens_100k
from tests.samples import N_ITEMS, own_function, samples, tasks

import grassvine as gv
from grassvine.baselines import rtrmc, spectral_start, to_pymanopt
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
