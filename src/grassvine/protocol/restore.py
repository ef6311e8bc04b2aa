"""The gate for what an agent is told of its past: the right names and shapes, and numbers."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import MessageError
from grassvine.protocol.message import Shapes

# An agent may be brought back on a machine of another kind, whose last bits differ, and the way of
# many log entries may magnify them; other data and missing log entries differ by more.
OTHER_MACHINE = 1e-6


def checked_arrays(arrays: Mapping[str, ArrayLike], shapes: Shapes, what: str) -> dict[str, Array]:
    """Return copies of the arrays, in the order and of the shapes that are given, or refuse them.

    ``what`` names them in the sentence that refuses.
    """
    if set(arrays) != set(shapes):
        raise MessageError(
            f"{what} holds {_listed(arrays)} where {_listed(shapes)} belong; "
            "give what the same agent of the same plan told."
        )
    found = {}
    for name, shape in shapes.items():
        numbers = as_numbers(arrays[name], name=f"{name!r} in {what}", error=MessageError)
        if numbers.shape != shape or np.isnan(numbers).any():
            raise MessageError(
                f"{name!r} in {what} is of shape {numbers.shape} where {shape} belongs, or holds "
                "NaN; give what the same agent of the same plan told."
            )
        found[name] = numbers.copy()
    return found


def require_equal_state(
    told: Mapping[str, Array], found: Mapping[str, ArrayLike], what: str
) -> None:
    """Refuse log entries that led elsewhere than a snapshot tells."""
    for name, value in found.items():
        counts = np.issubdtype(np.asarray(value).dtype, np.integer)
        slack = 0.0 if counts else OTHER_MACHINE * float(np.abs(told[name]).max(initial=0.0))
        if not np.allclose(told[name], value, rtol=0.0, atol=slack):
            raise MessageError(
                f"{name!r} in {what} is not what the log entries led to; give all of them as they "
                "were, in order and once each, to an agent of the same data."
            )


def as_counts(numbers: Array, what: str) -> list[int]:
    """Return numbers that count something, or refuse them."""
    if not ((numbers >= 0.0) & (numbers < 2.0**53) & (numbers % 1.0 == 0.0)).all():
        raise MessageError(
            f"{what} counts {numbers.tolist()}; give what the same agent of the same plan told."
        )
    return [int(number) for number in numbers]


def refuse_log_entries(log_entries: Iterable[Mapping[str, ArrayLike]], agent: int) -> None:
    """Refuse log entries for an agent whose snapshot tells everything."""
    if any(log_entries):
        raise MessageError(
            f"agent {agent} is told a log entry, but its snapshot tells all that it learned; "
            "give what the same agent of the same plan told."
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
