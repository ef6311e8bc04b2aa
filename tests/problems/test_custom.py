import inspect

import numpy as np
import pytest
from tests.samples import N_ITEMS, own_function

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, CheckFailed, DataError


def without_curvature(basis: Array) -> tuple[float, Array]:
    cost, gradient, _ = own_function(basis)
    return cost, gradient


def test_an_own_problem_is_short_and_runs_like_any_other() -> None:
    assert len(inspect.getsource(own_function).splitlines()) <= 30
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(3), gv.Gossip(rho=1.0, max_iter=300))
    result = gv.run(plan, [gv.CustomProblem(N_ITEMS, own_function)] * 3)
    # The agents have the same function: their common answer is exact, at a linear rate.
    wanted = np.eye(N_ITEMS)[:, :2]
    assert max(gv.geometry.Grassmann().distance(basis, wanted) for basis in result.bases) < 1e-10


def test_without_a_curvature_a_step_size_must_be_chosen() -> None:
    problems = [gv.CustomProblem(N_ITEMS, without_curvature)] * 3
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(3), gv.Gossip(rho=1.0, max_iter=9))
    with pytest.raises(
        AgentError, match="the problem provides no curvature; return one from its function"
    ):
        gv.run(plan, problems)
    step = gv.StepSize(0.1, 0.01)
    slow = gv.Plan(
        N_ITEMS, 2, gv.networks.ring(3), gv.gossip.stochastic(rho=1.0, max_iter=300, step=step)
    )
    history = gv.run(slow, problems).history
    assert history.final()["cost"].max() < history["cost"][0]


def test_the_shipped_check_finds_a_wrong_gradient_and_a_cost_of_the_basis() -> None:
    def wrong_gradient(basis: Array) -> tuple[float, Array]:
        cost, gradient = without_curvature(basis)
        return cost, 1.01 * gradient

    def of_the_basis(basis: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(basis)
        gradient[:, 0] = basis[:, 0] * np.arange(len(basis))
        return 0.5 * float(gradient[:, 0] @ basis[:, 0]), gradient

    gv.checks.check_problem(gv.CustomProblem(N_ITEMS, without_curvature), 2)
    with pytest.raises(CheckFailed, match="Taylor slope is 1"):
        gv.checks.check_problem(gv.CustomProblem(N_ITEMS, wrong_gradient), 2)
    with pytest.raises(CheckFailed, match="replacing U by UQ must only rotate"):
        gv.checks.check_problem(gv.CustomProblem(N_ITEMS, of_the_basis), 2)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (1.0, r"returned float; return \(cost, gradient\)"),
        ((np.nan, np.zeros((N_ITEMS, 2))), "returned the cost nan; return a finite number"),
        ((1.0, np.zeros((3, 2))), "the gradient has shape 3×2, not 20×2"),
        ((1.0, np.zeros((N_ITEMS, 2)), np.eye(3)), "the curvature has shape 3×3, not 2×2"),
    ],
)
def test_what_an_own_function_returns_is_checked(returned: object, message: str) -> None:
    problem = gv.CustomProblem(N_ITEMS, lambda _: returned)  # type: ignore[arg-type,return-value]
    with pytest.raises(DataError, match=message):
        problem.evaluate(np.eye(N_ITEMS)[:, :2])
