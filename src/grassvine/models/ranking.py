"""Top-k selection in blocks, so that memory is bounded for any number of users."""

import numpy as np

from grassvine.data.ids import UNKNOWN
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch

BLOCK = 1 << 21  # scores per block: 16 MB, and as much for their order


def best(scores: Array, k: int) -> tuple[Indices, Array]:
    """Return the columns of the k largest scores of each row, largest first, and the scores.

    Entries of −∞ are excluded: a row with fewer than k others is padded with ``UNKNOWN``.
    """
    n_columns = scores.shape[1]
    k = min(k, n_columns)
    places = np.argpartition(scores, n_columns - k, axis=1)[:, n_columns - k :]
    values = np.take_along_axis(scores, places, axis=1)
    order = np.lexsort((places, -values), axis=1)
    values = np.take_along_axis(values, order, axis=1)
    places = np.take_along_axis(places, order, axis=1)
    return np.where(np.isneginf(values), UNKNOWN, places), values


def best_in_row(scores: Array, k: int) -> tuple[Indices, Array]:
    """Return the indices of the k largest finite scores of a vector, and the scores."""
    places, values = best(scores[None, :], whole_number("k", k, least=1))
    found = places[0] != UNKNOWN
    return places[0][found], values[0][found]


def best_items(
    weights: Array,
    factors: Array,
    common: Array,
    k: int,
    excluded: tuple[Ratings, Indices] | None = None,
    watch: Watch | None = None,
) -> tuple[Indices, Array]:
    """Return the k items with the largest w·A_i + common_i for each user, and these values.

    Parameters
    ----------
    excluded : (Ratings, array of int), optional
        Ratings to exclude, and the index of each user in them.
    watch : callable, optional
        Called after each block with the completed fraction.
    """
    n_users, n_items = len(weights), len(factors)
    k, size = min(k, n_items), max(1, BLOCK // n_items)
    places, values = np.empty((n_users, k), dtype=np.int64), np.empty((n_users, k))
    for first in range(0, n_users, size):
        rows = slice(first, first + size)
        scores = weights[rows] @ factors.T
        scores += common
        if excluded is not None:
            ratings, numbers = excluded
            scores[entries(ratings, numbers[rows])] = -np.inf
        places[rows], values[rows] = best(scores, k)
        if watch is not None:
            watch(min(first + size, n_users) / n_users)
    return places, values


def entries(ratings: Ratings, users: Indices) -> tuple[Indices, Indices]:
    """Return the position in ``users`` and the item of each of their ratings."""
    firsts, counts = ratings.starts[users], np.diff(ratings.starts)[users]
    rows = np.repeat(np.arange(len(users)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, ratings.items[firsts[rows] + within].astype(np.int64)
