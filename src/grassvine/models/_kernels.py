"""The best items of users from rows of numbers per item and user, compiled once for all sizes.

A user's scores are the products of the user's weights with the rows of the items. They are known
approximately, in single precision, to ``error``. If the largest approximations of k chunks of the
items are at least t, then the k best scores are at least t − error, and the approximations of the
best k items at least t − 2·error; the scores of these few candidates are computed in double
precision. Of equal scores, that of the item with the lowest number comes first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from grassvine.foundations.arrays import Array, Indices
from grassvine.problems._kernels import _compiled, _inlined

# The sizes of chunks, and how many of them there should be for each item wanted.
SMALLEST_CHUNK, LARGEST_CHUNK, CHUNKS = 8, 64, 4

# Largest values vectorise where there is no NaN.
_inlined_without_nan: Callable[..., Any] = njit(
    forceinline=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "nnan"}
)


@_compiled
def best_of_rows(
    approximate: Any,
    error: float,
    weights: Array,
    rows: Array,
    excluded: Indices,
    starts: Indices,
    seen: Any,
    found: Indices,
    scores: Array,
) -> None:
    """Write the best items of each user and their scores, largest first; −1 where there are none.

    ``approximate`` (users×items) is changed: items that are excluded for all, or that a user has
    seen, get −∞.
    """
    n_items, k = approximate.shape[1], found.shape[1]
    size = max(SMALLEST_CHUNK, min(LARGEST_CHUNK, n_items // (CHUNKS * k)))
    largest = np.empty((n_items + size - 1) // size, np.float32)
    heap, places = np.empty(k), np.empty(k, np.int64)
    for user in range(len(approximate)):
        row, own = approximate[user], weights[user]
        for item in excluded:
            row[item] = -np.inf
        for entry in range(starts[user], starts[user + 1]):
            row[np.uint32(seen[entry])] = -np.inf
        heap[:], places[:] = -np.inf, n_items
        for chunk in range(len(largest)):
            value = _largest(row[chunk * size : (chunk + 1) * size])
            largest[chunk] = value
            if value > heap[0]:
                _replace_worst(heap, places, k, value, chunk)
        bound = np.float32(heap[0] - 2.0 * error)
        heap[:], places[:] = -np.inf, n_items
        for chunk in range(len(largest)):
            if largest[chunk] < bound or largest[chunk] == -np.inf:
                continue
            for place, value in enumerate(row[chunk * size : (chunk + 1) * size]):
                if value >= bound and value > -np.inf:
                    item = chunk * size + place
                    score = _product(own, rows[item])
                    if _worse(heap[0], places[0], score, item):
                        _replace_worst(heap, places, k, score, item)
        _write_sorted(heap, places, n_items, found[user], scores[user])


@_compiled
def best_of_scores(
    all_scores: Array, excluded: Indices, starts: Indices, seen: Any, found: Indices, scores: Array
) -> None:
    """Write the same from the scores of all items (users×items), which are changed likewise."""
    n_items, k = all_scores.shape[1], found.shape[1]
    heap, places = np.empty(k), np.empty(k, np.int64)
    for user in range(len(all_scores)):
        row = all_scores[user]
        for item in excluded:
            row[item] = -np.inf
        for entry in range(starts[user], starts[user + 1]):
            row[np.uint32(seen[entry])] = -np.inf
        heap[:], places[:] = -np.inf, n_items
        for item, score in enumerate(row):
            if score > -np.inf and _worse(heap[0], places[0], score, item):
                _replace_worst(heap, places, k, score, item)
        _write_sorted(heap, places, n_items, found[user], scores[user])


@_compiled
def add_rows(starts: Indices, items: Any, weights: Array, rows: Array, sums: Array) -> None:
    """Add the rows of each user's items, times weights, to the user's sums."""
    for user in range(len(sums)):
        total = sums[user]
        for entry in range(starts[user], starts[user + 1]):
            row, weight = rows[np.uint32(items[entry])], weights[entry]
            for a in range(len(total)):
                total[a] += weight * row[a]


@_inlined
def _write_sorted(
    heap: Array, places: Indices, n_items: int, found: Indices, scores: Array
) -> None:
    """Empty a heap into the items found and their scores, the worst first."""
    for rank in range(len(found) - 1, -1, -1):
        scores[rank] = heap[0]
        found[rank] = places[0] if places[0] < n_items else -1
        _replace_worst(heap, places, rank, heap[rank], places[rank])


@_compiled
def units_of(weights: Array) -> Any:
    """Return the weights of each user scaled to length 1, in single precision."""
    units = np.zeros(weights.shape, np.float32)
    for user in range(len(weights)):
        length = np.sqrt(_product(weights[user], weights[user]))
        if length > 0.0:
            for a in range(weights.shape[1]):
                units[user, a] = weights[user, a] / length
    return units


@_inlined_without_nan
def _largest(values: Any) -> Any:
    """Return the largest value."""
    found = np.float32(-np.inf)
    for value in values:
        found = max(found, value)
    return found


@_inlined
def _product(left: Array, right: Array) -> float:
    total = 0.0
    for a in range(len(left)):
        total += left[a] * right[a]
    return total


@_inlined
def _worse(score: float, item: int, than: float, other: int) -> bool:
    """Return whether an item comes after another one."""
    return score < than or (score == than and item > other)


@_inlined
def _replace_worst(heap: Array, places: Indices, count: int, score: float, item: int) -> None:
    """Replace the first entry, the worst, of a heap of so many."""
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _worse(
            heap[child + 1], places[child + 1], heap[child], places[child]
        ):
            child += 1
        if not _worse(heap[child], places[child], score, item):
            break
        heap[place], places[place] = heap[child], places[child]
        place = child
    if count:
        heap[place], places[place] = score, item
