"""The effects that a member has asked for, and what follows when they are done."""

from collections.abc import Callable

from grassvine.engines.peers.member.events import Compute, Effect, Persist
from grassvine.engines.peers.member.records import Record

Then = Callable[[object], None]


class Effects:
    """A queue of effects; those that report back have a ticket and a function to call then."""

    def __init__(self) -> None:
        self._queue: list[Effect] = []
        self._tickets = 0
        self._waiting: dict[int, Then] = {}

    def add(self, effect: Effect) -> None:
        """Ask for an effect."""
        self._queue.append(effect)

    def compute(self, function: Callable[[], object], then: Then) -> None:
        """Ask for a computation; ``then`` gets its result."""
        self.add(Compute(self._ticket(then), function))

    def persist(self, records: tuple[Record, ...], then: Then) -> None:
        """Ask for records to be written; ``then`` gets None."""
        self.add(Persist(self._ticket(then), records))

    def done(self, ticket: int, result: object = None) -> None:
        """Call what was to follow an effect."""
        self._waiting.pop(ticket)(result)

    def take(self) -> list[Effect]:
        """Return the effects asked for since the last call."""
        effects, self._queue = self._queue, []
        return effects

    def _ticket(self, then: Then) -> int:
        self._tickets += 1
        self._waiting[self._tickets] = then
        return self._tickets
