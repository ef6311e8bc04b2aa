"""The numbered messages to each neighbour, from when they are made until the neighbour has them."""

from collections.abc import Iterable, Mapping, Sequence

from grassvine.engines.peers.member.records import Sent
from grassvine.foundations.errors import CheckpointError


class Outbox:
    """Messages that are being written, and messages on disk; only these may be sent.

    Attributes
    ----------
    n_sent : dict of int
        How many messages there were to each neighbour, written or not.
    """

    def __init__(self, neighbours: Iterable[int], names: Sequence[str]):
        self._names = names
        self.n_sent = dict.fromkeys(neighbours, 0)
        self._unwritten: dict[int, dict[int, bytes]] = {one: {} for one in self.n_sent}
        self._on_disk: dict[int, dict[int, bytes]] = {one: {} for one in self.n_sent}
        self._n_on_disk = dict(self.n_sent)

    def add(self, receiver: int, payload: bytes) -> Sent:
        """Add a message, and return the record to write."""
        record = Sent(receiver, self.n_sent[receiver], payload)
        self.n_sent[receiver] += 1
        self._unwritten[receiver][record.number] = payload
        return record

    def written(self, record: Sent) -> None:
        """Note that a message is on disk."""
        self._on_disk[record.receiver][record.number] = self._unwritten[record.receiver].pop(
            record.number
        )
        self._n_on_disk[record.receiver] = record.number + 1

    def count(self, neighbour: int, n_sent: int) -> None:
        """Note how many messages there were before a checkpoint."""
        self.n_sent[neighbour] = self._n_on_disk[neighbour] = n_sent

    def recover(self, record: Sent) -> bool:
        """Take a message from disk; return whether it is one of after the last checkpoint."""
        receiver, number = record.receiver, record.number
        self._on_disk[receiver][number] = record.payload
        new = number == self.n_sent[receiver]
        if new:
            self.n_sent[receiver] = self._n_on_disk[receiver] = number + 1
        return new

    def on_disk(self, neighbour: int) -> Mapping[int, bytes]:
        """Return the messages that a neighbour may still need."""
        return self._on_disk[neighbour]

    def acknowledged(self, neighbour: int, up_to: int) -> None:
        """Forget what a neighbour has; it cannot have what was never sent."""
        if up_to > self._n_on_disk[neighbour]:
            raise CheckpointError(
                f"{self._names[neighbour]} already has message {up_to - 1}, which this member has "
                "not sent yet: its folder is older than the run; restore the newest one, or begin "
                "a new plan."
            )
        for number in [one for one in self._on_disk[neighbour] if one < up_to]:
            del self._on_disk[neighbour][number]

    def needed(self) -> list[Sent]:
        """Return all messages that some neighbour may still need, written or not."""
        return [
            Sent(neighbour, number, payload)
            for neighbour in self.n_sent
            for messages in (self._on_disk[neighbour], self._unwritten[neighbour])
            for number, payload in messages.items()
        ]
