"""What a member asks of the walk of its agent, whoever decides whom the agent meets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from grassvine.engines.base import AgentFactory
from grassvine.engines.peers.member.effects import Effects
from grassvine.protocol.agent import Agent


@dataclass(frozen=True, slots=True)
class Link:
    """The link to a neighbour.

    Attributes
    ----------
    incoming, outgoing : sequences of int
        The slots at which the neighbour sends and receives, or the numbers of the messages.
    received : int
        All messages of the neighbour below this one are on disk, from before.
    """

    incoming: Sequence[int]
    outgoing: Sequence[int]
    received: int = 0


@dataclass(frozen=True, slots=True)
class Around:
    """What a member gives to a walk.

    Attributes
    ----------
    names : sequence of str
        The names of all members.
    effects : Effects
        Where to ask for computations and writes.
    checkpoint_bytes : int
        Write a checkpoint after this many bytes of messages.
    on_change : callable
        Called when the walk has moved, or has something to send.
    refuse : callable
        Called with a neighbour whose message is refused, and the reason.
    """

    names: Sequence[str]
    effects: Effects
    checkpoint_bytes: int
    on_change: Callable[[], None]
    refuse: Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class OwnClock:
    """What takes the place of a timetable.

    Attributes
    ----------
    neighbours : tuple of int
    meetings : int
        How many meetings it has with each of them.
    seed : int
        Seed of the choice of neighbours.
    """

    neighbours: tuple[int, ...]
    meetings: int
    seed: int = 0

    @property
    def updates(self) -> int:
        """How many updates the agent makes."""
        return len(self.neighbours) * self.meetings


class Met(NamedTuple):
    """A meeting of an agent: with whom, and how many updates the other one had made before."""

    neighbour: int
    updates: int


class Walk(Protocol):
    """An agent, whom it meets and when."""

    finished: bool
    finished_neighbours: set[int]  # known to have finished; this is on disk

    @property
    def links(self) -> Mapping[int, Link]:
        """The links to all neighbours, as they were at the start."""
        ...

    @property
    def meetings(self) -> Sequence[Met]:
        """The meetings so far, in order, unless a timetable says them beforehand."""
        ...

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        ...

    @property
    def slot(self) -> int:
        """Where the agent is."""
        ...

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """The neighbours without which the agent cannot go on."""
        ...

    def start(self, create: AgentFactory) -> None:
        """Create the agent, restore it from the journal, and begin."""
        ...

    def bound(self, neighbour: int, received: int, limit: int) -> int:
        """Return the largest size of the next message of a neighbour."""
        ...

    def deliver(self, neighbour: int, slot: int, payload: bytes, then: Callable[[], None]) -> None:
        """Write a message to the journal; then it may be acknowledged."""
        ...

    def n_waiting(self, neighbour: int) -> int:
        """Return how many messages of a neighbour wait until the agent can take them."""
        ...

    def note_finished(self, neighbour: int, then: Callable[[], None]) -> None:
        """Write that a neighbour has finished to the journal; then it may be confirmed."""
        ...

    def outgoing_to(self, neighbour: int) -> Mapping[int, bytes]:
        """Return the messages that a neighbour may still need; all are on disk."""
        ...

    def acknowledged(self, neighbour: int, up_to: int) -> None:
        """Forget what is no longer needed; all messages below are on the neighbour's disk.

        Raises :class:`CheckpointError` if the neighbour has what was never sent.
        """
        ...

    def connected(self, neighbour: int) -> None:
        """Note that both sides have accepted a connection."""
        ...

    def disconnected(self, neighbour: int) -> None:
        """Note that there is no connection; this may be told again."""
        ...
