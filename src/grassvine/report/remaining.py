"""The remaining time of an operation, estimated from its progress."""

import math
import time
from collections.abc import Callable

LEAST = 0.03  # the share from which the first estimate is made


class RemainingTime:
    """Estimates the remaining time; restarts when the share falls, as when another run begins."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._first_share = self._share = 0.0
        self._first_time: float | None = None

    def update(self, share: float) -> float:
        """Return the expected seconds until the share is 1, or NaN if unknown yet."""
        now = self._clock()
        if self._first_time is None or share < self._share:
            self._first_time, self._first_share = now, share
        self._share = share
        gained = share - self._first_share
        if gained < LEAST or share >= 1.0:
            return math.nan
        return (now - self._first_time) * (1.0 - share) / gained


def in_words(seconds: float) -> str:
    """Return a rough duration in words, such as ``about 3 min left``; empty if unknown."""
    if not math.isfinite(seconds):
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return (
        f"about {round(seconds / 60)} min left"
        if seconds < 5400
        else (f"about {seconds / 3600:.1f} h left")
    )
