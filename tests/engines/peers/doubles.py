"""Members and a journal for tests of the shell: no mathematics, but the same events and effects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grassvine.engines.peers.member.events import (
    Compute,
    Computed,
    Connected,
    Disconnected,
    Effect,
    Event,
    Leave,
    Persist,
    Persisted,
    Received,
    Send,
)
from grassvine.engines.peers.member.frames import (
    MAX_CHUNK,
    PROTOCOL_VERSION,
    Ack,
    Data,
    Frame,
    Hello,
)
from grassvine.engines.peers.member.records import Incoming, Record


@dataclass
class MemoryJournal:
    """Keeps what would be on disk, by append."""

    appended: list[list[Record]] = field(default_factory=list)

    def append(self, records: Iterable[Record]) -> None:
        self.appended.append(list(records))


def chunks(slot: int, payload: bytes) -> list[Frame]:
    """Cut a message into frames."""
    return [
        Data(slot, len(payload), offset, payload[offset : offset + MAX_CHUNK])
        for offset in range(0, len(payload), MAX_CHUNK)
    ]


def hello(number: int) -> Hello:
    return Hello(PROTOCOL_VERSION, number, bytes(32))


@dataclass
class Recorder:
    """Keeps all events, and answers frames with a greeting."""

    number: int = 0
    events: list[Event] = field(default_factory=list)

    def start(self) -> Sequence[Effect]:
        return []

    def handle(self, event: Event) -> Sequence[Effect]:
        self.events.append(event)
        return self.react(event)

    def react(self, event: Event) -> Sequence[Effect]:
        if isinstance(event, Received):
            return [Send(event.neighbour, hello(self.number))]
        return []

    def of(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class PingPong(Recorder):
    """Exchanges a message with its neighbours in each of some rounds, as a member does.

    A message is computed, then sent; what arrives is written, then acknowledged. What is not
    acknowledged is sent again on a new connection. The next round begins when all neighbours have
    acknowledged and all their messages are on disk; after the last one the member leaves.
    """

    neighbours: tuple[int, ...] = ()
    rounds: int = 3
    size: int = 10
    round: int = -1
    payload: bytes = b""
    begun: bool = False
    connected: set[int] = field(default_factory=set)
    partial: dict[int, bytes] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)  # by neighbour: rounds on disk
    acknowledged: dict[int, int] = field(default_factory=dict)
    tickets: dict[int, int] = field(default_factory=dict)

    def start(self) -> Sequence[Effect]:
        self.received = dict.fromkeys(self.neighbours, 0)
        self.acknowledged = dict.fromkeys(self.neighbours, 0)
        return self._next_round()

    def react(self, event: Event) -> Sequence[Effect]:
        match event:
            case Computed(result=bytes(payload)):
                self.payload = payload
                return [one for other in self.connected for one in self._message(other)]
            case Connected(other):
                self.connected.add(other)
                self.partial[other] = b""
                return [Send(other, hello(self.number)), *self._message(other)]
            case Disconnected(other):
                self.connected.discard(other)
            case Received(other, Data(slot, size, _, body)) if slot == self.received[other]:
                self.partial[other] += body
                if len(self.partial[other]) == size:
                    ticket = 1000 * slot + other
                    self.tickets[ticket] = other
                    return [Persist(ticket, (Incoming(other, slot, self.partial.pop(other)),))]
            case Received(other, Data()):
                return [Send(other, Ack(self.received[other]))]
            case Persisted(ticket):
                other = self.tickets.pop(ticket)
                self.received[other] += 1
                self.partial[other] = b""
                return [Send(other, Ack(self.received[other])), *self._done()]
            case Received(other, Ack(received)):
                self.acknowledged[other] = max(self.acknowledged[other], received)
                return self._done()
        return []

    def _message(self, other: int) -> list[Effect]:
        if not self.payload or self.acknowledged[other] > self.round:
            return []
        return [Send(other, frame) for frame in chunks(self.round, self.payload)]

    def _done(self) -> list[Effect]:
        if not self.payload or min(*self.received.values(), *self.acknowledged.values(), 10**9) <= (
            self.round
        ):
            return []
        return self._next_round()

    def _next_round(self) -> list[Effect]:
        self.round += 1
        self.payload = b""
        if self.round == self.rounds:
            return [Leave()]
        content, size = bytes([self.number, self.round % 256]), self.size
        return [Compute(self.round, lambda: (content * size)[:size])]
