"""A fitted model of ratings: predict, recommend, and solve further users without learning anew."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import UNKNOWN, Ids, as_column
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.models.fold_in import UnknownItems, in_catalogue, joined
from grassvine.models.ranking import best, best_items
from grassvine.models.rating_parts import ItemPart, UserPart
from grassvine.models.unknown import OnUnknown, as_choice, refuse_unknown

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A rating for each pair, and whether both its user and its item are known to the model."""

    ratings: Array
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class FoldIn:
    """A model with users solved from new ratings, and how many of those were left out."""

    model: "RatingsModel"
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class RatingsModel:
    """What was learned from ratings.

    Users and items are met by their ids. *Known* is an item that somebody has rated, and a user who
    has rated something. Without its private part a model knows no users, but can fold them in.
    """

    shared: ItemPart
    private: UserPart | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if self.private is None:
            return
        here = len(self.shared.items), self.shared.rank
        there = self.private.seen.n_items, self.private.weights.shape[1]
        if here != there:
            raise DataError(
                f"the shared part has {here[0]} items and rank {here[1]}, the private part "
                f"{there[0]} and {there[1]}; give parts of one model."
            )

    def predict(self, users: object, items: object, on_unknown: OnUnknown = "raise") -> Predictions:
        """Predict a rating for each pair of a user and an item.

        Parameters
        ----------
        users, items : list, array or series of ids
            One of each a pair.
        on_unknown : {"raise", "nan", "fallback"}
            For pairs that are not known; ``"fallback"`` is the centre, with the offset of the item
            and the bias of the user where one of them is known.
        """
        as_choice(on_unknown)
        asked_users, asked_items = as_column(users, "user"), as_column(items, "item")
        if len(asked_users) != len(asked_items):
            raise DataError(
                f"there are {len(asked_users)} users and {len(asked_items)} items; "
                "give one of each per pair."
            )
        user, item = self._users(asked_users, on_unknown), self._items(asked_items, on_unknown)
        has_user, has_item = user != UNKNOWN, item != UNKNOWN
        known = has_user & has_item
        ratings = np.full(len(user), self.shared.centre)
        ratings[has_item] += self.shared.item_biases[item[has_item]]
        if self.private is not None:
            ratings[has_user] += self.private.biases[user[has_user]]
            mine, its = user[known], item[known]
            # Column by column: factors of all pairs at once would take rank times the room.
            for of_item, of_user in zip(self.shared.factors.T, self.private.weights.T, strict=True):
                ratings[known] += of_item[its] * of_user[mine]
        ratings = self._clipped(ratings)
        if on_unknown == "nan":
            ratings[~known] = np.nan
        return Predictions(ratings, known)

    def recommend(
        self,
        users: object,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        on_unknown: OnUnknown = "raise",
    ) -> "pl.DataFrame":
        """Return the k items of highest predicted rating for each user.

        The columns are user, item, score, rank (from 1) and known. Items that nobody has rated are
        not recommended, so a user may get fewer than k. The score is what :meth:`predict` says.

        Parameters
        ----------
        exclude_seen : bool
            Leave out what a user has rated.
        on_unknown : {"raise", "nan", "fallback"}
            ``"fallback"`` recommends the items with most ratings; ``"nan"`` gives an unknown user
            one row without an item, of rank 0.
        """
        import polars as pl

        as_choice(on_unknown)
        asked = as_column(users, "user")
        user = self._users(asked, on_unknown)
        k = min(whole_number("k", k, least=1), len(self.shared.items))
        known = user != UNKNOWN
        items = np.full((len(user), k), UNKNOWN)
        scores = np.full((len(user), k), np.nan)
        if self.private is not None and known.any():
            mine = user[known]
            items[known], scores[known] = best_items(
                self.private.weights[mine],
                self.shared.factors,
                self._common(),
                k,
                (self.private.seen, mine) if exclude_seen else None,
            )
            scores[known] += self.private.biases[mine][:, None]
        if on_unknown == "fallback":
            items[~known], scores[~known] = self._popular(k)
        shown = items != UNKNOWN
        ranks = np.where(shown, np.arange(1, k + 1), 0)
        if on_unknown == "nan":
            shown[~known, 0] = True
        row, _ = np.nonzero(shown)
        return pl.DataFrame(
            {
                "user": asked.gather(row),
                "item": _ids_at(self.shared.items, items[shown]),
                "score": self._clipped(scores[shown]),
                "rank": ranks[shown],
                "known": known[row],
            }
        )

    def similar_items(self, item: object, k: int = 10) -> "pl.DataFrame":
        """Return the k items whose factors point most nearly the same way.

        The columns are item, similarity (the cosine) and rank (from 1).
        """
        import polars as pl

        number = self._items(as_column([item], "item"), "raise")[0]
        lengths = np.linalg.norm(self.shared.factors, axis=1)
        directions = self.shared.factors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        cosines = np.where(self.shared.counts > 0, directions @ directions[number], -np.inf)
        cosines[number] = -np.inf
        places, values = _best_of_one(cosines, k)
        ranks = np.arange(1, len(places) + 1)
        ids = self.shared.items.at(places)
        return pl.DataFrame({"item": ids, "similarity": values, "rank": ranks})

    def users_for(self, item: object, k: int = 10, *, exclude_seen: bool = True) -> "pl.DataFrame":
        """Return the k users of highest predicted rating of an item (columns user, score, rank)."""
        import polars as pl

        number = self._items(as_column([item], "item"), "raise")[0]
        private = self._private("users_for")
        scores = private.weights @ self.shared.factors[number] + private.biases
        scores[private.counts == 0] = -np.inf
        if exclude_seen:
            scores[private.seen.users_of_values()[private.seen.items == number]] = -np.inf
        places, values = _best_of_one(
            scores + (self.shared.centre + self.shared.item_biases[number]), k
        )
        return pl.DataFrame(
            {
                "user": private.users.at(places),
                "score": self._clipped(values),
                "rank": np.arange(1, len(places) + 1),
            }
        )

    def fold_in(
        self, users: Ids, items: Ids, ratings: Ratings, unknown_items: UnknownItems = "raise"
    ) -> FoldIn:
        """Solve users from their ratings alone; nothing is learned anew.

        Parameters
        ----------
        users, items, ratings
            A table: the ids, and the ratings by their numbers.
        unknown_items : {"raise", "leave out"}
            What to do with ratings of items that the model does not know.
        """
        table, left_out = in_catalogue(self.shared, users, items, ratings, unknown_items)
        return FoldIn(replace(self, private=self.shared.users_from(users, table)), left_out)

    def with_users(
        self, users: Ids, items: Ids, ratings: Ratings, unknown_items: UnknownItems = "raise"
    ) -> FoldIn:
        """Return the model with these users besides its own; the arguments are :meth:`fold_in`'s.

        A user of the model keeps the ratings it has, a new one of the same item takes the place of
        the old, and it is solved from all of them. All other users keep their bits.
        """
        if self.private is None:
            return self.fold_in(users, items, ratings, unknown_items)
        table, left_out = in_catalogue(self.shared, users, items, ratings, unknown_items)
        private = joined(self.shared, self.private, users, table)
        return FoldIn(replace(self, private=private), left_out)

    def _users(self, asked: "pl.Series", on_unknown: OnUnknown) -> Indices:
        """Return numbers of users, ``UNKNOWN`` for those who have rated nothing."""
        if self.private is None:
            numbers, why = np.full(len(asked), UNKNOWN), "it was learned or loaded without users"
        else:
            numbers = self.private.users.numbers(asked, "user")
            numbers = np.where(self.private.counts[numbers] > 0, numbers, UNKNOWN)
            why = "it has no rating of theirs"
        if on_unknown == "raise":
            refuse_unknown("user", asked, numbers != UNKNOWN, why)
        return numbers

    def _items(self, asked: "pl.Series", on_unknown: OnUnknown) -> Indices:
        """Return numbers of items, ``UNKNOWN`` for those that nobody has rated."""
        numbers = self.shared.items.numbers(asked, "item")
        numbers = np.where(self.shared.counts[numbers] > 0, numbers, UNKNOWN)
        if on_unknown == "raise":
            refuse_unknown("item", asked, numbers != UNKNOWN, "nobody had rated them")
        return numbers

    def _private(self, wanted_for: str) -> UserPart:
        if self.private is None:
            raise DataError(
                f"{wanted_for} needs users, and this model was learned or loaded without them; "
                "fold users in, or load it with its private part."
            )
        return self.private

    def _common(self) -> Array:
        """Return μ₀ + c_i, −∞ for items that nobody has rated."""
        level = self.shared.centre + self.shared.item_biases
        return np.where(self.shared.counts > 0, level, -np.inf)

    def _popular(self, k: int) -> tuple[Indices, Array]:
        """Return the k items with most ratings, and what an unknown user may give them."""
        counts = self.shared.counts
        order = np.argsort(-counts, kind="stable")[:k]
        level = self.shared.centre + self.shared.item_biases[order]
        return np.where(counts[order] > 0, order, UNKNOWN), level

    def _clipped(self, ratings: Array) -> Array:
        return np.clip(ratings, self.shared.lowest, self.shared.highest)


def _best_of_one(scores: Array, k: int) -> tuple[Indices, Array]:
    places, values = best(scores[None, :], whole_number("k", k, least=1))
    there = places[0] != UNKNOWN
    return places[0][there], values[0][there]


def _ids_at(ids: Ids, numbers: Indices) -> "pl.Series":
    """Return ids of numbers, null for ``UNKNOWN``."""
    import polars as pl

    places = pl.Series(numbers)
    return ids.series.gather(places.set(places == UNKNOWN, None))
