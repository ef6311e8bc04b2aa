"""Ratings of items by users, stored user by user.

Inside the library the axes are called *items* (shared: the axis of the subspace) and *users*
(private), never rows and columns.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.data.compression import compressed, narrowed, repetitions
from grassvine.data.passes import AT_ONCE, Values, counts_of, sums_of
from grassvine.foundations.arrays import MAX_SIZE, Array, Indices, as_numbers
from grassvine.foundations.errors import DataError, counted
from grassvine.foundations.options import whole_number

# Item indices are stored as int32; users have the same limit.
MAX_INDEX = 2**31 - 2
# Bounds on |rating|, for ratings other than 0: methods multiply up to six ratings, and a double
# reaches from 1e-308 to 1e308.
MIN_RATING = 1e-50
MAX_RATING = MAX_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """A sparse items×users matrix in compressed form.

    Use :meth:`from_arrays` to create one with validation.

    Attributes
    ----------
    n_items : int
        Number of items.
    starts : int64 array of shape (n_users + 1,)
        The entries of user j are ``values[starts[j]:starts[j + 1]]``.
    items : int32 array of shape (n_values,)
        Item of each entry, ascending within a user.
    stored : float32 or float64 array of shape (n_values,)
        The known entries: float32 if all of them are equal to float32 numbers.

    Examples
    --------
    >>> import grassvine as gv
    >>> ratings = gv.Ratings.from_arrays([0, 0, 2], [1, 0, 1], [4.0, 5.0, 1.0])
    >>> ratings.n_users, ratings.n_items, ratings.n_values
    (3, 2, 3)
    """

    n_items: int
    starts: Indices
    items: NDArray[np.int32]
    stored: Values

    @property
    def values(self) -> Array:
        """The known entries as float64, in which all arithmetic is done."""
        return self.stored.astype(np.float64, copy=False)

    @property
    def n_users(self) -> int:
        """Number of users, including those without ratings."""
        return len(self.starts) - 1

    @property
    def n_values(self) -> int:
        """Number of known entries, ``|Ω|``."""
        return len(self.stored)

    @property
    def density(self) -> float:
        """Known share of the table, ``p = |Ω| / (items · users)``."""
        return self.n_values / (self.n_items * self.n_users)

    def item_counts(self) -> Indices:
        """Return the number of entries of each item."""
        return counts_of(self.items, self.n_items)

    def item_sums(self, centre: float) -> Array:
        """Return the sum of the differences from a centre over the entries of each item."""
        return sums_of(self.items, self.stored, centre, self.n_items)

    def users_of_values(self) -> Indices:
        """Return the user of each entry, in the order of ``values``."""
        return np.repeat(np.arange(self.n_users), np.diff(self.starts))

    def counts_of(self, users: Indices) -> Indices:
        """Return the numbers of entries of some users; 0 or less for −1, which is no user."""
        return self.starts[users + 1] - self.starts[users]

    def take_users(self, first: int, last: int) -> "Ratings":
        """Return the ratings of users first … last−1, numbered from 0, as views of the entries."""
        if not 0 <= first <= last <= self.n_users:
            raise DataError(
                f"{first} … {last} is not a valid range of the {self.n_users} users; "
                "choose 0 ≤ first ≤ last ≤ n_users."
            )
        low, high = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - low
        return Ratings(self.n_items, starts, self.items[low:high], self.stored[low:high])

    def choose_users(self, users: Indices) -> "Ratings":
        """Return the ratings of the given users, renumbered in the given order."""
        if len(users) == 1 and self.items.flags.writeable and self.stored.flags.writeable:
            return self.take_users(int(users[0]), int(users[0]) + 1)  # much faster
        counts = self.counts_of(users)
        starts = np.concatenate(([0], np.cumsum(counts)))
        places = np.arange(starts[-1]) + np.repeat(self.starts[users] - starts[:-1], counts)
        return Ratings(self.n_items, starts, self.items[places], self.stored[places])

    def with_values(self, values: Values) -> "Ratings":
        """Return the same entries with other values."""
        return Ratings(self.n_items, self.starts, self.items, values)

    def shifted(self, offset: float) -> "Ratings":
        """Return the same entries with a constant added to each."""
        return self.with_values(self.values + offset)

    def take_values(self, chosen: NDArray[np.bool_]) -> "Ratings":
        """Return the entries selected by a mask; user and item indices stay the same."""
        starts = np.concatenate(([0], np.cumsum(chosen)))[self.starts]
        return Ratings(self.n_items, starts, self.items[chosen], self.stored[chosen])

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        values: ArrayLike,
        *,
        n_users: int | None = None,
        n_items: int | None = None,
    ) -> "Ratings":
        """Build ratings from one user index, item index and value per entry, in any order.

        Parameters
        ----------
        users, items : array-like of int
            Indices from 0.
        values : array-like of float
            The known entries; all finite.
        n_users, n_items : int, optional
            By default, one more than the largest index.
        """
        user = _numbers("user", users)
        item = _numbers("item", items)
        value = _finite(values)
        refuse_extreme(value, lambda k: f"at position {k}")
        if not len(user) == len(item) == len(value):
            raise DataError(
                f"got {len(user)} users, {len(item)} items and {len(value)} values; "
                "pass one of each per rating."
            )
        if len(value) == 0:
            raise DataError("there are no ratings; pass at least one.")
        n_users = _within("user", user, n_users)
        n_items = _within("item", item, n_items)
        # Sorting by (user, item) makes the result independent of the input order.
        columns = [
            user.astype(np.int32, copy=False),
            item.astype(np.int32, copy=False),
            narrowed(value),
        ]
        starts, sorted_items, stored = compressed(columns, n_users, n_items)
        _refuse_duplicates(starts, sorted_items)
        return cls(n_items, starts, sorted_items, stored)


def refuse_extreme(values: Values, place: Callable[[int], str], what: str = "rating") -> None:
    """Refuse ratings whose products would overflow or vanish; ignore those that are not finite.

    Parameters
    ----------
    place : function
        Returns the place of the k-th value in words, such as ``"in row 3"``.
    what : str, default="rating"
        What a value is, for the message.
    """
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE].astype(np.float64, copy=False)
        if some.min() >= MIN_RATING and some.max() <= MAX_RATING:
            continue
        sizes = np.abs(some)
        valid = (sizes >= MIN_RATING) & (sizes <= MAX_RATING) | (sizes == 0)
        extreme = np.flatnonzero(~valid & np.isfinite(some))
        if len(extreme):
            first = start + int(extreme[0])
            raise DataError(
                f"the {what} {values[first]:g} {place(first)} is not between {MIN_RATING:g} and "
                f"{MAX_RATING:g} in absolute value; correct it, or rescale all {what}s."
            )


def _numbers(axis: str, given: ArrayLike) -> NDArray[np.integer]:
    try:
        numbers = np.asarray(given)
    except ValueError as cause:
        raise DataError(
            f"the {axis} indices are not an array ({cause}); pass a 1-d array."
        ) from None
    if numbers.ndim != 1:
        raise DataError(f"the {axis} indices have {numbers.ndim} dimensions; pass a 1-d array.")
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise DataError(
            f"the {axis} indices are of type {numbers.dtype}; pass integers from 0, one per "
            "rating (ratings_from_arrays takes ids of other types)."
        )
    if numbers.size and numbers.max() > MAX_INDEX:
        raise DataError(
            f"the largest {axis} index is {numbers.max()}, above the limit of {MAX_INDEX}; "
            f"index only the {axis}s that occur, from 0."
        )
    return numbers if numbers.size else numbers.astype(np.int64)


def _finite(given: ArrayLike) -> Values:
    values: Values
    if type(given) is np.ndarray and given.dtype == np.float32:
        values = np.require(given, requirements=["C", "ALIGNED"])
    else:
        values = as_numbers(given, name="the list of ratings", error=DataError)
    if values.ndim != 1:
        raise DataError(f"the ratings have {values.ndim} dimensions; pass a 1-d array.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        positions = ", ".join(str(position) for position in bad[:3])
        raise DataError(
            f"{len(bad)} of {len(values)} ratings are NaN or infinite (at positions {positions}"
            f"{', …' if len(bad) > 3 else ''}); omit unknown entries."
        )
    return values


def _within(axis: str, numbers: NDArray[np.integer], count: int | None) -> int:
    low, high = int(numbers.min()), int(numbers.max())
    if count is None:
        count = max(high, 0) + 1
    else:
        count = whole_number(f"n_{axis}s", count, least=1, most=MAX_INDEX + 1, error=DataError)
    if low < 0 or high >= count:
        position = int(np.flatnonzero((numbers < 0) | (numbers >= count))[0])
        raise DataError(
            f"{axis} index {numbers[position]} at position {position} is out of range; "
            f"with {count} {axis}s, use indices from 0 to {count - 1}."
        )
    return count


def _refuse_duplicates(starts: Indices, items: NDArray[np.int32]) -> None:
    repeated = repetitions(starts, items)
    if len(repeated):
        users = np.searchsorted(starts, repeated, side="right") - 1
        examples = ", ".join(
            f"(user {user}, item {items[k]})" for user, k in zip(users[:3], repeated, strict=False)
        )
        raise DataError(
            f"{counted(len(repeated), 'rating repeats', 'ratings repeat')} an existing entry: "
            f"{examples}"
            f"{', …' if len(repeated) > 3 else ''}; keep one rating per user and item."
        )
