"""Decisions of a program are those of the root, and an agent that has others is named."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.foundations.errors import AgentError, MessageError, PlanError
from grassvine.protocol import Message
from grassvine.protocol.agent import State
from grassvine.sums import SumAgent
from grassvine.sums.decisions import MAX_DECISIONS, Decisions, packed, unpacked
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    agree,
    all_reduce,
    decide,
    first_part,
    run_pooled,
)

TREE = gv.networks.path(5).tree  # 0 – 1 – 2 – 3 – 4, rooted at 2
PROBLEM = gv.PCAProblem(np.eye(3))


def deciding(number: int, n_decisions: int = 1, n_sums: int = 3) -> Program:
    """A program in which every agent would decide otherwise; its cost is what was decided."""
    decided = 0.0
    for _ in range(n_sums):
        yield from all_reduce(Iterate(np.eye(3)), lambda _: (1.0,))
        for _ in range(n_decisions):
            decided += yield from agree(10.0**number)
    return ProgramOutcome(Iterate(np.eye(3), cost=decided), "all was decided")


def run(programs: list[Program]) -> list[float]:
    """Run the programs, one for each agent; return the costs at the end."""
    makers = [partial(SumAgent, i, PROBLEM, one, TREE) for i, one in enumerate(programs)]
    costs: dict[int, float] = {}

    def observe(report: gv.protocol.StepReport) -> None:
        if report.finished:
            costs[report.agent] = report.cost

    gv.LocalEngine().run(makers, TREE.rounds(3), observe)
    return [costs[number] for number in range(len(programs))]


def test_all_agents_get_the_numbers_of_the_root() -> None:
    assert TREE.root == 2
    assert run([deciding(number) for number in range(5)]) == [300.0] * 5
    assert run([deciding(number, MAX_DECISIONS) for number in range(5)]) == [3600.0] * 5


def test_a_single_owner_of_all_data_decides_itself() -> None:
    assert run_pooled(deciding(1), PROBLEM).iterate.cost == 30.0


@pytest.mark.parametrize(
    ("n_decisions", "error"),
    [
        (0, "agent 3 takes 0 decisions after sum 0, and the root takes 1"),
        (2, "agent 3 takes more decisions after sum 0 than the 1 of the root"),
    ],
)
def test_an_agent_with_more_or_fewer_decisions_is_named(n_decisions: int, error: str) -> None:
    programs = [deciding(number) for number in range(5)]
    programs[3] = deciding(3, n_decisions)
    with pytest.raises(AgentError, match=error):
        run(programs)


@pytest.mark.parametrize("stray", [0, 1, 3, 4])
def test_an_agent_that_takes_a_number_of_its_own_is_named(
    stray: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = Decisions.decide

    def own_number(self: Decisions, value: float) -> float:
        decided = follow(self, value)
        if self.agent == stray and self.update == 1:
            self.taken[-1] = decided = value
        return decided

    monkeypatch.setattr(Decisions, "decide", own_number)
    # An inner agent passes its own number on: its children agree with it, its parent does not.
    parent = TREE.parents[stray]
    error = f"agent {stray} has other totals or decisions than agent {parent} before sum 2"
    with pytest.raises(AgentError, match=error):
        run([deciding(number) for number in range(5)])


def test_too_many_decisions_between_two_sums_are_refused() -> None:
    with pytest.raises(AgentError, match=f"more than {MAX_DECISIONS} decisions after sum 0"):
        run([deciding(number, MAX_DECISIONS + 1) for number in range(5)])


def test_nothing_is_decided_before_the_first_sum() -> None:
    def hasty() -> Program:
        yield from decide(True)
        return ProgramOutcome(Iterate(np.eye(3)), "")

    with pytest.raises(PlanError, match="decides before its first sum"):
        first_part(hasty())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=MAX_DECISIONS))
def test_decisions_keep_their_bits_on_the_way(taken: list[float]) -> None:
    numbers = packed(taken)
    assert numbers.shape == (1 + MAX_DECISIONS,)
    assert list(map(float.hex, unpacked(numbers, 0))) == list(map(float.hex, taken))


@pytest.mark.parametrize("count", [-1.0, 0.5, MAX_DECISIONS + 1.0, 2.0**60])
def test_an_impossible_number_of_decisions_is_refused_with_its_sender(count: float) -> None:
    agent = SumAgent(3, PROBLEM, deciding(3), TREE)
    arrays = {"sum": np.ones(1), "decisions": np.full(1 + MAX_DECISIONS, count)}
    with pytest.raises(MessageError, match=r"agent 2 sent .* decisions, not 0 to 12"):
        agent.meet(3, [Message(2, 3, arrays)])


def test_a_restored_root_keeps_to_what_it_decided() -> None:
    """Even if its machine would now decide otherwise."""
    tree = gv.networks.path(2).tree
    root = SumAgent(0, PROBLEM, deciding(2), tree)
    child = SumAgent(1, PROBLEM, deciding(1), tree)
    logged: list[State] = []
    for _ in range(2):
        slot = tree.routes[0].n_slots * len(logged)
        root.meet(slot, [child.outgoing(slot)])
        logged.append(dict(root.log_entry()))
        child.meet(slot + 1, [root.outgoing(slot + 1)])
    assert [entry["decisions"].tolist() for entry in logged] == [[100.0], [100.0]]
    restored = SumAgent(0, PROBLEM, deciding(0), tree)
    restored.restore(logged, root.snapshot())
    report = restored.meet(4, [child.outgoing(4)])
    assert report.cost == 100.0 + 100.0 + 1.0
    altered = [logged[0], {**logged[1], "decisions": np.array([99.0])}]
    with pytest.raises(MessageError, match="'checksum' in the snapshot of agent 0"):
        SumAgent(0, PROBLEM, deciding(0), tree).restore(altered, root.snapshot())
