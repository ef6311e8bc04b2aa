"""Ratings of items by users, kept user by user.

Inside the library the axes are *items* (shared: the subspace lives here) and *users* (private),
never rows and columns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.foundations.arrays import Array, Indices, as_numbers
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number

# Item numbers are kept as int32; a table with more users than this is not one agent's.
MOST = 2**31 - 2


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """A sparse items×users table in compressed form.

    The entries of user j are ``values[starts[j]:starts[j + 1]]``, at ``items[...]`` in ascending
    order. Build one with :meth:`from_arrays`, which checks its input.
    """

    n_items: int
    starts: Indices
    items: NDArray[np.int32]
    values: Array

    @property
    def n_users(self) -> int:
        """The number of users, those without a rating included."""
        return len(self.starts) - 1

    @property
    def n_values(self) -> int:
        """The number of known entries, |Ω|."""
        return len(self.values)

    @property
    def density(self) -> float:
        """The known share of the table, p = |Ω| / (items · users)."""
        return self.n_values / (self.n_items * self.n_users)

    def users_of_values(self) -> Indices:
        """The user of each entry, in the order of ``values``."""
        return np.repeat(np.arange(self.n_users), np.diff(self.starts))

    def take_users(self, first: int, last: int) -> "Ratings":
        """The ratings of users first … last−1, numbered from 0; no copy of the entries."""
        if not 0 <= first <= last <= self.n_users:
            raise DataError(
                f"users {first} … {last} are not a range of the {self.n_users} users; "
                "choose 0 ≤ first ≤ last ≤ n_users."
            )
        low, high = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - low
        return Ratings(self.n_items, starts, self.items[low:high], self.values[low:high])

    def choose_users(self, users: Indices) -> "Ratings":
        """The ratings of some users, numbered anew in the order in which they are given."""
        counts = np.diff(self.starts)[users]
        starts = np.concatenate(([0], np.cumsum(counts)))
        places = np.arange(starts[-1]) + np.repeat(self.starts[users] - starts[:-1], counts)
        return Ratings(self.n_items, starts, self.items[places], self.values[places])

    def shifted(self, offset: float) -> "Ratings":
        """The same entries with a number added to each."""
        return Ratings(self.n_items, self.starts, self.items, self.values + offset)

    def take_values(self, chosen: NDArray[np.bool_]) -> "Ratings":
        """The chosen ones of the entries; users and items keep their numbers."""
        starts = np.concatenate(([0], np.cumsum(chosen)))[self.starts]
        return Ratings(self.n_items, starts, self.items[chosen], self.values[chosen])

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
        """Build ratings from one user number, item number and value per entry, in any order.

        Parameters
        ----------
        users, items : array-like of int
            Numbers from 0. Where ``n_users`` or ``n_items`` is not given, the largest one counts.
        values : array-like of float
            The known entries; all finite.
        """
        user = _numbers("user", users)
        item = _numbers("item", items)
        value = _finite(values)
        if not len(user) == len(item) == len(value):
            raise DataError(
                f"there are {len(user)} users, {len(item)} items and {len(value)} values; "
                "give one of each per rating."
            )
        if len(value) == 0:
            raise DataError("there is no rating at all; give at least one.")
        n_users = _within("user", user, n_users)
        n_items = _within("item", item, n_items)
        # One sort by (user, item) makes the result independent of the order of the rows.
        order = order_of_entries(user, item, n_items)
        user, item, value = user[order], item[order], value[order]
        _refuse_duplicates(user, item)
        starts = np.zeros(n_users + 1, dtype=np.int64)
        np.cumsum(np.bincount(user, minlength=n_users), out=starts[1:])
        return cls(n_items, starts, item.astype(np.int32), value)


def order_of_entries(user: Indices, item: Indices, n_items: int) -> Indices:
    """Return the places of the entries by user, then by item, then as given.

    One key for both is several times as fast as ``numpy.lexsort``, and below 2⁶² as both numbers
    are below 2³¹.
    """
    return np.argsort(user * n_items + item, kind="stable")


def _numbers(axis: str, given: ArrayLike) -> Indices:
    try:
        numbers = np.asarray(given)
    except ValueError as cause:
        raise DataError(f"the {axis} numbers are no array ({cause}); give a 1-d array.") from None
    if numbers.ndim != 1:
        raise DataError(f"the {axis} numbers have {numbers.ndim} axes; give a 1-d array.")
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise DataError(
            f"the {axis} numbers are of type {numbers.dtype}; give whole numbers from 0, "
            f"one per rating (number the {axis}s first)."
        )
    if numbers.size and numbers.max() > MOST:
        raise DataError(
            f"the largest {axis} number is {numbers.max()}, more than {MOST}; "
            f"number only the {axis}s that occur, from 0."
        )
    return numbers.astype(np.int64)


def _finite(given: ArrayLike) -> Array:
    values = as_numbers(given, name="the list of ratings", error=DataError)
    if values.ndim != 1:
        raise DataError(f"the ratings have {values.ndim} axes; give a 1-d array.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        places = ", ".join(str(place) for place in bad[:3])
        raise DataError(
            f"{len(bad)} of {len(values)} ratings are NaN or infinite (at positions {places}"
            f"{', …' if len(bad) > 3 else ''}); leave unknown entries out."
        )
    return values


def _within(axis: str, numbers: Indices, count: int | None) -> int:
    low, high = int(numbers.min()), int(numbers.max())
    if count is None:
        count = max(high, 0) + 1
    else:
        count = whole_number(f"n_{axis}s", count, least=1, most=MOST + 1, error=DataError)
    if low < 0 or high >= count:
        place = int(np.flatnonzero((numbers < 0) | (numbers >= count))[0])
        raise DataError(
            f"{axis} number {numbers[place]} at position {place} is out of range; "
            f"with {count} {axis}s the numbers run from 0 to {count - 1}."
        )
    return count


def _refuse_duplicates(user: Indices, item: Indices) -> None:
    again = np.flatnonzero((user[1:] == user[:-1]) & (item[1:] == item[:-1]))
    if len(again):
        examples = ", ".join(f"(user {user[k]}, item {item[k]})" for k in again[:3])
        raise DataError(
            f"{len(again)} ratings repeat an entry that is there already: {examples}"
            f"{', …' if len(again) > 3 else ''}; keep one rating per user and item."
        )
