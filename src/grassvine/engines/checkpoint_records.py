"""Records inside checkpoint files, checked before they are used."""

from itertools import pairwise

from grassvine.protocol.report import StepReport

_REPORT_TYPES = StepReport.__annotations__

Segment = tuple[int, int]  # (epoch, slot) of a log file, which ends at that slot


def segments_of(given: object) -> tuple[Segment, ...]:
    """Return the segments of an untrusted document, or raise ValueError."""
    if not isinstance(given, list) or not all(
        isinstance(pair, list) and [type(number) for number in pair] == [int, int] for pair in given
    ):
        raise ValueError("its segments are not a list of epochs and slots")
    segments = tuple((epoch, slot) for epoch, slot in given)
    in_order = all(one[0] <= two[0] and one[1] < two[1] for one, two in pairwise(segments))
    if not in_order or any(epoch < 1 or slot < 1 for epoch, slot in segments):
        raise ValueError("its segments are not in order")
    return segments


def reports_of(given: object) -> list[StepReport]:
    """Return the reports of an untrusted document, or raise ValueError."""
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise ValueError("its reports are not a list of objects")
    for entry in given:
        if set(entry) != set(_REPORT_TYPES):
            raise ValueError("a report has other fields")
        for name, wanted in _REPORT_TYPES.items():
            value = entry[name]
            if type(value) is not wanted or (wanted is int and not -1 <= value < 2**63):
                raise ValueError(f"{name} of a report is {ascii(value)[:40]}")
    return [StepReport(**entry) for entry in given]
