"""The records of a member's journal, and what they tell after a crash."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from grassvine.protocol.agent import State
from grassvine.protocol.report import StepReport


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the agent sends at a slot, to all receivers; it is never computed again."""

    slot: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a neighbour sent at a slot; without a timetable, the number of its message."""

    sender: int
    slot: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """A message to one neighbour, without a timetable; messages of a link are numbered."""

    receiver: int
    number: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """How many messages were sent to a neighbour and received from it before a checkpoint.

    ``left`` is how many meetings with it are left.
    """

    neighbour: int
    sent: int
    received: int
    left: int


@dataclass(frozen=True, slots=True)
class NeighbourFinished:
    """A neighbour said that its agent has finished."""

    neighbour: int


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The agent before it walks through a slot; earlier records are no longer needed.

    ``log_entries`` and ``reports`` are those since the last checkpoint, in order. ``kept`` are the
    records that are still needed: messages not acknowledged, or received for later slots.
    """

    slot: int
    snapshot: State
    log_entries: tuple[State, ...]
    reports: tuple[StepReport, ...]
    kept: tuple["Record", ...]


Record: TypeAlias = Outgoing | Incoming | Sent | LinkCounts | NeighbourFinished | Checkpoint

Key: TypeAlias = tuple[int, int]  # the slot and the sender of a message


@dataclass(frozen=True)
class Recovered:
    """What a journal holds: the last checkpoint, if any, and the records after it, in order."""

    slot: int = 0
    snapshot: State | None = None
    agent_finished: bool = False
    log_entries: Callable[[], Iterable[State]] = tuple
    records: Sequence[Record] = ()
    outgoing: Mapping[int, bytes] = field(init=False)
    incoming: Mapping[Key, bytes] = field(init=False)
    finished: frozenset[int] = field(init=False)  # neighbours

    def __post_init__(self) -> None:
        """Sort the records by their kinds."""
        kinds: dict[str, object] = {
            "outgoing": {r.slot: r.payload for r in self.records if isinstance(r, Outgoing)},
            "incoming": {
                (r.slot, r.sender): r.payload for r in self.records if isinstance(r, Incoming)
            },
            "finished": frozenset(
                r.neighbour for r in self.records if isinstance(r, NeighbourFinished)
            ),
        }
        for name, value in kinds.items():
            object.__setattr__(self, name, value)

    def received_from(self, neighbour: int) -> int:
        """Return the first slot of which no message of a neighbour is known to be on disk."""
        after = (slot + 1 for slot, sender in self.incoming if sender == neighbour)
        return max(self.slot, max(after, default=0))
