"""The best items of users, found in blocks of users, so that memory is bounded for any number."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import UNKNOWN
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.options import whole_number
from grassvine.foundations.parallel import map_in_order, usable_cores
from grassvine.foundations.watch import Watch

BLOCK = 1 << 21  # scores per block: at most 16 MB, and as much for their order
SINGLE = 2.0**-24  # how far single precision is from a number, relative to it

Mask = NDArray[np.bool_]
Best = tuple[Indices, Array]  # users×k: numbers of items, padded with −1, and their scores


@dataclass(frozen=True, eq=False)
class ItemRows:
    """Rows of numbers per item; their products with the weights of users are scores.

    Parameters
    ----------
    rows : array of shape (n_items, n_numbers)
    """

    rows: Array

    @cached_property
    def directions(self) -> NDArray[np.float32]:
        """The rows divided by the length of the longest."""
        lengths = np.linalg.norm(self.rows, axis=1)
        return (self.rows / (lengths.max(initial=0.0) or 1.0)).astype(np.float32)

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """The same, one row per number: a product with one user's weights is faster then."""
        return np.ascontiguousarray(self.directions.T)

    def approximate(self, weights: Array) -> tuple[NDArray[np.float32], float]:
        """Return multiples of the scores of users in single precision, and a bound on their error.

        With ‖a‖ = 1 and ‖b‖ ≤ 1 both vectors are rounded, and their p products are rounded and
        added with a relative error of at most (p + 2)u, so the error is at most (p + 2)u Σ|a_k b_k|
        ≤ (p + 2)u; it is rounded up for terms in u² and to round bounds themselves.
        """
        from grassvine.models._kernels import units_of  # numba takes long to import

        columns = self.columns if len(weights) == 1 else self.directions.T
        products = units_of(weights) @ columns
        return products, (weights.shape[1] + 8) * SINGLE


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What is asked for each user.

    Parameters
    ----------
    k : int
        The number of items, at most that of all.
    allowed : bool array of shape (n_items,)
        Which items may be found.
    exclude_seen : bool
        Whether to leave out the user's own.
    """

    k: int
    allowed: Mask
    exclude_seen: bool

    def of_rows(self, items: ItemRows, weights: Array, own: Ratings) -> Best:
        """Return the items whose rows have the largest products with the weights of users.

        ``own`` are the entries of the users. The result does not depend on which users are asked
        for at once.
        """
        from grassvine.models._kernels import best_of_rows  # numba takes long to import

        approximate, error = items.approximate(weights)
        shape = len(weights), self.k
        found, scores = np.empty(shape, np.int64), np.empty(shape)
        best_of_rows(approximate, error, weights, items.rows, *self._excluded(own), found, scores)
        return found, scores

    def of_scores(self, scores: Array, own: Ratings) -> Best:
        """Return the items with the largest scores (users×items), which are changed."""
        from grassvine.models._kernels import best_of_scores

        shape = len(scores), self.k
        found, largest = np.empty(shape, np.int64), np.empty(shape)
        best_of_scores(scores, *self._excluded(own), found, largest)
        return found, largest

    def _excluded(self, own: Ratings) -> tuple[Indices, Indices, NDArray[np.int32]]:
        """Return the items excluded for all, and those of each user in compressed form."""
        starts = own.starts if self.exclude_seen else np.zeros_like(own.starts)
        return np.flatnonzero(~self.allowed), starts, own.items


def best_in_blocks(
    find: Callable[[Indices, Ratings], Best],
    seen: Ratings,
    users: Indices,
    wanted: Wanted,
    watch: Watch | None = None,
) -> Best:
    """Return the best items of users and their scores, from blocks of users by several threads.

    Parameters
    ----------
    find : function
        Returns the same of some users, from their numbers and their entries.
    seen : Ratings
        The entries of all users.
    users : array of int
    watch : callable, optional
        Called with the completed fraction.
    """
    size = max(1, BLOCK // len(wanted.allowed))
    firsts = range(0, len(users), size)

    def of_block(first: int) -> Best:
        some = users[first : first + size]
        return find(some, seen.choose_users(some))

    if len(firsts) == 1:
        found = [of_block(0)]
        if watch is not None:
            watch(1.0)
    else:
        found, threads = [], usable_cores()
        at_once = len(firsts) if watch is None else threads
        with one_blas_thread():
            for start in range(0, len(firsts), at_once):
                found += map_in_order(of_block, firsts[start : start + at_once], threads)
                if watch is not None:
                    watch(min(len(found) * size, len(users)) / len(users))
    if len(found) == 1:
        return found[0]
    items, scores = zip(*found, strict=True)
    return np.concatenate(items), np.concatenate(scores)


def of_known(find: Callable[[Indices], Best], users: Indices, k: int) -> Best:
    """Return what a function returns of known users; others get no items, and scores of NaN."""
    known = users != UNKNOWN
    if known.all() and len(users):
        return find(users)
    items, scores = np.full((len(users), k), UNKNOWN), np.full((len(users), k), np.nan)
    if known.any():
        items[known], scores[known] = find(users[known])
    return items, scores


def best(scores: Array, k: int) -> Best:
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


def best_in_row(scores: Array, k: int) -> Best:
    """Return the indices of the k largest finite scores of a vector, and the scores."""
    places, values = best(scores[None, :], whole_number("k", k, least=1))
    found = places[0] != UNKNOWN
    return places[0][found], values[0][found]


def entries(ratings: Ratings, users: Indices) -> tuple[Indices, Indices]:
    """Return the position in ``users`` and the item of each of their ratings."""
    firsts, counts = ratings.starts[users], np.diff(ratings.starts)[users]
    rows = np.repeat(np.arange(len(users)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, ratings.items[firsts[rows] + within].astype(np.int64)
