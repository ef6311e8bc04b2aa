"""The agent protocol: all that an engine may know of a method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport

State = Mapping[str, NDArray[np.generic]]


class Agent(Protocol):
    """Says what it sends, takes what it receives; knows how to move, never where it runs.

    An agent that has reported that it is ``finished`` does not move any more: further meetings
    leave its state, its snapshot and what it concludes as they are.

    An agent whose process died is brought back by making it anew, from the same plan and data,
    and giving it again what it recorded: the log entries of its meetings, in order, and its
    snapshot.
    Both may hold what is private; they are for whoever holds the data.
    """

    @property
    def id(self) -> int:
        """Its number."""
        ...

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Return what it can do before a slot without hearing anybody, or None.

        An engine may let many agents do so at once, or none: what is not prepared is done when it
        is needed, and nothing else can be seen of it.
        """
        ...

    def outgoing(self, slot: int) -> Message:
        """Return what it sends at a slot; has no side effect."""
        ...

    def expected(self, slot: int) -> Shapes:
        """Return the names and shapes of the arrays that it accepts at a slot."""
        ...

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Take the messages of a slot, sorted by sender, and move: the only mutation in a run."""
        ...

    def conclude(self, slot: int) -> StepReport:
        """Report the state after the last slot; does not move."""
        ...

    def state(self) -> State:
        """Return what it has learned, as named arrays."""
        ...

    def log_entry(self) -> State:
        """Return what the last meeting taught that :meth:`snapshot` does not tell; often nothing.

        It is asked right after the meeting, and has no side effect: an agent keeps no log entries.
        """
        ...

    def snapshot(self) -> State:
        """Return the rest of what an agent made anew must be told; has no side effect.

        It may be asked between any two slots.
        """
        ...

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Bring an agent that was just made to where the one stood that told this.

        From then on it sends, accepts, reports and tells the same bits. Log entries are taken one
        at a time; empty ones may be left out. An agent that refuses what it is told is of no use.
        """
        ...
