"""The slots of one member, from the timetable of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from grassvine.networks.timetable import Timetable


@dataclass(frozen=True, slots=True)
class Step:
    """A slot at which a member sends to ``receivers`` and receives from ``senders``."""

    slot: int
    receivers: tuple[int, ...]
    senders: tuple[int, ...]


class Steps(Sequence[Step]):
    """The slots at which a member sends or receives, in order.

    A timetable may have many more slots than a run passes through, so each step is made when it is
    asked for.
    """

    def __init__(self, timetable: Timetable, member: int):
        own = np.flatnonzero((timetable.senders == member) | (timetable.receivers == member))
        slots = np.searchsorted(timetable.offsets, own, side="right") - 1
        senders, receivers = timetable.senders[own], timetable.receivers[own]
        sends = senders == member
        others = np.where(sends, receivers, senders)
        self._slots, first = np.unique(slots, return_index=True)
        self._bounds = np.append(first, len(own))
        self._sends, self._others = sends, others
        self.incoming = _by_neighbour(others[~sends], slots[~sends])
        self.outgoing = _by_neighbour(others[sends], slots[sends])

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._slots)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        """Return a step, or several."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        here = slice(self._bounds[at], self._bounds[at + 1])
        others, sends = self._others[here], self._sends[here]
        return Step(
            int(self._slots[at]),
            tuple(others[sends].tolist()),
            tuple(sorted(others[~sends].tolist())),
        )

    def before(self, slot: int) -> int:
        """Return how many steps come before a slot."""
        return int(np.searchsorted(self._slots, slot))


def _by_neighbour(others: NDArray[np.int32], slots: NDArray[np.int64]) -> dict[int, list[int]]:
    return {other: slots[others == other].tolist() for other in np.unique(others).tolist()}
