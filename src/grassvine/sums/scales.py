"""The scales of fixed-point sums: exponents that all agents find by votes in sizing rounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, Words
from grassvine.foundations.errors import MessageError

STEP, N_LEVELS = 8, 9  # a window of levels is 2^b, 2^(b+8), …, 2^(b+64)
WINDOW = STEP * (N_LEVELS - 1)
FIRST_WINDOW = -16
ZERO = -(2**15)  # the exponent of an array of zeros


@dataclass(frozen=True, slots=True)
class Scaling:
    """What all agents know of the scales of a sum.

    Attributes
    ----------
    attempt : int
        The number of rounds before.
    exponents : tuple of int
        e of each array; meaningless where it is still sought.
    windows : tuple of int
        Empty unless this is a sizing round; then the lowest level b of each array whose e is
        sought, and ``ZERO`` for the others.
    """

    attempt: int
    exponents: tuple[int, ...]
    windows: tuple[int, ...]

    def sizing(self) -> "Scaling":
        """Return a search for all exponents, in the windows around the last ones."""
        windows = windows_around(self.exponents)
        return replace(self, attempt=self.attempt + 1, windows=windows)

    def found(self, votes: Words) -> "Scaling":
        """Return what is known after a sizing round.

        Parameters
        ----------
        votes : array of shape (number of arrays sought, 1 + N_LEVELS)
            Nonzero where anybody says yes: whether there is a nonzero number, and for each level.
        """
        exponents, windows = list(self.exponents), list(self.windows)
        sought = [place for place, window in enumerate(windows) if window != ZERO]
        for place, (nonzero, *levels) in zip(sought, votes != 0, strict=True):
            base = windows[place]
            if levels[-1]:
                windows[place] = base + WINDOW
                continue
            if nonzero and not any(levels):
                windows[place] = base - WINDOW
                continue
            highest = max((k for k, yes in enumerate(levels) if yes), default=-1)
            exponents[place] = base + STEP * (highest + 1) if nonzero else ZERO
            windows[place] = ZERO
        done = all(window == ZERO for window in windows)
        return Scaling(self.attempt + 1, tuple(exponents), () if done else tuple(windows))

    def as_numbers(self) -> Array:
        """Return everything as numbers."""
        return np.array([self.attempt, *self.exponents, *self.windows], dtype=np.float64)

    @classmethod
    def from_numbers(cls, numbers: ArrayLike, n_arrays: int, what: str) -> "Scaling":
        """Return what :meth:`as_numbers` wrote, or raise :class:`MessageError`."""
        values = [int(number) for number in np.ravel(numbers)]
        if len(values) not in (1 + n_arrays, 1 + 2 * n_arrays):
            raise MessageError(
                f"'scaling' in {what} has {len(values)} numbers for {n_arrays} arrays; pass the "
                "snapshot of the same agent and plan."
            )
        attempt, rest = values[0], values[1:]
        return cls(attempt, tuple(rest[:n_arrays]), tuple(rest[n_arrays:]))


def windows_around(exponents: Sequence[int]) -> tuple[int, ...]:
    """Return the windows of levels that contain exponents."""
    return tuple(
        FIRST_WINDOW if e == ZERO else FIRST_WINDOW + (e - STEP - FIRST_WINDOW) // WINDOW * WINDOW
        for e in exponents
    )


def top_of(array: Array) -> int:
    """Return the least p with |x| < 2^p for all numbers; ``ZERO`` if all are 0."""
    largest = float(np.abs(array).max(initial=0.0))
    return math.frexp(largest)[1] if largest else ZERO
