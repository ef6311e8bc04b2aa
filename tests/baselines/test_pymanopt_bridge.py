import numpy as np
import pytest
from tests.samples import N_ITEMS, PROBLEMS, ratings

import grassvine as gv
from grassvine.baselines import from_pymanopt, to_pymanopt
from grassvine.foundations.errors import PlanError
from grassvine.problems import TwiceDifferentiable


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_of_ours_keeps_cost_and_derivatives(name: str) -> None:
    problem = PROBLEMS[name](0)
    theirs = to_pymanopt(problem, 3)
    rng = np.random.default_rng(0)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 3, rng)
    tangent = gv.geometry.Grassmann().project(basis, rng.standard_normal((N_ITEMS, 3)))
    evaluation = problem.evaluate(basis)
    assert theirs.cost(basis) == evaluation.cost
    wanted = gv.geometry.Grassmann().project(basis, evaluation.gradient)
    np.testing.assert_allclose(theirs.riemannian_gradient(basis), wanted, atol=1e-10)
    if isinstance(problem, TwiceDifferentiable):
        product = problem.hessian_product(basis, tangent)
        ours = gv.geometry.Grassmann().hessian(basis, evaluation.gradient, tangent, product)
        found = theirs.riemannian_hessian(basis, tangent)
        np.testing.assert_allclose(found, ours, atol=1e-8 * float(np.linalg.norm(ours)))


def test_a_problem_of_theirs_comes_back_the_same() -> None:
    problem = gv.CompletionProblem(ratings(), unobserved=0.1)
    back = from_pymanopt(to_pymanopt(problem, 3), N_ITEMS)
    gv.checks.check_problem(back, 3)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 3, np.random.default_rng(0))
    assert back.evaluate(basis).cost == problem.evaluate(basis).cost


def test_a_problem_of_theirs_runs_among_agents() -> None:
    parts = [
        from_pymanopt(to_pymanopt(gv.CompletionProblem(part, unobserved=0.1), 3), N_ITEMS)
        for part in gv.datasets.split_users(ratings(), 3)
    ]
    method = gv.gossip.stochastic(rho=1.0, max_iter=60, step=gv.StepSize(1e-3))
    history = gv.run(gv.Plan(N_ITEMS, 3, gv.networks.path(3), method), parts).history
    assert history.final()["cost"].sum() < sum(history.of_agent(i)["cost"][0] for i in range(3))


def test_the_rank_is_checked() -> None:
    with pytest.raises(PlanError, match="rank is 21, but a subspace of 20 items"):
        to_pymanopt(gv.CompletionProblem(ratings()), 21)
