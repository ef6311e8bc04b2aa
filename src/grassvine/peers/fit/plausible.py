"""Checks of totals, in place of checks of parts, which masks hide.

They find members whose numbers cannot come from data: by mistake, by another version, or on
purpose. A member who lies within what data could be is not found.
"""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError
from grassvine.sums.program import Subprogram, decide

ROUNDING = 1e-9  # relative; sums of floats and of integers are far more accurate


def require_plausible(holds: bool, what: str) -> Subprogram[None]:
    """Raise :class:`MessageError` at all members unless the condition holds at the root."""
    if not (yield from decide(bool(holds))):
        raise MessageError(
            f"the totals of all members contradict each other: {what}. Some member's numbers do "
            "not come from data as the plan says; compare versions and tables, and begin a new "
            "plan."
        )


def are_counts(*arrays: Array) -> bool:
    """Return whether all numbers are counts."""
    return all(bool(((array >= 0.0) & (array == np.round(array))).all()) for array in arrays)


def are_fourths(fourths: Array, count: float) -> bool:
    """Return whether sums of fourth powers are of so many numbers with variance 1, or of zeros."""
    slack = 1e-6  # of the variance, by which the numbers were divided
    fits = (fourths >= (1.0 - slack) * count) & (fourths <= (1.0 + slack) * count**2)
    return bool((fits | (fourths == 0.0)).all())


def within(value: float, lowest: float, highest: float) -> bool:
    """Return whether a number lies between two, up to rounding."""
    slack = ROUNDING * max(abs(lowest), abs(highest))
    return lowest - slack <= value <= highest + slack
