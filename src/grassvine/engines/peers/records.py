"""The records of a member's journal."""

from dataclasses import dataclass
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
    """What a neighbour sent at a slot."""

    sender: int
    slot: int
    payload: bytes


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


Record: TypeAlias = Outgoing | Incoming | NeighbourFinished | Checkpoint
