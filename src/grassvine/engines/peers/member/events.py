"""The events that a member reacts to, and the effects that it asks for.

The member neither sends nor writes nor computes anything itself: it returns effects, and whoever
drives it reports back with events. ``ticket`` numbers match an event to its effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from grassvine.engines.peers.member.frames import Frame
from grassvine.engines.peers.member.records import Record
from grassvine.protocol.report import StepReport


@dataclass(frozen=True, slots=True)
class Connected:
    """A link to an authenticated neighbour is open; frames before it are of an earlier one."""

    neighbour: int


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The link to a neighbour is closed."""

    neighbour: int


@dataclass(frozen=True, slots=True)
class Received:
    """A frame arrived from a neighbour."""

    neighbour: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Persisted:
    """The records of a :class:`Persist` are on disk."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Computed:
    """A :class:`Compute` has returned, or has raised ``error``."""

    ticket: int
    result: object = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; ``now`` is a monotonic clock in seconds."""

    now: float


Event: TypeAlias = Connected | Disconnected | Received | Persisted | Computed | Tick


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame to a connected neighbour; dropped if the link has closed meanwhile."""

    neighbour: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the link after what was sent, for a reason to show; it may be opened again later.

    ``passing`` says that the reason will pass by itself.
    """

    neighbour: int
    reason: str
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Persist:
    """Append records to the journal, in order, and flush them to disk."""

    ticket: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """Call a function, one at a time and in order; it may take long."""

    ticket: int
    function: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Report:
    """The agent has met its neighbours at a slot."""

    report: StepReport


@dataclass(frozen=True, slots=True)
class Leave:
    """The member has finished; ``missing`` neighbours had not when they were last heard."""

    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """The member cannot go on."""

    error: Exception


Effect: TypeAlias = Send | Disconnect | Persist | Compute | Report | Leave | Fail
