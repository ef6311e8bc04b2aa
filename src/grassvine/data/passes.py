"""Passes over the entries of a table, a part at a time.

A temporary array of float64 or int64 for all entries would take more memory than the table itself.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices

if TYPE_CHECKING:
    import hashlib

Values: TypeAlias = NDArray[np.float32] | Array

AT_ONCE = 2**20
# Sums of floats depend on how they are divided, so tables up to this size are not divided.
SUMMED_AT_ONCE = 2**21


def total(values: Values, function: Callable[[Array], Any]) -> float:
    """Return the sum of a function of the values, which gets a part of them as float64."""
    parts = range(0, max(len(values), 1), SUMMED_AT_ONCE)
    return sum(
        float(function(values[k : k + SUMMED_AT_ONCE].astype(np.float64, copy=False)))
        for k in parts
    )


def counts_of(items: NDArray[np.integer], n_items: int) -> Indices:
    """Return how often each item occurs."""
    counts = np.zeros(n_items, dtype=np.int64)
    for k in range(0, len(items), AT_ONCE):
        counts += np.bincount(items[k : k + AT_ONCE], minlength=n_items)
    return counts


def sums_of(items: NDArray[np.integer], values: Values, centre: float, n_items: int) -> Array:
    """Return the sum of the differences from a centre over the values of each item."""
    sums = np.zeros(n_items)
    for k in range(0, len(items), SUMMED_AT_ONCE):
        some = values[k : k + SUMMED_AT_ONCE].astype(np.float64, copy=False) - centre
        sums += np.bincount(items[k : k + SUMMED_AT_ONCE], some, minlength=n_items)
    return sums


def add_numbers(digest: "hashlib._Hash", numbers: NDArray[Any], kind: str) -> None:
    """Add numbers to a digest, as numbers of the given kind; −0 counts as 0."""
    for k in range(0, len(numbers), AT_ONCE):
        digest.update((numbers[k : k + AT_ONCE].astype(kind) + 0).astype(kind).tobytes())
