"""Members without a timetable meet under every kind of failure; their record replays the run."""

import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.random import Generator
from tests.engines.peers.agents import SIZE, MixingAgent
from tests.engines.peers.simulator import KINDS, STREAM_KINDS, Node, Simulation

from grassvine.engines.in_process import run_slots
from grassvine.engines.peers.conversation import Agreement
from grassvine.engines.peers.events import (
    Compute,
    Computed,
    Connected,
    Disconnect,
    Effect,
    Event,
    Fail,
    Persist,
    Persisted,
    Received,
    Send,
    Tick,
)
from grassvine.engines.peers.frames import PROTOCOL_VERSION, Ack, Data, Hello, Status
from grassvine.engines.peers.member import Limits, Member
from grassvine.engines.peers.pairing import Kind, Note
from grassvine.engines.peers.records import Record, Sent
from grassvine.engines.peers.walk import OwnClock
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable, merge_meetings
from grassvine.protocol import Message, StepReport
from grassvine.protocol.message import encode

NO_SLOTS = Timetable.from_meetings(1, [])


def draw_clocks(rng: Generator, seed: int) -> list[OwnClock]:
    """A connected network of two to five members, who make a few updates each."""
    n_agents = int(rng.integers(2, 6))
    links = {(int(rng.integers(other)), other) for other in range(1, n_agents)}
    links |= {
        (one, other) for other in range(n_agents) for one in range(other) if rng.random() < 0.4
    }
    return clocks_of(n_agents, links, int(rng.integers(1, 13)), seed)


def clocks_of(
    n_agents: int, links: set[tuple[int, int]], updates: int, seed: int
) -> list[OwnClock]:
    return [
        OwnClock(
            tuple(sorted({one + other - agent for one, other in links if agent in (one, other)})),
            updates,
            seed,
        )
        for agent in range(n_agents)
    ]


def replayed(nodes: Sequence[Node], logs: bool) -> int:
    """Compare a run with the replay of its record, bit by bit; return the number of meetings."""
    assert all(node.error is None and node.state is not None for node in nodes)
    timetable = merge_meetings([node.member.meetings for node in nodes if node.member])
    reports: list[StepReport] = []
    wanted = run_slots(
        [MixingAgent(number, NO_SLOTS, logs=logs) for number in range(len(nodes))],
        timetable,
        lambda report: reports.append(report),
        lambda actions: [act() for act in actions],
    )
    for number, node in enumerate(nodes):
        assert repr(node.state) == repr(wanted.states[number])
        expected = [one for one in reports if one.agent == number][:-1]  # and its final state
        expected = [replace(one, slot=place) for place, one in enumerate(expected)]
        assert repr(node.reports) == repr(expected)
    return timetable.n_slots


def simulate(seed: int) -> Counter[str]:
    rng = stream(seed, "clocks")
    clocks, logs = draw_clocks(rng, seed), bool(rng.random() < 0.5)
    simulation = Simulation(
        [partial(MixingAgent, number, NO_SLOTS, logs=logs) for number in range(len(clocks))],
        clocks,
        seed,
        checkpoint_bytes=(0, 1, 1500)[int(rng.integers(3))],
    )
    nodes = simulation.run()
    n_meetings = replayed(nodes, logs)
    assert n_meetings >= clocks[0].updates / 2
    for node, clock in zip(nodes, clocks, strict=True):
        assert node.member is not None
        assert len(node.member.meetings) <= clock.updates
    # Two linked members who both could have gone on would have met.
    short = {n.number for n in nodes if n.member and len(n.member.meetings) < clocks[0].updates}
    assert not any(short.intersection(clocks[one].neighbours) for one in short)
    return simulation.struck


def run_seeds(seeds: Sequence[int]) -> Counter[str]:
    struck: Counter[str] = Counter()
    for seed in seeds:
        try:
            struck += simulate(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return struck


def test_every_run_ends_and_its_record_replays() -> None:
    struck = run_seeds(range(150))
    assert set(struck) == {*KINDS, *STREAM_KINDS}


@pytest.mark.parametrize("seed", range(5))
def test_an_absent_neighbour_is_skipped_while_the_others_meet(seed: int) -> None:
    """Member 3, a neighbour of all, comes when they have made half of their updates or more."""
    links = {(one, other) for other in range(4) for one in range(other)}
    clocks = clocks_of(4, links, 40, seed)
    factories = [partial(MixingAgent, number, NO_SLOTS) for number in range(4)]

    class Late(Simulation):
        met_before: Sequence[int] = ()

        def _start(self, node: Node) -> None:
            if node.number == 3:
                self.met_before = [len(one.member.meetings) for one in self.nodes if one.member]
            super()._start(node)

    simulation = Late(factories, clocks, seed, failures=False, absent={3: 100.0})
    nodes = simulation.run()
    replayed(nodes, logs=False)
    assert min(simulation.met_before) >= 10 and max(simulation.met_before) < 40
    assert all(node.member and len(node.member.meetings) >= 30 for node in nodes)


def first_of_three() -> Member:
    """A member of three who are linked to each other."""
    agreement = Agreement(0, ["a", "b", "c"], b"p" * 32)
    limits = Limits(patience=100.0)
    return Member(agreement, partial(MixingAgent, 0, NO_SLOTS), OwnClock((1, 2), 5), limits=limits)


class Alone:
    """A member whose computations and writes end at once, and what it sends."""

    def __init__(self, member: Member):
        self.member = member
        self.sent: list[Effect] = []
        self.written: list[Record] = []
        self.perform(member.start())

    def perform(self, effects: Sequence[Effect]) -> None:
        waiting = deque(effects)
        while waiting:
            match waiting.popleft():
                case Compute(ticket, function):
                    waiting += self.member.handle(Computed(ticket, function()))
                case Persist(ticket, records):
                    self.written += records
                    waiting += self.member.handle(Persisted(ticket))
                case effect:
                    self.sent.append(effect)

    def take(self, *events: Event) -> list[Effect]:
        """Handle events and return the effects for others."""
        self.sent.clear()
        for event in events:
            self.perform(self.member.handle(event))
        return list(self.sent)

    def notes(self) -> list[tuple[int, Note]]:
        return [
            (one.neighbour, Note.decode(bytes(one.frame.body)))
            for one in self.sent
            if isinstance(one, Send) and isinstance(one.frame, Data)
        ]


def greeting(number: int, received: int = 0, *, finished: bool = False) -> Received:
    return Received(
        number, Hello(PROTOCOL_VERSION, number, b"p" * 32, received=received, finished=finished)
    )


def frame(sender: int, number: int, note: Note) -> Received:
    payload = note.encode()
    return Received(sender, Data(number, len(payload), 0, payload))


def basis(number: int, updates: int = 0, content: float = 1.0) -> bytes:
    return encode(Message(number, updates, {"x": np.full(SIZE, content)}))


def test_two_members_meet_by_three_messages() -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1))
    assert [(to, note.kind, note.offer) for to, note in alone.notes()] == [(1, Kind.OFFER, 0)]
    alone.take(frame(1, 0, Note(Kind.ANSWER, 0, 3, basis(1, 3))))
    kinds = [note.kind for _, note in alone.notes()]
    assert kinds == [Kind.AGREED, Kind.OFFER] and alone.member.meetings == [(1, 3)]
    frames = [one.frame for one in alone.sent if isinstance(one, Send)]
    assert any(isinstance(one, Ack) and one.received == 1 for one in frames)


@pytest.mark.parametrize(
    ("note", "says"),
    [
        (Note(Kind.ANSWER, 1, 0, basis(1)), "never made"),
        (Note(Kind.AGREED, 0), "without an answer"),
        (Note(Kind.WITHDRAWN, 0), "never made"),
        (Note(Kind.BUSY, 0, 0, b"more"), "does not belong"),
        (Note(Kind.OFFER, 0, 0, basis(1, content=math.nan)), "contains nan"),
        (Note(Kind.OFFER, 0, 0, basis(1, 1)), "claims to be from agent 1 at slot 1"),
        (Note(Kind.OFFER, 0, 0, basis(2)), "claims to be from agent 2"),
        (Note(Kind.OFFER, 0, 0, b""), "0 bytes"),
        (Note(Kind.OFFER, 0, 0, basis(1)[:-1]), "not valid safetensors"),
        (Note(Kind.OFFER, 0, 0, bytes(10_000)), "at most"),
        (Note(Kind.OFFER, 2, 0, basis(1)), "number of another message"),
    ],
)
def test_a_message_that_must_not_come_ends_the_link_and_changes_nothing(
    note: Note, says: str
) -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1))
    alone.written.clear()
    ends = [one.reason for one in alone.take(frame(1, 0, note)) if isinstance(one, Disconnect)]
    assert len(ends) == 1 and says in ends[0]
    assert alone.member.meetings == []
    # The offer to a neighbour without a link is withdrawn, and that is all.
    sent = [one for one in alone.written if isinstance(one, Sent)]
    assert sent == alone.written
    assert [Note.decode(one.payload).kind for one in sent] == [Kind.WITHDRAWN]
    alone.take(Connected(1), greeting(1))
    alone.take(frame(1, 0, Note(Kind.OFFER, 0, 0, basis(1))))
    assert not [one for one in alone.sent if isinstance(one, Disconnect)]


def test_a_folder_that_is_older_than_the_run_is_refused() -> None:
    alone = Alone(first_of_three())
    (end,) = [one for one in alone.take(Connected(1), greeting(1, 7)) if isinstance(one, Fail)]
    assert "b already has message 6" in str(end.error)


def test_a_member_that_nobody_can_meet_gives_up_by_name() -> None:
    alone = Alone(first_of_three())
    alone.take(Tick(0.0), Connected(2), greeting(2), frame(2, 0, Note(Kind.BUSY, 0)))
    assert alone.member.waiting_for == (1, 2)
    (end,) = [one for one in alone.take(Tick(50.0), Tick(101.0)) if isinstance(one, Fail)]
    assert "nothing came from b, c for 100 seconds" in str(end.error)


def test_a_member_whose_neighbours_have_finished_is_done() -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1, finished=True), Connected(2))
    said = alone.take(greeting(2, finished=True))
    assert Send(1, Status(0, True)) in said and alone.member.meetings == []


@pytest.mark.slow
def test_two_thousand_seeds_strike_every_way() -> None:
    struck = run_seeds(range(10_000, 12_000))
    assert set(struck) == {*KINDS, *STREAM_KINDS}
    assert min(struck.values()) >= 400, struck
