"""The agents of one process run one program, and each of them gets what it would get alone."""

import copy
import gc
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.sums.cases import CASES

import grassvine as gv
from grassvine.engines.in_process import LocalEngine, ThreadsEngine
from grassvine.foundations.errors import AgentError, MessageError
from grassvine.protocol.agent import State
from grassvine.protocol.observers import AllFinished
from grassvine.sums import SumAgent
from grassvine.sums.course import Course, Place, SharedPrograms
from grassvine.sums.descent import rows
from grassvine.sums.descent.rows import Point
from grassvine.sums.program import Iterate, Program, ProgramOutcome, agree, all_reduce

N_AGENTS = 4
PROBLEM = gv.PCAProblem(np.eye(3))
SHAPES: list[tuple[int, ...]] = [()]


def doubling(n_sums: int, begun: list[int] | None = None) -> Program:
    """A program that decides on twice each total; its cost is the sum of what was decided."""
    decided = 0.0
    for number in range(n_sums):
        if begun is not None:
            begun.append(number)
        (total,) = yield from all_reduce(Iterate(np.eye(3), cost=decided), lambda _: (1.0,))
        decided += yield from agree(2.0 * float(total))
    return ProgramOutcome(Iterate(np.eye(3), cost=decided), "all was doubled")


@pytest.mark.parametrize("sums", ["plain", "fixed"])
@pytest.mark.parametrize(
    "name",
    [
        "by rank, few entries",
        "by rank, restarted",
        "tasks",
        "components, blocks",
        "hierarchical",
        "incomplete",
        "validated",
        "biased, auto",
        "implicit, few events",
        "regressions between items",
        "bayesian, few ratings",
    ],
)
def test_agents_that_share_a_program_get_what_they_get_alone(name: str, sums: str) -> None:
    network = gv.networks.star(N_AGENTS)
    case = CASES[name]
    plan = replace(case.plan(network), sums=sums)
    problems = case.problems(N_AGENTS)
    makers = [partial(plan.agent, number, one) for number, one in enumerate(problems)]
    alone = LocalEngine().run(makers, plan.timetable, AllFinished(N_AGENTS)).states
    for engine in (LocalEngine(), ThreadsEngine(2)):
        together = gv.run(plan, problems, engine=engine).states
        for one, other in zip(alone, together, strict=True):
            assert one.keys() == other.keys()
            for array in one:
                assert one[array].tobytes() == other[array].tobytes(), array


def test_a_process_computes_each_step_once_and_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gv.datasets.low_rank_ratings(20, 60, 2, oversampling=4.0, seed=3)
    evaluated, alive = [], []
    point = Point

    def watched(*arguments: object) -> object:
        evaluated.append(1)
        alive.append(sum(type(one) is point for one in gc.get_objects()))
        return point(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("grassvine.sums.biased.descent.Point", watched)
    method = gv.sums.BiasedFactorization(regularization=2.0)
    for n_agents in (1, 6):
        evaluated.clear()
        parts = gv.datasets.split_users(data.ratings, n_agents)
        problems = [gv.BiasedCompletionProblem(part) for part in parts]
        run = gv.run(gv.Plan(20, 2, gv.networks.ring(n_agents), method), problems)
        assert len(evaluated) == int(run.states[0]["updates"][0]) - 1  # the first: statistics
        assert len({state["factors"].tobytes() for state in run.states}) == 1
    assert max(alive) <= 3
    assert rows.Point is point


def test_the_error_of_each_agent_is_its_own() -> None:
    data = gv.datasets.low_rank_ratings(20, 60, 2, oversampling=4.0, seed=3)
    parts = gv.datasets.split_users(data.ratings, 3)
    problems = [gv.BiasedCompletionProblem(part) for part in parts]
    plan = gv.Plan(20, 2, gv.networks.star(3), gv.sums.BiasedFactorization(regularization=2.0))
    history = gv.run(plan, problems).history
    last = history.final()
    for agent in range(3):
        seen = history["mse"][(history["agent"] == agent) & ~np.isnan(history["mse"])]
        # The last point that was evaluated on the way is that of the final state.
        assert seen[-2] == pytest.approx(last["mse"][agent], rel=1e-12)
    assert len(set(last["mse"].tolist())) == 3


def test_problems_of_other_options_do_not_share_a_program() -> None:
    tasks = gv.datasets.subspace_tasks(4, 20, 2, seed=1).tasks
    programs = SharedPrograms()
    places = [
        programs.join(gv.MultitaskProblem(tasks, alpha=alpha), Place(Course(doubling(1))))
        for alpha in (0.5, 0.1, 0.5)
    ]
    assert places[0] is places[2] is not places[1]
    begun = places[0].after(np.ones(1), SHAPES, None, 0)
    del places
    gc.collect()  # nobody is at the start any more, so who comes now begins a new one
    late = Place(Course(doubling(1)))
    assert programs.join(gv.MultitaskProblem(tasks, alpha=0.5), late) is late
    assert begun.step.finished


def test_nothing_is_shared_with_a_copy_for_another_process() -> None:
    programs, first = SharedPrograms(), Place(Course(doubling(1)))
    assert programs.join(PROBLEM, first) is first
    for other in (copy.deepcopy(programs), pickle.loads(pickle.dumps(programs))):
        own = Place(Course(doubling(1)))
        assert other.join(PROBLEM, own) is own


@pytest.mark.parametrize(
    ("total", "shapes", "given", "error"),
    [
        (np.array([4.5]), SHAPES, [8.0], "agent 1 got another total for sum 0"),
        (np.array([-0.0]), SHAPES, [8.0], "agent 1 got another total for sum 0"),
        (np.array([4.0]), [(1,)], [8.0], "agent 1 got another total for sum 0"),
        (np.array([4.0]), SHAPES, [9.0], "agent 1 got other decisions for sum 0"),
        (np.array([4.0]), SHAPES, [8.0, 8.0], "agent 1 takes 1 decisions after sum 0"),
        (np.array([4.0]), SHAPES, [], "agent 1 takes more decisions after sum 0"),
    ],
)
def test_an_agent_that_hears_something_else_is_named(
    total: np.ndarray, shapes: Sequence[tuple[int, ...]], given: list[float], error: str
) -> None:
    start = Place(Course(doubling(2)))
    after = start.after(np.array([4.0]), SHAPES, None, 0)
    assert start.after(np.array([4.0]), SHAPES, [8.0], 1) is after
    with pytest.raises(MessageError, match=error):
        start.after(total, shapes, given, 1)


def test_decisions_are_those_of_whoever_came_first_with_them() -> None:
    start = Place(Course(doubling(1)))
    there = start.after(np.array([4.0]), SHAPES, [7.0], 3)
    assert there.step.iterate.cost == 7.0 and there.step.logged["decisions"].tolist() == [7.0]


def test_agents_are_restored_together() -> None:
    """Their logs are replayed one after another; the program runs once."""
    tree, begun = gv.networks.path(2).tree, list[int]()
    root, child = (SumAgent(number, PROBLEM, doubling(4), tree) for number in range(2))
    logs: list[list[State]] = [[], []]
    for number in range(2):
        slot = tree.routes[0].n_slots * number
        root.meet(slot, [child.outgoing(slot)])
        logs[0].append(dict(root.log_entry()))
        child.meet(slot + 1, [root.outgoing(slot + 1)])
        logs[1].append(dict(child.log_entry()))
    programs = SharedPrograms()
    again = [SumAgent(number, PROBLEM, doubling(4, begun), tree) for number in range(2)]
    for agent in again:
        agent.begin(programs)
    for agent, log, old in zip(again, logs, (root, child), strict=True):
        agent.restore(log, old.snapshot())
    assert begun == [0, 1, 2]
    assert again[0].meet(4, [again[1].outgoing(4)]).cost == 3 * 2.0 * 2.0
    altered: list[State] = [logs[1][0], {**logs[1][1], "0": np.array(5.0)}]
    strayed = SumAgent(1, PROBLEM, doubling(4), tree)
    with pytest.raises(MessageError, match="'checksum' in the snapshot of agent 1"):
        strayed.restore(altered, child.snapshot())


def test_a_program_that_fails_names_the_agent_that_ran_it() -> None:
    def failing(_: object = None) -> Program:
        yield from all_reduce(Iterate(np.eye(3)), lambda _: (1.0,))
        raise ValueError("it fails")

    programs = SharedPrograms()

    def make(number: int) -> SumAgent:
        agent = SumAgent(number, PROBLEM, failing(), gv.networks.path(2).tree)
        agent.begin(programs)
        return agent

    with pytest.raises(AgentError, match="it fails"):
        LocalEngine().run(
            [partial(make, number) for number in range(2)],
            gv.networks.path(2).tree.rounds(2),
            AllFinished(2),
        )
