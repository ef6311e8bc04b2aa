"""Agents that are one agent after another keep the promises of the agent protocol."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save
from tests.peers.houses import Together, cards, learn_together, learning

from grassvine import LocalEngine, ThreadsEngine
from grassvine.engines.base import EngineResult
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.networks.timetable import Timetable
from grassvine.peers.fit.stages import one_after_another
from grassvine.protocol import Agent, Message, encode
from grassvine.protocol.agent import State

METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gossip": ("ratings", "gossip", {"max_iter": 3, "holdout": 0.1}),
    "parallel": ("tasks", "parallel", {"max_iter": 3}),
    "sums": ("ratings", "map", {"holdout": 0.1, "regularization": 3.0}),
    "components": ("pca", "exact", {}),
}


@pytest.fixture(params=METHODS)
def together(request: pytest.FixtureRequest, tmp_path: Path) -> Together:
    kind, method, options = METHODS[request.param]
    return learn_together(tmp_path, learning(kind, method, **options), cards("ab", "d"))


def agents_of(found: Together) -> list[Callable[[], Agent]]:
    plan = found.plan.run_plan
    return [lambda n=n, data=data: plan.agent(n, data) for n, data in enumerate(found.data)]  # type: ignore[misc]


def copied(state: State) -> State:
    """Return what is read again from a file."""
    plain = {name: np.asarray(array, order="C") for name, array in state.items()}
    return load(save(plain)) if plain else {}


def same(one: State, other: State) -> bool:
    return set(one) == set(other) and all(
        one[name].shape == other[name].shape and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def walk(found: Together, check: Callable[[int, list[Agent]], list[Agent]]) -> list[Agent]:
    """Walk through the slots of the run, with agents exchanged by ``check`` before each."""
    timetable = found.plan.run_plan.timetable
    agents = [make() for make in agents_of(found)]
    with one_blas_thread():
        for slot in range(found.run.n_slots):
            agents = check(slot, agents)
            inboxes = timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for n in {n for _, ns in inboxes for n in ns}}
            for receiver, senders in inboxes:
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
    return agents


def test_only_meeting_changes_the_state(together: Together) -> None:
    def check(slot: int, agents: list[Agent]) -> list[Agent]:
        for agent in agents:
            before = copied(agent.snapshot()), copied(agent.state())
            one, other = agent.outgoing(slot), agent.outgoing(slot)
            assert encode(one) == encode(other)
            assert (one.sender, one.slot) == (agent.id, slot)
            agent.expected(slot)
            if work := agent.precompute(slot):
                work()
            assert same(agent.state(), before[1])
            assert same(agent.snapshot(), before[0])
        return agents

    agents = walk(together, check)
    for agent in agents:
        agent.conclude(together.run.n_slots)
    for agent, state in zip(agents, together.run.states, strict=True):
        assert same(agent.state(), state)


def test_agents_restored_at_every_slot_end_with_the_same_bits(together: Together) -> None:
    makes = agents_of(together)
    entries: list[list[State]] = [[] for _ in together.data]

    def restored(slot: int, agents: list[Agent]) -> list[Agent]:
        """Restore one agent a slot, in turn, from all that was logged."""
        for number, agent in enumerate(agents):
            if slot and (entry := copied(agent.log_entry())):
                met = {r for r, _ in together.plan.run_plan.timetable.inboxes(slot - 1)}
                if number in met:
                    entries[number].append(entry)
        number = slot % len(agents)
        again = makes[number]()
        again.restore(iter(entries[number]), copied(agents[number].snapshot()))
        assert same(again.snapshot(), agents[number].snapshot())
        assert same(again.state(), agents[number].state())
        return [again if n == number else agent for n, agent in enumerate(agents)]

    agents = walk(together, restored)
    for agent, state in zip(agents, together.run.states, strict=True):
        assert same(agent.state(), state)


def test_finished_is_said_at_the_end_only_and_nothing_changes_then(together: Together) -> None:
    timetable = together.plan.run_plan.timetable
    agents = [make() for make in agents_of(together)]
    first: dict[int, int] = {}
    with one_blas_thread():
        for slot in range(together.run.n_slots):
            inboxes = timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for n in {n for _, ns in inboxes for n in ns}}
            for receiver, senders in inboxes:
                report = agents[receiver].meet(slot, [sent[sender] for sender in senders])
                assert (report.agent, report.slot) == (receiver, slot)
                if report.finished:
                    first.setdefault(receiver, slot)
                if receiver in first:
                    assert same(agents[receiver].state(), together.run.states[receiver])
    assert set(first) == set(range(len(agents)))
    assert min(first.values()) >= together.run.n_slots - 2 * together.network.tree.height


def test_every_engine_ends_with_the_same_bits(together: Together) -> None:
    from tests.engines.process_engine import ProcessEngine

    from grassvine.runs import run

    for engine in (ThreadsEngine(2), ProcessEngine()):
        again = run(together.plan.run_plan, together.data, engine=engine)
        for one, other in zip(again.states, together.run.states, strict=True):
            assert same(one, other)
    assert isinstance(
        LocalEngine().run([], Timetable.from_deliveries(1, []), lambda _: None), EngineResult
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: {k: v for k, v in s.items() if k != "stage"}, "names no stage"),
        (lambda s: {**s, "stage": np.array([3])}, "is of stage 3"),
        (lambda s: {**s, "stage": np.array([-1])}, "non-negative"),
        (lambda s: {**s, "stage": np.array([0, 1])}, "shape"),
        (
            lambda s: {k: v for k, v in s.items() if not k.startswith("inherited.total")},
            "not fit|does not",
        ),
        (lambda s: {k: v for k, v in s.items() if k != "inherited.updates"}, "does not count"),
        (lambda s: {**s, "inherited.basis": np.full((30, 2), np.nan)}, "finite"),
        (lambda s: {k: v for k, v in s.items() if not k.startswith("agent.")}, "contains"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(
    tmp_path: Path, change: Callable[[State], State], reason: str
) -> None:
    what = learning("ratings", "gossip", max_iter=3)
    found = learn_together(tmp_path, what, cards("ab", "d"))
    good: list[State] = []
    during_gossip = 7  # two sums take four slots, gossip six

    def keep(slot: int, agents: list[Agent]) -> list[Agent]:
        if slot == during_gossip:
            good.append(copied(agents[1].snapshot()))
        return agents

    walk(found, keep)
    make = agents_of(found)[1]
    make().restore(iter([]), good[0])
    with pytest.raises(MessageError, match=reason):
        make().restore(iter([]), change(dict(good[0])))


def test_timetables_follow_one_another() -> None:
    one = Timetable.from_deliveries(3, [[(0, 1)], []])
    other = Timetable.from_deliveries(3, [[(1, 2), (2, 1)]])
    both = one_after_another([one, other, one])
    assert both.n_slots == 5
    assert [both.deliveries(slot) for slot in range(5)] == [
        [(0, 1)],
        [],
        [(2, 1), (1, 2)],
        [(0, 1)],
        [],
    ]


def test_an_agent_without_a_meeting_in_a_stage_goes_on_to_the_next(tmp_path: Path) -> None:
    """With one update a member, some meet nobody while the others gossip."""
    what = learning("ratings", "gossip", max_iter=1)
    for seed in range(4):
        found = learn_together(tmp_path, what, cards("abc", "d"), seed=seed)
        states = found.run.states
        assert all(state["basis"].tobytes() == states[0]["basis"].tobytes() for state in states)
        assert isinstance(found.data[0].model(states[0]).shared.counts.sum(), np.integer)


def test_messages_of_another_stage_are_not_expected(tmp_path: Path) -> None:
    found = learn_together(tmp_path, learning("ratings", "gossip", max_iter=3), cards("ab", "d"))
    agent = agents_of(found)[0]()
    assert set(agent.expected(0)) == {"sum", "checksum"}
    assert isinstance(agent.outgoing(0), Message)
