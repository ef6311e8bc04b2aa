"""Match ratings of new users to the items of a model, and merge them with its own users."""

from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import choice
from grassvine.foundations.watch import Watch, part_of
from grassvine.models.ratings.parts import ItemPart, UserPart

UnknownItems: TypeAlias = Literal["raise", "drop"]
# The shares of the steps of a fold-in: new ratings matched to the items; with old ones, compared
# and merged with these. Measured with seven million ratings, of which a million were new.
MATCHED_ALONE = 0.5
MATCHED, COMPARED, MERGED = 0.05, 0.55, 0.95


class Catalogue(Protocol):
    """The items that a model knows: those with a positive count."""

    @property
    def items(self) -> Ids:
        """The ids of the items."""
        ...

    @property
    def counts(self) -> Indices:
        """The number of ratings or users of each item."""
        ...


def in_catalogue(
    shared: Catalogue, users: Ids, items: Ids, ratings: Ratings, unknown_items: UnknownItems
) -> tuple[Ratings, int]:
    """Return the ratings of items that the model knows, and the number of dropped ones."""
    choice("unknown_items", unknown_items, get_args(UnknownItems))
    if (len(users), len(items)) != (ratings.n_users, ratings.n_items):
        raise DataError(
            f"got {len(users)} user ids and {len(items)} item ids for ratings of "
            f"{ratings.n_users} users and {ratings.n_items} items; pass one id per user and item."
        )
    number = shared.items.numbers(items.series, "item")[ratings.items]
    known = (number != UNKNOWN) & (shared.counts[number] > 0)
    n_dropped = int(np.count_nonzero(~known))
    if n_dropped and unknown_items == "raise":
        few = items.at(np.unique(ratings.items[~known])[:3]).to_list()
        raise DataError(
            f"{n_dropped} of {len(known)} ratings are of items that the model does not know "
            f"(such as {', '.join(map(repr, few))}); drop them, or use ",
            Option("unknown_items", "drop"),
            ".",
        )
    if not known.any():
        raise DataError(
            f"none of the {len(known)} ratings is of an item that the model knows; pass ratings of "
            "items that it was fitted to."
        )
    table = Ratings.from_arrays(
        ratings.users_of_values()[known],
        number[known],
        ratings.values[known],
        n_users=ratings.n_users,
        n_items=len(shared.items),
    )
    return table, n_dropped


def joined(
    shared: ItemPart, old: UserPart, users: Ids, new: Ratings, watch: Watch | None = None
) -> UserPart:
    """Return old and new users together; users with new ratings are solved from all of theirs."""
    known = old.users.numbers(users.series, "user", users.owners)
    _refuse_several(old.users, users, known)
    added = np.flatnonzero(known == UNKNOWN)
    ids, number = old.users.merged(users.take(added))
    of_old, of_new = number[: len(old.users)], number[known]
    of_new[added] = number[len(old.users) :]
    seen = _joined_ratings(old.seen, new, of_old, of_new, len(ids), part_of(watch, 0.0, 1.0))
    touched = np.zeros(len(ids), dtype=bool)
    touched[of_new] = True
    solving = part_of(watch, MERGED, 1.0)
    solving(0.0)
    own = seen.take_values(touched[seen.users_of_values()])
    weights, biases = shared.solve(own, solving)
    kept = ~touched[of_old]
    weights[of_old[kept]], biases[of_old[kept]] = old.weights[kept], old.biases[kept]
    return UserPart(ids, weights, biases, seen)


def _refuse_several(old: Ids, new: Ids, known: Indices) -> None:
    """Refuse new users of several owners that would all be one user of the model."""
    found, counts = np.unique(known[known != UNKNOWN], return_counts=True)
    if (counts > 1).any():
        user = old.series[int(found[counts > 1][0])]
        raise DataError(
            f"user {user!r} has new ratings with several owners, but is one user of the model; "
            "rename or merge them."
        )


def _joined_ratings(
    old: Ratings, new: Ratings, of_old: Indices, of_new: Indices, n_users: int, watch: Watch
) -> Ratings:
    """Return all ratings with users renumbered; new ratings replace old ones."""
    by_old, by_new = of_old[old.users_of_values()], of_new[new.users_of_values()]
    replaced = np.isin(by_old * new.n_items + old.items, by_new * new.n_items + new.items)
    watch(COMPARED)
    return Ratings.from_arrays(
        np.concatenate([by_old[~replaced], by_new]),
        np.concatenate([old.items[~replaced], new.items]),
        np.concatenate([old.values[~replaced], new.values]),
        n_users=n_users,
        n_items=new.n_items,
    )
