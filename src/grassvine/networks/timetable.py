"""Timetables: who sends to whom at every slot, drawn completely before slot 0."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.files import write_whole
from grassvine.foundations.options import whole_number

Edge = tuple[int, int]  # an undirected link, the smaller agent first
Delivery = tuple[int, int]  # sender, receiver

FORMAT = "grassvine timetable 1"
_KINDS = {
    "n_agents": ("<i8", 1),
    "offsets": ("<i8", 1),
    "senders": ("<i4", 1),
    "receivers": ("<i4", 1),
}

# A timetable takes about 30 bytes per slot and per delivery.
MAX_SIZE = 10**8


def check_slots(n_slots: int, n_deliveries: int) -> None:
    """Check the size of a timetable before it is drawn; ``n_deliveries`` is that of one slot."""
    size = whole_number("n_slots", n_slots, least=0) * max(n_deliveries, 1)
    if size > MAX_SIZE:
        raise NetworkError(
            f"the run would have {min(n_slots, MAX_SIZE)} or more rounds of up to {n_deliveries} "
            f"messages, more than {MAX_SIZE} in all; choose a smaller max_iter."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Timetable:
    """The deliveries of each slot, ordered by receiver, then sender.

    A meeting of two agents is two deliveries, one each way; methods may also send one way only.
    The deliveries of slot k are those from ``offsets[k]`` to ``offsets[k + 1]``.

    Examples
    --------
    >>> from grassvine.networks import Timetable
    >>> timetable = Timetable.from_meetings(3, [[(0, 1)], [(1, 2)]])
    >>> timetable.n_slots
    2
    >>> timetable.meetings(1)
    [(1, 2)]
    """

    n_agents: int
    offsets: NDArray[np.int64]
    senders: NDArray[np.int32]
    receivers: NDArray[np.int32]

    @property
    def n_slots(self) -> int:
        """The number of slots."""
        return len(self.offsets) - 1

    def deliveries(self, slot: int) -> list[Delivery]:
        """Return the (sender, receiver) pairs of a slot."""
        if not 0 <= slot < self.n_slots:
            raise IndexError(f"slot {slot} is out of range for a timetable of {self.n_slots} slots")
        here = slice(self.offsets[slot], self.offsets[slot + 1])
        return list(zip(self.senders[here].tolist(), self.receivers[here].tolist(), strict=True))

    def inboxes(self, slot: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return each receiver of a slot with its senders, in ascending order."""
        inboxes: dict[int, list[int]] = {}
        for sender, receiver in self.deliveries(slot):
            inboxes.setdefault(receiver, []).append(sender)
        return [(receiver, tuple(senders)) for receiver, senders in inboxes.items()]

    def meetings(self, slot: int) -> list[Edge]:
        """Return the pairs of agents that exchange messages at a slot, in either direction."""
        return sorted({(min(pair), max(pair)) for pair in self.deliveries(slot)})

    def meetings_of(self, agent: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each slot at which an agent receives messages, with the senders."""
        mine = np.flatnonzero(self.receivers == agent)
        slots = np.searchsorted(self.offsets, mine, side="right") - 1
        pairs = zip(slots.tolist(), self.senders[mine].tolist(), strict=True)
        for slot, group in groupby(pairs, key=lambda pair: pair[0]):
            yield slot, tuple(sender for _, sender in group)

    def rearranged(self, slots: NDArray[np.int64]) -> "Timetable":
        """Return a timetable with the given slots of this one, in that order; slots may repeat."""
        lengths = np.diff(self.offsets)[slots]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # The k-th delivery of a new slot is the k-th of the old one.
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[slots] - offsets[:-1], lengths)
        return Timetable(self.n_agents, offsets, self.senders[places], self.receivers[places])

    def digest(self) -> str:
        """Return the SHA-256 digest of the timetable."""
        sha = hashlib.sha256(f"{FORMAT} {self.n_agents} {self.n_slots}".encode())
        sha.update(self.offsets.astype("<i8").tobytes())
        sha.update(self.senders.astype("<i4").tobytes())
        sha.update(self.receivers.astype("<i4").tobytes())
        return sha.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timetable and its digest to a safetensors file, atomically."""
        arrays: dict[str, NDArray[np.generic]] = {
            "n_agents": np.array([self.n_agents], dtype=np.int64),
            "offsets": self.offsets,
            "senders": self.senders,
            "receivers": self.receivers,
        }
        write_whole(path, save(arrays, metadata={"format": FORMAT, "digest": self.digest()}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Timetable":
        """Read a timetable written by :meth:`save`; an altered file is rejected."""
        name = os.fspath(path)
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except FileNotFoundError:
            raise NetworkError(
                f"{name} does not exist; pass a file written by Timetable.save."
            ) from None
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as cause:
            raise NetworkError(
                f"{name} is not a timetable ({cause}); pass a file written by Timetable.save."
            ) from None
        kinds = {key: (array.dtype.str, array.ndim) for key, array in arrays.items()}
        if metadata.get("format") != FORMAT or kinds != _KINDS:
            raise NetworkError(
                f"{name} is a safetensors file but not a '{FORMAT}'; pass a file written by "
                "Timetable.save."
            )
        if (table := cls._checked(**arrays)) is None or table.digest() != metadata.get("digest"):
            raise NetworkError(
                f"{name} was altered after it was saved: its digest differs; save the timetable "
                "of the run again."
            )
        return table

    @classmethod
    def _checked(
        cls,
        n_agents: NDArray[np.int64],
        offsets: NDArray[np.int64],
        senders: NDArray[np.int32],
        receivers: NDArray[np.int32],
    ) -> "Timetable | None":
        """Build a timetable from untrusted arrays; return None if they are invalid."""
        in_order = len(offsets) > 0 and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
        if not in_order or len(n_agents) != 1 or {len(senders), len(receivers)} != {offsets[-1]}:
            return None
        pairs = list(zip(senders.tolist(), receivers.tolist(), strict=True))
        slots = [pairs[one:other] for one, other in pairwise(offsets.tolist())]
        try:
            return cls.from_deliveries(int(n_agents[0]), slots)
        except NetworkError:
            return None

    @classmethod
    def from_deliveries(cls, n_agents: int, slots: Iterable[Sequence[Delivery]]) -> "Timetable":
        """Build a timetable from the deliveries of each slot, in any order within the slot."""
        ordered = [sorted(slot, key=lambda delivery: (delivery[1], delivery[0])) for slot in slots]
        flat = np.array([pair for slot in ordered for pair in slot], dtype=np.int32).reshape(-1, 2)
        if flat.size and not (flat.min() >= 0 and flat.max() < n_agents):
            raise NetworkError(
                f"a delivery names agent {flat.max() if flat.max() >= n_agents else flat.min()}; "
                f"agents are numbered from 0 to {n_agents - 1}."
            )
        if any(one == other for slot in ordered for one, other in pairwise(slot)):
            raise NetworkError("a slot repeats a delivery; list each sender and receiver once.")
        offsets = np.cumsum([0, *(len(slot) for slot in ordered)], dtype=np.int64)
        return cls(n_agents, offsets, flat[:, 0].copy(), flat[:, 1].copy())

    @classmethod
    def from_meetings(cls, n_agents: int, slots: Iterable[Sequence[Edge]]) -> "Timetable":
        """Build a timetable from the meetings of each slot; both sides of a meeting send."""
        both_ways = ([d for i, j in slot for d in ((i, j), (j, i))] for slot in slots)
        return cls.from_deliveries(n_agents, both_ways)
