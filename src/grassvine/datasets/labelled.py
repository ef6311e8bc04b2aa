"""Ratings together with the ids under which users and items were published."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRatings:
    """Ratings, and the ids behind their numbers.

    User number k of the ratings is ``user_ids[k]``, item number i is ``item_ids[i]``. The ids are
    as given, in ascending order; only those that occur are numbered.
    """

    ratings: Ratings
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]

    @classmethod
    def from_columns(
        cls, users: ArrayLike, items: ArrayLike, values: ArrayLike
    ) -> "LabelledRatings":
        """Build ratings from one user id, item id and value per entry, in any order.

        Ids are whole numbers, strings or anything else that has an order.
        """
        user_ids, user = _number("user", users)
        item_ids, item = _number("item", items)
        return cls(Ratings.from_arrays(user, item, values), user_ids, item_ids)


def _number(axis: str, given: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ids that occur, ascending, and the place of each given id among them."""
    try:
        ids = np.asarray(given)
        if ids.dtype.kind in "iu" and ids.size and ids.min() >= 0 and ids.max() < ids.size:
            return _number_by_table(ids)
        known, numbers = np.unique(ids, return_inverse=True)
    except (TypeError, ValueError) as cause:
        raise DataError(
            f"the {axis} ids cannot be put in order ({cause}); give a 1-d array of one type."
        ) from None
    return known, numbers


def _number_by_table(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same without sorting, which for 100 million ratings takes a minute and gigabytes."""
    occurs = np.zeros(int(ids.max()) + 1, dtype=np.bool_)
    occurs[ids] = True
    numbers = np.cumsum(occurs, dtype=np.int64) - 1
    return np.flatnonzero(occurs).astype(ids.dtype), numbers.astype(np.int32)[ids]
