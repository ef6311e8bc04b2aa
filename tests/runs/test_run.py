import math
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engines.elsewhere_engine import ElsewhereEngine
from tests.engines.process_engine import ProcessEngine
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import PlanError
from grassvine.problems import ProblemSource
from grassvine.protocol import StepReport
from grassvine.sums import BiasedFactorization


def problems(count: int) -> list[gv.CompletionProblem]:
    return [
        gv.CompletionProblem(p, unobserved=0.1) for p in gv.datasets.split_users(ratings(), count)
    ]


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not() -> None:
    runs = [
        gv.run(
            gv.Plan(N_ITEMS, 3, gv.networks.ring(4), gv.Gossip(max_iter=20), seed=seed), problems(4)
        )
        for seed in (5, 5, 6)
    ]
    assert runs[0].bases[0].tobytes() == runs[1].bases[0].tobytes()
    assert runs[0].bases[0].tobytes() != runs[2].bases[0].tobytes()


def test_agreement_is_the_largest_distance_of_linked_agents() -> None:
    result = gv.run(gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=3)), problems(3))
    wanted = max(gv.geometry.Grassmann().distance(*result.bases[i : i + 2]) for i in (0, 1))
    assert result.neighbour_distance == wanted
    assert result.agreement_degrees == math.degrees(wanted)


def test_a_run_gives_back_all_that_its_agents_have_learned() -> None:
    method = BiasedFactorization(regularization=2.0, max_iter=5)
    parts = gv.datasets.split_users(ratings(), 3)
    result = gv.run(
        gv.Plan(N_ITEMS, 3, gv.networks.path(3), method),
        [gv.BiasedCompletionProblem(part) for part in parts],
    )
    for basis, state in zip(result.bases, result.states, strict=True):
        assert np.array_equal(state["basis"], basis)
        assert state["item_biases"].shape == (N_ITEMS,)
        factors = np.asarray(state["factors"], dtype=np.float64)
        # The basis is that of the factors: QR keeps their span up to rounding.
        np.testing.assert_allclose(basis @ (basis.T @ factors), factors, atol=1e-12)
    plain = gv.run(gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=3)), problems(3))
    assert [state["basis"].tobytes() for state in plain.states] == [
        basis.tobytes() for basis in plain.bases
    ]


def test_the_mean_lies_among_the_agents() -> None:
    result = gv.run(
        gv.Plan(N_ITEMS, 3, gv.networks.ring(4), gv.Gossip(1e4, max_iter=400)), problems(4)
    )
    spread = max(gv.geometry.Grassmann().distance(result.mean, basis) for basis in result.bases)
    assert spread < 3 * result.neighbour_distance


def test_a_flat_geometry_runs_by_the_same_agents() -> None:
    plan = gv.Plan(
        N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=200), geometry=gv.geometry.Euclidean()
    )
    history = gv.run(plan, problems(3)).history
    assert history.final()["cost"].sum() < 0.9 * sum(
        history.of_agent(i)["cost"][0] for i in range(3)
    )


def test_the_input_is_never_modified() -> None:
    table = ratings()
    for array in (table.starts, table.items, table.values):
        array.flags.writeable = False
    parts = [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 3)]
    gv.run(gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=5)), parts)


def test_every_agent_needs_a_problem() -> None:
    with pytest.raises(PlanError, match="got 3 problems for 4 agents; pass one problem per"):
        gv.run(gv.Plan(N_ITEMS, 3, gv.networks.ring(4)), problems(3))


def test_an_error_of_an_observer_reaches_the_caller_as_it_is() -> None:
    def curious(report: StepReport) -> None:
        raise RuntimeError("an observer's own error")

    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=5))
    with pytest.raises(RuntimeError, match="an observer's own error"):
        gv.run(plan, problems(3), observers=[curious])


def test_agents_that_ignore_each_other_solve_their_own_tasks() -> None:
    plan = gv.Plan(N_ITEMS, 2, gv.networks.path(2), gv.Gossip(rho=0.0, max_iter=300))
    result = gv.run(plan, problems(2))
    for agent, problem in enumerate(problems(2)):
        alone = gv.gossip.descend(problem, plan.start(agent), 300)
        gap = gv.geometry.Grassmann().distance(alone, result.bases[agent])
        assert gap < 1e-12 * np.sqrt(2 * N_ITEMS)  # the same steps, in the same order


def functions(count: int) -> list[Callable[[], gv.CompletionProblem]]:
    return [lambda problem=problem: problem for problem in problems(count)]  # type: ignore[misc]


@pytest.mark.parametrize("engine", [gv.LocalEngine(), gv.ThreadsEngine(), ProcessEngine()])
def test_functions_that_load_the_problems_give_the_same_bits(engine: Any) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=6))
    mixed: list[ProblemSource] = [functions(3)[0], *problems(3)[1:]]
    wanted = gv.run(plan, problems(3))
    for found in (gv.run(plan, functions(3), engine=engine), gv.run(plan, mixed, engine=engine)):
        assert [b.tobytes() for b in found.bases] == [b.tobytes() for b in wanted.bases]


def test_a_function_is_called_where_its_agent_lives() -> None:
    callers: list[int] = []  # filled in the other process, if there is one

    def loading(problem: gv.CompletionProblem) -> Callable[[], gv.CompletionProblem]:
        def load() -> gv.CompletionProblem:
            callers.append(os.getpid())
            return problem

        return load

    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=4))
    given = [loading(problem) for problem in problems(3)]
    elsewhere = gv.run(plan, given, engine=ElsewhereEngine("fork"))
    assert callers == []
    here = gv.run(plan, given)
    assert callers == [os.getpid()] * 3
    assert [b.tobytes() for b in elsewhere.bases] == [b.tobytes() for b in here.bases]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: ratings(),
            "agent 1 has no problem: got a Ratings; pass a problem such as",
        ),
        (ratings(), "agent 1 has no problem: got a Ratings; pass a problem such as"),
        (
            lambda: gv.PCAProblem(np.eye(3)),
            "the problem of agent 1 has 3 items but the plan has 20",
        ),
    ],
)
def test_what_is_no_problem_is_refused_with_the_number_of_its_agent(
    given: Any, message: str
) -> None:
    with pytest.raises(PlanError, match=re.escape(message)):
        gv.run(gv.Plan(N_ITEMS, 3, gv.networks.path(2)), [problems(1)[0], given])
