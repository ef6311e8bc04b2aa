"""The rules by which members without a timetable find somebody to meet.

::

    idle ── offer ──> offering ── agreed ──> meeting ──> idle
      └──── answer ─> answered ── agreed ──> meeting

A member offers its basis to a neighbour, which answers with its own or says that it is busy. The
offerer decides: it agrees as soon as the answer is there, and may withdraw until then. So both
members record a meeting or none does, and who has answered waits for the outcome. Every link is
used the same number of times, so members who are slow, or come late, count as much as others.

Of two offers the one with fewer updates goes first, where those of the member that has fewer count:
so whoever is behind is not left out. Nothing here computes, sends or writes; the same messages in
the same order give the same state.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from numpy.random import Generator

from grassvine.engines.peers.member.conversation import Refused

_HEADER = struct.Struct("<BQQQ")  # kind, offer, updates, fewest
HEADER_BYTES = _HEADER.size


class Kind(IntEnum):
    """What a message says."""

    OFFER = 0
    ANSWER = 1
    BUSY = 2
    AGREED = 3
    WITHDRAWN = 4


class Phase(Enum):
    """What a member is doing."""

    IDLE = "idle"
    OFFERING = "offering"
    ANSWERED = "answered"
    MEETING = "meeting"


@dataclass(frozen=True, slots=True)
class Note:
    """A message between members that may meet.

    Attributes
    ----------
    kind : Kind
    offer : int
        The number of the offer among the messages of its link.
    updates : int
        How many updates the sender has made.
    body : bytes
        The sender's encoded message for the meeting; only in offers and answers.
    fewest : int
        For an offer, how many updates the one of the two that has fewer has made, as far as the
        sender knows.
    """

    kind: Kind
    offer: int
    updates: int = 0
    body: bytes = b""
    fewest: int = 0

    def encode(self) -> bytes:
        """Return the message as bytes."""
        return _HEADER.pack(self.kind, self.offer, self.updates, self.fewest) + self.body

    @classmethod
    def decode(cls, data: bytes) -> "Note":
        """Read a message; raises :class:`Refused` if it is none."""
        if len(data) < HEADER_BYTES or data[0] not in Kind.__members__.values():
            raise Refused("a message is neither an offer nor a reply to one; start again.")
        kind, offer, updates, fewest = _HEADER.unpack_from(data)
        return cls(Kind(kind), offer, updates, data[HEADER_BYTES:], fewest)


class Meeting(NamedTuple):
    """A meeting, as one of the two sees it: the other one, and what it has sent."""

    neighbour: int
    note: Note


class Reply(NamedTuple):
    """A message to send."""

    receiver: int
    kind: Kind
    offer: int


class Pairing:
    """What a member knows about itself and its neighbours.

    :meth:`replies` decides; :meth:`received` and :meth:`sent` change the state, so that going
    through all messages again restores it.

    Parameters
    ----------
    member : int
    neighbours : sequence of int
    meetings : int
        How often each link is used.

    Attributes
    ----------
    left : dict of int
        How many meetings are left with each neighbour.
    """

    def __init__(self, member: int, neighbours: Sequence[int], meetings: int):
        self.member = member
        self.left = dict.fromkeys(sorted(neighbours), meetings)
        self.phase = Phase.IDLE
        self.partner = self.offer = -1  # the offer that was made or answered
        self.updates = 0
        self._fewest = 0  # with the offer that was made
        self._known = dict.fromkeys(self.left, 0)  # updates of the neighbours
        self._linked: set[int] = set()
        self._busy: set[int] = set()  # those that said so since the last meeting
        self._refused: list[int] = []  # those to whom this member has said so
        self._latest = Note(Kind.BUSY, 0)
        self._theirs = self._latest  # the offer that was answered

    def replies(self, sender: int, number: int, note: Note, n_sent: int) -> list[Reply]:
        """Return the replies to a message; raises :class:`Refused` if it must not come now.

        ``number`` is that of the message, and ``n_sent`` how many were sent the other way.
        """
        match note.kind:
            case Kind.OFFER:
                return self._replies_to_offer(sender, number, note)
            case Kind.ANSWER | Kind.BUSY:
                if note.offer >= n_sent:
                    raise Refused("a reply to an offer that was never made; start again.")
                if note.kind is Kind.ANSWER and self._is(Phase.OFFERING, sender, note.offer):
                    return [Reply(sender, Kind.AGREED, note.offer)]
            case Kind.AGREED:
                if not self._is(Phase.ANSWERED, sender, note.offer):
                    raise Refused("an agreement without an answer before it; start again.")
            case Kind.WITHDRAWN:
                if note.offer >= number:
                    raise Refused("an offer is withdrawn that was never made; start again.")
        return []

    def received(self, sender: int, note: Note) -> Meeting | None:
        """Change the state by a message; return the meeting that begins, if any."""
        self._latest = note
        if note.kind in (Kind.OFFER, Kind.ANSWER):
            self._known[sender] = note.updates
        if note.kind is Kind.BUSY and self._is(Phase.OFFERING, sender, note.offer):
            self._busy.add(sender)
            self.phase = Phase.IDLE
        elif note.kind is Kind.WITHDRAWN and self._is(Phase.ANSWERED, sender, note.offer):
            self.phase = Phase.IDLE
        elif note.kind is Kind.AGREED:
            return self._begin(Meeting(sender, self._theirs))
        return None

    def sent(self, reply: Reply, fewest: int | None = None) -> Meeting | None:
        """Change the state by a message of this member; a reply follows what it replies to.

        ``fewest`` is what an offer said that was made before a restart. Both members must compare
        the same numbers, or each would call itself busy.
        """
        receiver, kind, offer = reply
        match kind:
            case Kind.OFFER | Kind.ANSWER:
                self.phase = Phase.OFFERING if kind is Kind.OFFER else Phase.ANSWERED
                self.partner, self.offer, self._theirs = receiver, offer, self._latest
                self._fewest = self.fewest(receiver) if fewest is None else fewest
                self._refused = [one for one in self._refused if one != receiver]
            case Kind.BUSY:
                # It is worth an offer later, whatever it said before: it has nobody yet.
                self._busy.discard(receiver)
                if receiver not in self._refused:
                    self._refused.append(receiver)
            case Kind.AGREED:
                return self._begin(Meeting(receiver, self._latest))
            case Kind.WITHDRAWN:
                if self._is(Phase.OFFERING, receiver, offer):
                    self.phase = Phase.IDLE
        return None

    def met(self, updates: int) -> None:
        """Note that the meeting is over."""
        self.phase, self.updates = Phase.IDLE, updates
        self._busy.clear()

    def connected(self, neighbour: int) -> None:
        """Note that a neighbour can be reached; what it did before does not count."""
        self._linked.add(neighbour)
        self._busy.discard(neighbour)
        self._refused = [one for one in self._refused if one != neighbour]

    def disconnected(self, neighbour: int) -> None:
        """Note that a neighbour cannot be reached."""
        self._linked.discard(neighbour)

    def to_withdraw(self) -> Reply | None:
        """Return the withdrawal of an offer to a neighbour that cannot be reached, if any."""
        if self.phase is Phase.OFFERING and self.partner not in self._linked:
            return Reply(self.partner, Kind.WITHDRAWN, self.offer)
        return None

    def choose(self, random: Generator) -> int | None:
        """Return the neighbour to make an offer to: first whoever was refused, else at random."""
        possible = [one for one in self.left if self._may_meet(one)]
        if not possible:
            return None
        refused: Iterable[int] = (one for one in self._refused if one in possible)
        return next(iter(refused), possible[int(random.integers(len(possible)))])

    def fewest(self, neighbour: int) -> int:
        """Return the number of updates of this member or the neighbour, whichever has fewer."""
        return min(self.updates, self._known[neighbour])

    def _begin(self, meeting: Meeting) -> Meeting:
        self.phase = Phase.MEETING
        self.left[meeting.neighbour] -= 1
        return meeting

    def _replies_to_offer(self, sender: int, number: int, note: Note) -> list[Reply]:
        if note.offer != number:
            raise Refused("an offer has the number of another message; start again.")
        if self.phase is Phase.ANSWERED and self.partner == sender:
            raise Refused("an offer comes before the outcome of the one before; start again.")
        if not self.left[sender]:
            raise Refused("an offer comes after the last meeting of the plan; start again.")
        answer = Reply(sender, Kind.ANSWER, number)
        if self.phase is Phase.IDLE:
            return [answer]
        first = (note.fewest, sender) < (self._fewest, self.member)
        if self.phase is Phase.OFFERING and first:
            return [Reply(self.partner, Kind.WITHDRAWN, self.offer), answer]
        return [Reply(sender, Kind.BUSY, number)]

    def _is(self, phase: Phase, partner: int, offer: int) -> bool:
        return (self.phase, self.partner, self.offer) == (phase, partner, offer)

    def _may_meet(self, neighbour: int) -> bool:
        linked = neighbour in self._linked and neighbour not in self._busy
        return linked and self.left[neighbour] > 0
