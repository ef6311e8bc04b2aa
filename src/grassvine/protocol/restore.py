"""Validation of log entries and snapshots."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import MessageError
from grassvine.protocol.message import Shapes

# An agent may be restored on a machine whose results differ in the last bits, and replaying many
# log entries may amplify this. Different data or missing log entries cause larger differences.
REPLAY_TOLERANCE = 1e-6


def checked_arrays(arrays: Mapping[str, ArrayLike], shapes: Shapes, what: str) -> dict[str, Array]:
    """Return copies of the arrays in the order of ``shapes``, or raise :class:`MessageError`.

    ``what`` names the arrays in the error message.
    """
    if set(arrays) != set(shapes):
        raise MessageError(
            f"{what} contains {_listed(arrays)}, not {_listed(shapes)}; "
            "pass what the same agent recorded under the same plan."
        )
    found = {}
    for name, shape in shapes.items():
        numbers = as_numbers(arrays[name], name=f"{name!r} in {what}", error=MessageError)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise MessageError(
                f"{name!r} in {what} has shape {numbers.shape}, not {shape}, or is not finite; "
                "pass what the same agent recorded under the same plan."
            )
        found[name] = numbers.copy()
    return found


def require_equal_state(
    recorded: Mapping[str, Array], found: Mapping[str, ArrayLike], what: str
) -> None:
    """Check that replaying the log entries has led to the recorded state."""
    for name, value in found.items():
        counts = np.issubdtype(np.asarray(value).dtype, np.integer)
        slack = 0.0 if counts else REPLAY_TOLERANCE * float(np.abs(recorded[name]).max(initial=0.0))
        if not np.allclose(recorded[name], value, rtol=0.0, atol=slack):
            raise MessageError(
                f"{name!r} in {what} does not match the replayed log entries; pass all of them in "
                "order, each once, to an agent with the same data."
            )


def as_counts(numbers: Array, what: str) -> list[int]:
    """Return numbers as non-negative ints, or raise :class:`MessageError`."""
    if not ((numbers >= 0.0) & (numbers < 2.0**53) & (numbers % 1.0 == 0.0)).all():
        raise MessageError(
            f"{what} contains the counts {numbers.tolist()}, which must be non-negative integers; "
            "pass what the same agent recorded under the same plan."
        )
    return [int(number) for number in numbers]


def refuse_log_entries(log_entries: Iterable[Mapping[str, ArrayLike]], agent: int) -> None:
    """Check that an agent which is restored from its snapshot alone gets no log entries."""
    if any(log_entries):
        raise MessageError(
            f"agent {agent} got a log entry but is restored from its snapshot alone; "
            "pass what the same agent recorded under the same plan."
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
