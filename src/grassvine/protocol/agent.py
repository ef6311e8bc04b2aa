"""The agent protocol: everything an engine knows about a method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport

State = Mapping[str, NDArray[np.generic]]


class Agent(Protocol):
    """A participant that sends and receives messages and updates its state, on any engine.

    Once an agent has reported that it is ``finished``, further meetings leave its state, its
    snapshot and its final report unchanged.

    If its process dies, an agent is created again from the same plan and data and restored from
    the log entries of its meetings, in order, and its snapshot. Both may contain private data and
    must stay with the owner of the data.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip())
    >>> first, second = (
    ...     plan.agent(number, gv.PCAProblem([[1.0, 0.1], [-1.0, -0.1]])) for number in (0, 1)
    ... )
    >>> report = first.meet(0, [second.outgoing(0)])  # what an engine does at every slot
    >>> report.agent, report.neighbour
    (0, 1)
    """

    @property
    def id(self) -> int:
        """The number of the agent."""
        ...

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Return a computation that can run before a slot, without any message, or None.

        An engine may run it, concurrently for several agents, or skip it: the result is then
        computed when it is needed. It has no other visible effect. Only an agent that sent or
        received a message at the previous slot can have a new one.
        """
        ...

    def outgoing(self, slot: int) -> Message:
        """Return the message for a slot, without side effects."""
        ...

    def expected(self, slot: int) -> Shapes:
        """Return the names and shapes of the arrays accepted at a slot."""
        ...

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Update the state from the messages of a slot, sorted by sender.

        This is the only method that changes the state during a run.
        """
        ...

    def conclude(self, slot: int) -> StepReport:
        """Report the state before a slot, without changing it.

        Engines ask for it after the last slot, and before slot 0 for a cost that identifies the
        agent's data in checkpoints.
        """
        ...

    def state(self) -> State:
        """Return the learned state as named arrays."""
        ...

    def log_entry(self) -> State:
        """Return what the last meeting added and :meth:`snapshot` does not contain; often nothing.

        Called right after the meeting. It has no side effects: agents do not keep log entries.
        """
        ...

    def snapshot(self) -> State:
        """Return the rest of the state needed to restore the agent, without side effects.

        It may be called between any two slots.
        """
        ...

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Restore a newly created agent to the state from which the snapshot was taken.

        From then on, both agents behave identically, bit for bit. Log entries are consumed one at
        a time; empty ones may be omitted. If this raises an error, the agent must be discarded.
        """
        ...
