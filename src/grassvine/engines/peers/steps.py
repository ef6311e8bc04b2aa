"""The slots of one member, from the timetable of all."""

from dataclasses import dataclass

import numpy as np

from grassvine.networks.timetable import Timetable


@dataclass(frozen=True, slots=True)
class Step:
    """A slot at which a member sends to ``receivers`` and receives from ``senders``."""

    slot: int
    receivers: tuple[int, ...]
    senders: tuple[int, ...]


def steps_of(timetable: Timetable, member: int) -> list[Step]:
    """Return the slots at which a member sends or receives, in order."""
    own = np.flatnonzero((timetable.senders == member) | (timetable.receivers == member))
    slots = np.searchsorted(timetable.offsets, own, side="right") - 1
    receivers: dict[int, list[int]] = {}
    senders: dict[int, list[int]] = {}
    for slot, sender, receiver in zip(
        slots.tolist(),
        timetable.senders[own].tolist(),
        timetable.receivers[own].tolist(),
        strict=True,
    ):
        if sender == member:
            receivers.setdefault(slot, []).append(receiver)
        if receiver == member:
            senders.setdefault(slot, []).append(sender)
    return [
        Step(slot, tuple(receivers.get(slot, ())), tuple(sorted(senders.get(slot, ()))))
        for slot in sorted({*receivers, *senders})
    ]
