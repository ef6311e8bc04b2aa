"""Ratings of further users, brought into the numbers of a model's items and joined to its own."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, PlanError, unknown
from grassvine.models.rating_parts import ItemPart, UserPart

UnknownItems: TypeAlias = Literal["raise", "leave out"]


def in_catalogue(
    shared: ItemPart, users: Ids, items: Ids, ratings: Ratings, unknown_items: UnknownItems
) -> tuple[Ratings, int]:
    """Return ratings by the numbers of the model's items, and how many had to be left out."""
    if unknown_items not in get_args(UnknownItems):
        raise PlanError(unknown("unknown_items", unknown_items, get_args(UnknownItems)))
    if (len(users), len(items)) != (ratings.n_users, ratings.n_items):
        raise DataError(
            f"there are ids of {len(users)} users and {len(items)} items, but ratings of "
            f"{ratings.n_users} and {ratings.n_items}; give one id each."
        )
    number = shared.items.numbers(items.series, "item")[ratings.items]
    here = (number != UNKNOWN) & (shared.counts[number] > 0)
    left_out = int(np.count_nonzero(~here))
    if left_out and unknown_items == "raise":
        few = items.at(np.unique(ratings.items[~here])[:3]).to_list()
        raise DataError(
            f"{left_out} of {len(here)} ratings are of items that the model does not know "
            f"(such as {', '.join(map(repr, few))}); leave them out, or choose "
            "unknown_items='leave out'."
        )
    if not here.any():
        raise DataError(
            f"none of the {len(here)} ratings is of an item that the model knows, so it can say "
            "nothing of these users; give ratings of items that it was fitted to."
        )
    table = Ratings.from_arrays(
        ratings.users_of_values()[here],
        number[here],
        ratings.values[here],
        n_users=ratings.n_users,
        n_items=len(shared.items),
    )
    return table, left_out


def joined(shared: ItemPart, old: UserPart, users: Ids, new: Ratings) -> UserPart:
    """Return the users of both; who has new ratings is solved anew from old and new together."""
    import polars as pl

    old.users.numbers(users.series, "user")  # refuses ids of another type
    both = pl.concat([old.users.series, users.series.cast(old.users.series.dtype)])
    ids, number = Ids.number(both, "user")
    of_old, of_new = number[: len(old.users)], number[len(old.users) :]
    seen = _joined_ratings(old.seen, new, of_old, of_new, len(ids))
    touched = np.zeros(len(ids), dtype=bool)
    touched[of_new] = True
    weights, biases = shared.solve(seen.take_values(touched[seen.users_of_values()]))
    same = ~touched[of_old]
    weights[of_old[same]], biases[of_old[same]] = old.weights[same], old.biases[same]
    return UserPart(ids, weights, biases, seen)


def _joined_ratings(
    old: Ratings, new: Ratings, of_old: Indices, of_new: Indices, n_users: int
) -> Ratings:
    """Return all ratings by new numbers of the users; a new one replaces an old one."""
    by_old, by_new = of_old[old.users_of_values()], of_new[new.users_of_values()]
    replaced = np.isin(by_old * new.n_items + old.items, by_new * new.n_items + new.items)
    return Ratings.from_arrays(
        np.concatenate([by_old[~replaced], by_new]),
        np.concatenate([old.items[~replaced], new.items]),
        np.concatenate([old.values[~replaced], new.values]),
        n_users=n_users,
        n_items=new.n_items,
    )
