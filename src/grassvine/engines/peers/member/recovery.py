"""The state of a member without a timetable, from the records since the last checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from grassvine.engines.peers.member.outbox import Outbox
from grassvine.engines.peers.member.pairing import Meeting, Note, Pairing, Reply
from grassvine.engines.peers.member.records import (
    Incoming,
    LinkCounts,
    NeighbourFinished,
    Record,
    Sent,
)


@dataclass
class Recovery:
    """What :meth:`read` has found.

    Attributes
    ----------
    n_meetings : int
        How many meetings there were before the checkpoint.
    n_received : dict of int
        How many messages of each neighbour are on disk.
    finished : set of int
        The neighbours known to have finished.
    meetings : list of Meeting
        The meetings since the checkpoint.
    """

    n_meetings: int
    n_received: dict[int, int]
    finished: set[int] = field(default_factory=set)
    meetings: list[Meeting] = field(default_factory=list)

    def read(self, records: Sequence[Record], outbox: Outbox, pairing: Pairing) -> None:
        """Go through all messages again, in the order in which they were written."""
        pairing.updates = self.n_meetings
        for record in records:
            meeting = None
            match record:
                case LinkCounts(neighbour, sent, received, left):
                    outbox.count(neighbour, sent)
                    self.n_received[neighbour] = received
                    pairing.left[neighbour] = left
                case Sent(receiver, _, payload):
                    if outbox.recover(record):
                        note = Note.decode(payload)
                        made = Reply(receiver, note.kind, note.offer)
                        meeting = pairing.sent(made, note.fewest)
                case Incoming(sender, _, payload):
                    self.n_received[sender] += 1
                    meeting = pairing.received(sender, Note.decode(payload))
                case NeighbourFinished(neighbour):
                    self.finished.add(neighbour)
            if meeting is not None:
                self.meetings.append(meeting)
                pairing.met(self.n_meetings + len(self.meetings))
