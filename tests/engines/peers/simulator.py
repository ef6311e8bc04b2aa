"""A deterministic simulator of members: virtual time, and every kind of failure, from one seed.

It drives the same state machine as the gRPC shell. Links are streams that deliver late; they break,
double and swap frames and are cut for a while; members are killed between any two events, lose what
is not on disk, and are started again. Each kind of failure counts how often it struck.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from numpy.random import Generator

from grassvine.engines.base import AgentFactory
from grassvine.engines.peers.member.conversation import Agreement
from grassvine.engines.peers.member.events import (
    Compute,
    Computed,
    Connected,
    Disconnect,
    Disconnected,
    Effect,
    Event,
    Fail,
    Leave,
    Persist,
    Persisted,
    Received,
    Report,
    Send,
    Tick,
)
from grassvine.engines.peers.member.frames import Ack, Data, Frame
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.member.records import (
    Checkpoint,
    Incoming,
    LinkCounts,
    Record,
    Recovered,
    Sent,
)
from grassvine.engines.peers.member.walk import OwnClock
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable
from grassvine.protocol import StepReport
from grassvine.protocol.agent import State

STREAM_KINDS = ("double", "swap")
KINDS = ("break", "partition", "kill", "kill two", "torn write", "late kill")
MOST_EVENTS = 200_000


@dataclass
class Disk:
    """What survives a kill: the records of the last checkpoint and after it."""

    records: list[Record] = field(default_factory=list)
    log_entries: list[State] = field(default_factory=list)
    reports: list[StepReport] = field(default_factory=list)
    checkpoint: Checkpoint | None = None

    def write(self, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record, Checkpoint):
                self.checkpoint = record
                self.log_entries += record.log_entries
                self.reports += record.reports
                self.records = list(record.kept)
            else:
                self.records.append(record)

    def recovered(self) -> Recovered:
        return Recovered(
            slot=self.checkpoint.slot if self.checkpoint else 0,
            snapshot=self.checkpoint.snapshot if self.checkpoint else None,
            agent_finished=bool(self.reports and self.reports[-1].finished),
            log_entries=lambda: list(self.log_entries),
            records=tuple(self.records),
        )


@dataclass
class Node:
    """A member, its disk, and what it has done since it was started."""

    number: int
    member: Member | None = None
    disk: Disk = field(default_factory=Disk)
    life: int = 0  # how often it was started; what belongs to an earlier life is dropped
    busy: float = 0.0  # until when it computes
    writing: float = 0.0
    unwritten: list[tuple[Record, ...]] = field(default_factory=list)
    reports: list[StepReport] = field(default_factory=list)
    state: State | None = None
    error: Exception | None = None
    left: bool = False


class Simulation:
    """A run of some members with failures; :meth:`run` returns the nodes."""

    def __init__(
        self,
        factories: Sequence[AgentFactory],
        courses: Timetable | Sequence[OwnClock],
        seed: int,
        *,
        failures: bool = True,
        checkpoint_bytes: int = 0,
        absent: Mapping[int, float] = MappingProxyType({}),
    ):
        self.rng: Generator = stream(seed, "simulation")
        self.courses, self.factories = courses, factories
        self.absent = absent  # until when members are not started
        self.nodes = [Node(number) for number in range(len(factories))]
        self.limits = Limits(patience=1e9, grace=200.0, checkpoint_bytes=checkpoint_bytes or 2**40)
        self.now = 0.0
        self.struck: Counter[str] = Counter()
        self.most_waiting = 0  # messages of a neighbour that waited for their slots
        self.failures = failures
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._links: dict[tuple[int, int], int] = {}  # the connection of each open link
        self._connections = 0
        self._arrivals: dict[tuple[int, int], float] = {}  # last arrival by connection and sender
        self._cut: dict[tuple[int, int], float] = {}  # until when a link is cut
        self._sent: dict[tuple[int, int, int], bytes] = {}  # by sender, receiver and slot

    def run(self) -> list[Node]:
        edges = {_edge(*pair) for pair in _pairs(self.courses)}
        for node in self.nodes:
            begin = self.absent.get(node.number, 0.0)
            self._after(begin + self._delay(5.0), partial(self._start, node))
        for edge in sorted(edges):
            self._after(self._delay(5.0), partial(self._connect, edge))
        if self.failures:
            for _ in range(int(self.rng.integers(2, 9))):
                kind = KINDS[int(self.rng.integers(len(KINDS)))]
                self._after(self._delay(20.0), partial(self._strike, kind))
        for _ in range(MOST_EVENTS):
            if all(node.left for node in self.nodes):
                return self.nodes
            self.now, _, action = heapq.heappop(self._queue)
            action()
        raise AssertionError(f"the run does not end: {self.describe()}")

    def describe(self) -> str:
        return "; ".join(
            f"{node.number} at {node.member.slot} waits for {node.member.waiting_for}"
            for node in self.nodes
            if node.member
        )

    # Members.

    def _start(self, node: Node) -> None:
        node.life += 1
        node.error = None
        node.busy = node.writing = self.now
        node.reports = list(node.disk.reports)
        agreement = Agreement(
            member=node.number,
            names=[f"m{number}" for number in range(len(self.nodes))],
            plan=b"p" * 32,
        )
        factory, courses = self.factories[node.number], self.courses
        course = courses if isinstance(courses, Timetable) else courses[node.number]
        node.member = Member(agreement, factory, course, node.disk.recovered(), self.limits)
        self._perform(node, node.member.start())
        self._tick(node, node.life)

    def _tick(self, node: Node, life: int) -> None:
        if node.life == life and node.member and not node.left:
            self._event(node, Tick(self.now))
            self._after(5.0, lambda: self._tick(node, life))

    def _event(self, node: Node, event: Event) -> None:
        if node.member and not node.left:
            self._perform(node, node.member.handle(event))
            waiting = [node.member.n_waiting(other) for other in node.member.conversations]
            self.most_waiting = max([self.most_waiting, *waiting])

    def _perform(self, node: Node, effects: Sequence[Effect]) -> None:
        life = node.life
        for effect in effects:
            match effect:
                case Send(neighbour, frame):
                    self._check(node, neighbour, frame)
                    self._transmit(node.number, neighbour, frame)
                case Disconnect(neighbour, _):
                    self._break(_edge(node.number, neighbour))
                case Compute(ticket, function):
                    node.busy = max(node.busy, self.now) + self._delay(1.0)
                    self._at(node.busy, partial(self._computed, node, life, ticket, function))
                case Persist(ticket, records):
                    node.writing = max(node.writing, self.now) + self._delay(0.5)
                    node.unwritten.append(records)
                    self._at(node.writing, partial(self._written, node, life, ticket))
                case Report(report):
                    node.reports.append(report)
                case Fail(error):
                    node.error = error
                case Leave():
                    assert node.member is not None
                    node.state, node.left = node.member.agent.state(), True
                    if self.failures and self.rng.random() < 0.2:
                        self._after(self._delay(1.0), lambda: self._strike("late kill"))

    def _computed(self, node: Node, life: int, ticket: int, function: Callable[[], object]) -> None:
        if node.life != life or node.member is None:
            return
        try:
            result = function()
        except Exception as error:
            self._event(node, Computed(ticket, error=error))
        else:
            self._event(node, Computed(ticket, result))

    def _written(self, node: Node, life: int, ticket: int) -> None:
        if node.life == life and node.member is not None:
            node.disk.write(node.unwritten.pop(0))
            self._event(node, Persisted(ticket))

    def _check(self, node: Node, neighbour: int, frame: Frame) -> None:
        """What is sent or acknowledged is on disk, and a message never changes."""
        recovered = node.disk.recovered()
        to_all = isinstance(self.courses, Timetable)
        if isinstance(frame, Data):
            messages = (
                recovered.outgoing
                if to_all
                else {
                    one.number: one.payload
                    for one in recovered.records
                    if isinstance(one, Sent) and one.receiver == neighbour
                }
            )
            payload = messages[frame.slot]
            assert payload[frame.offset : frame.offset + len(frame.body)] == frame.body
            key = (node.number, -1 if to_all else neighbour, frame.slot)
            assert self._sent.setdefault(key, payload) == payload
        if isinstance(frame, Ack) and frame.received:
            slot = frame.received - 1
            before = recovered.slot if to_all else _counted(recovered.records, neighbour)
            assert slot < before or any(one == slot for one, _ in recovered.incoming)

    # Links.

    def _connect(self, edge: tuple[int, int]) -> None:
        nodes = [self.nodes[number] for number in edge]
        open_for_both = all(node.member and not node.left for node in nodes)
        if edge in self._links or not open_for_both or self._cut.get(edge, 0.0) > self.now:
            self._after(self._delay(4.0), lambda: self._connect(edge))
            return
        self._connections += 1
        self._links[edge] = self._connections
        connection = self._connections
        for node, other in (nodes, reversed(nodes)):
            life = node.life

            def connected(node: Node = node, other: Node = other, life: int = life) -> None:
                if self._links.get(edge) == connection and node.life == life:
                    self._event(node, Connected(other.number))

            self._arrivals[connection, node.number] = self.now
            # Frames of the other side must not arrive before this event.
            connected()
        self._after(self._delay(4.0), lambda: self._connect(edge))

    def _break(self, edge: tuple[int, int]) -> None:
        if self._links.pop(edge, None) is None:
            return
        for number, other in (edge, edge[::-1]):
            self._event(self.nodes[number], Disconnected(other))

    def _transmit(self, sender: int, receiver: int, frame: Frame) -> None:
        edge = _edge(sender, receiver)
        connection = self._links.get(edge)
        if connection is None:
            return
        times = 1
        late = 0.0
        if self.failures and self.rng.random() < 0.02:
            kind = STREAM_KINDS[int(self.rng.integers(2))]
            self.struck[kind] += 1
            times, late = (2, 0.0) if kind == "double" else (1, self._delay(3.0))

        def arrive() -> None:
            if self._links.get(edge) == connection:
                self._event(self.nodes[receiver], Received(sender, frame))

        for _ in range(times):
            before = self._arrivals[connection, sender]
            at = max(before, self.now) + self._delay(0.3)
            self._arrivals[connection, sender] = at
            self._at(at + late, arrive)

    # Failures.

    def _strike(self, kind: str) -> None:
        edges = sorted(self._links)
        running = [node for node in self.nodes if node.member and not node.left]
        if kind in ("break", "partition") and edges:
            edge = edges[int(self.rng.integers(len(edges)))]
            if kind == "partition":
                self._cut[edge] = self.now + self._delay(40.0)
            self._break(edge)
            self.struck[kind] += 1
        elif kind == "late kill" and (left := [node for node in self.nodes if node.left]):
            self._kill(left[int(self.rng.integers(len(left)))], 0)
            self.struck[kind] += 1
        elif kind in ("kill", "kill two") and len(running) >= 2:
            for place in self.rng.choice(len(running), 1 + (kind == "kill two"), replace=False):
                self._kill(running[place], 0)
            self.struck[kind] += 1
        elif kind == "torn write" and (busy := [node for node in running if node.unwritten]):
            node = busy[int(self.rng.integers(len(busy)))]
            self._kill(node, 1 + int(self.rng.integers(len(node.unwritten))))
            self.struck[kind] += 1
        elif kind == "torn write":  # nobody writes now
            self._after(self._delay(0.5), lambda: self._strike(kind))

    def _kill(self, node: Node, n_written: int) -> None:
        """Kill a member; some writes that it does not know of yet may have reached the disk."""
        for records in node.unwritten[:n_written]:
            node.disk.write(records)
        node.unwritten.clear()
        node.member, node.left = None, False
        node.life += 1
        for edge in [edge for edge in self._links if node.number in edge]:
            self._break(edge)
        self._after(self._delay(20.0), lambda: self._start(node))

    # Time.

    def _delay(self, scale: float) -> float:
        return float(self.rng.exponential(scale))

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self._at(self.now + delay, action)

    def _at(self, time: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (time, self._count, action))


def _edge(one: int, other: int) -> tuple[int, int]:
    return (min(one, other), max(one, other))


def _pairs(courses: Timetable | Sequence[OwnClock]) -> Iterator[tuple[int, int]]:
    if isinstance(courses, Timetable):
        yield from zip(courses.senders.tolist(), courses.receivers.tolist(), strict=True)
    else:
        for number, clock in enumerate(courses):
            yield from ((number, other) for other in clock.neighbours)


def _counted(records: Sequence[Record], neighbour: int) -> int:
    counts = [
        one.received
        for one in records
        if isinstance(one, LinkCounts) and one.neighbour == neighbour
    ]
    return sum(counts) + sum(
        isinstance(one, Incoming) and one.sender == neighbour for one in records
    )
