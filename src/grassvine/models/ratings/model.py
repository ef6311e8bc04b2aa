"""Fitted ratings models: predictions, recommendations and fold-in of new users."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import UNKNOWN, Ids, as_column
from grassvine.data.ratings import Ratings
from grassvine.foundations import picture
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.described import Described
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch, part_of
from grassvine.models.fold_in import (
    MATCHED,
    MATCHED_ALONE,
    UnknownItems,
    in_catalogue,
    joined,
)
from grassvine.models.known import item_numbers, owner_column, required_private, user_numbers
from grassvine.models.ranking.best import Best, Wanted, best_in_row, of_known
from grassvine.models.ranking.model import Explanation, explained
from grassvine.models.ranking.recommendations import (
    allowed_items,
    popular_items,
    recommendation_table,
)
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.models.ratings.deviations import deviations, deviations_of_level
from grassvine.models.ratings.new_items import with_new_rated_items
from grassvine.models.ratings.parts import ItemPart, UserPart
from grassvine.models.ratings.predictions import Predictions
from grassvine.models.ratings.scores import (
    Score,
    best_items,
    choices_of,
    popularity_of,
    ratings_beside,
    score_of,
)
from grassvine.models.unknown import (
    FALLBACK,
    OnUnknown,
    check_on_unknown,
    warn_unknown,
)
from grassvine.sums.implicit.problem import events_of

if TYPE_CHECKING:
    import polars as pl

WHY_USER = "it has no ratings by such users"
WHY_ITEM = "it has no ratings of such items"
PAIRS = 1 << 14  # of users and items, whose factors are in memory at once


@dataclass(frozen=True, slots=True, eq=False)
class FoldIn:
    """A model with users solved from new ratings, and the number of ratings that were dropped.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings).model_
    >>> new = gv.Ratings.from_arrays([0, 0], [0, 1], [5.0, 1.0])
    >>> ids = model.shared.items
    >>> users, _ = type(ids).number(["new"], "user")
    >>> added = model.fold_in(users, ids, new)
    >>> added.n_dropped, added.model.predict(["new"], [1]).known.tolist()
    (0, [True])
    """

    model: "RatingsModel"
    n_dropped: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RatingsModel(Described):
    """A model fitted to ratings.

    Users and items are identified by their ids. They are *known* if they have at least one rating.
    A model without a private part knows no users, but can fold them in. ``choices``, a part of what
    is shared, ranks items by what users choose to rate.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings).model_
    >>> model.predict([1, 2], [1, 1]).ratings.shape
    (2,)
    """

    shared: ItemPart
    private: UserPart | None = None
    choices: FactorScorer | None = None

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        if self.choices is not None and self.choices.n_items != len(self.shared.items):
            raise DataError(
                f"the choices are of {self.choices.n_items} items and the ratings of "
                f"{len(self.shared.items)}; pass two models of the same items."
            )
        if self.private is None:
            return
        shared = len(self.shared.items), self.shared.rank
        private = self.private.seen.n_items, self.private.weights.shape[1]
        if shared != private:
            raise DataError(
                f"the shared part has {shared[0]} items and rank {shared[1]}, the private part "
                f"{private[0]} and {private[1]}; pass two parts of the same model."
            )

    def predict(
        self,
        users: object,
        items: object,
        on_unknown: OnUnknown = "raise",
        *,
        return_std: bool = False,
        return_interval: float | None = None,
        owners: object = None,
        watch: Watch | None = None,
    ) -> Predictions:
        """Predict the rating of each pair of a user and an item.

        Parameters
        ----------
        users, items : list, array or series of ids
            One user and one item per pair.
        on_unknown : {"raise", "nan", "fallback", "warn"}, default="raise"
            What to do with unknown pairs; ``"fallback"`` predicts what is expected of an unknown
            user or item: the centre, plus the bias of the item or user if one of them is known; in
            a Bayesian model also the mean user, and what rarely rated items have in common.
            ``"warn"`` does the same with a warning.
        return_std : bool, default=False
            Whether to compute the standard deviation of each predicted rating, which includes the
            noise. Only a Bayesian model has one.
        return_interval : float, optional
            The probability of a rating inside an interval around its prediction, such as 0.9, to
            compute its ends.
        owners : list, array or series, optional
            The owner of each user; needed for user ids that several owners have.
        watch : callable, optional
            Called with the completed fraction as it grows.
        """
        check_on_unknown(on_unknown)
        asked_users, asked_items = as_column(users, "user"), as_column(items, "item")
        if len(asked_users) != len(asked_items):
            raise DataError(
                f"got {len(asked_users)} users and {len(asked_items)} items; "
                "pass one user and one item per pair."
            )
        user = self._users(asked_users, on_unknown, owners)
        item = item_numbers(self.shared, asked_items, WHY_ITEM, on_unknown)
        has_user, has_item = user != UNKNOWN, item != UNKNOWN
        known = has_user & has_item
        if on_unknown == "warn":
            asked = {"user": (asked_users, has_user), "item": (asked_items, has_item)}
            warn_unknown("pairs", asked, "their ratings are predicted from the known biases alone")
        if self.shared.expects_unrated:
            item = self.shared.items.numbers(asked_items, "item")
        ratings = self.predict_by_number(user, item, watch)
        if on_unknown == "nan":
            ratings[~known] = np.nan
        found = Predictions(ratings, known)
        if not return_std and return_interval is None:
            return found
        std = np.where(np.isnan(ratings), np.nan, self.deviations_by_number(user, item))
        if return_interval is not None:
            lower, upper = self.interval(ratings, std, return_interval)
            found = replace(found, lower=lower, upper=upper)
        return replace(found, std=std) if return_std else found

    def predict_by_number(self, user: Indices, item: Indices, watch: Watch | None = None) -> Array:
        """Predict the rating of each pair of numbers; −1 stands for an unknown user or item."""
        shared, private = self.shared, self.private
        has_user, has_item = user != UNKNOWN, item != UNKNOWN
        new_weights, new_user_bias = shared.unknown_user
        new_factors, new_item_bias = shared.unknown_item
        ratings = shared.centre + _taken(shared.item_biases, item, has_item, new_item_bias)
        biases = np.zeros(0) if private is None else private.biases
        ratings += _taken(biases, user, has_user, new_user_bias)
        for first in range(0, len(user), PAIRS):
            some = slice(first, first + PAIRS)
            of_item = shared.factors[item[some]]
            of_item[~has_item[some]] = new_factors
            if private is None:
                ratings[some] += of_item @ new_weights
            else:
                of_user = private.weights[user[some]]
                of_user[~has_user[some]] = new_weights
                ratings[some] += np.einsum("kr,kr->k", of_user, of_item)
            if watch is not None:
                watch(min(first + PAIRS, len(user)) / len(user))
        return self.shared.clipped(ratings)

    def deviations_by_number(
        self, user: Indices, item: Indices, watch: Watch | None = None
    ) -> Array:
        """Return the standard deviation of each prediction; only a Bayesian model has them."""
        return deviations(self.shared, self.private, user, item, watch)

    def interval(self, ratings: Array, std: Array, level: float) -> tuple[Array, Array]:
        """Return the ends of the intervals around predictions with these standard deviations."""
        reach = deviations_of_level(level) * std
        return self.shared.clipped(ratings - reach), self.shared.clipped(ratings + reach)

    def recommend(
        self,
        users: object = None,
        k: int = 10,
        *,
        score: Score | None = None,
        exclude_seen: bool = True,
        exclude: object = None,
        candidates: object = None,
        min_users: int = 1,
        on_unknown: OnUnknown = "raise",
        owners: object = None,
        watch: Watch | None = None,
    ) -> "pl.DataFrame":
        """Return the k items with the highest scores for each user.

        The columns are user, item, score, rank (from 1) and known, and owner after user if several
        owners have users of the same id. Unless the score is the predicted rating, it follows in
        the column rating; a Bayesian model adds the ends of its 90 % interval, lower and upper.
        Items without ratings are not recommended, so a user may get fewer than k.

        Parameters
        ----------
        users : list, array or series of ids, optional
            By default, all users with ratings.
        score : {"chosen", "rating", "cautious"}, optional
            ``"chosen"``: what the user is most likely to choose, from what users have rated.
            ``"rating"``: the predicted rating, which says how much users would like what they would
            hardly choose. ``"cautious"``: the rating that will be exceeded with a probability of
            95 %, by the standard deviation of the prediction. By default ``"chosen"`` if the model
            has learned that, otherwise ``"rating"``.
        exclude_seen : bool, default=True
            Whether to exclude items that the user has rated.
        exclude, candidates : list, array or series of item ids, optional
            Items to leave out, and the only ones to choose from; unknown ones are ignored.
        min_users : int, default=1
            Leave out items that fewer users have rated.
        on_unknown : {"raise", "nan", "fallback", "warn"}, default="raise"
            What to do with unknown users; ``"fallback"`` recommends the items with the most
            ratings, ``"warn"`` does the same with a warning, and ``"nan"`` returns one row without
            an item and with rank 0.
        owners : list, array or series, optional
            The owner of each user; needed for user ids that several owners have.
        watch : callable, optional
            Called with the completed fraction as it grows.
        """
        check_on_unknown(on_unknown)
        by = score_of(self, score)
        if users is None:
            private = required_private(self.private, "recommend for all users")
            user = np.flatnonzero(private.counts > 0)
            asked = private.users.at(user)
        else:
            asked = as_column(users, "user")
            user = self._users(asked, on_unknown, owners)
        k = min(whole_number("k", k, least=1), len(self.shared.items))
        known = user != UNKNOWN
        if on_unknown == "warn":
            warn_unknown("users", {"user": (asked, known)}, "they get the most rated items")
        allowed = allowed_items(self.shared, exclude, candidates, min_users)
        wanted = Wanted(k, allowed, exclude_seen)

        def best(users: Indices) -> Best:
            return best_items(
                self, by, required_private(self.private, "recommend"), users, wanted, watch
            )

        items, scores = of_known(best, user, k)
        if on_unknown in FALLBACK and not known.all():
            items[~known] = popular_items(self.shared.counts, k, allowed)
            numbers = items[~known]
            flat = numbers.ravel()
            level = self.predict_by_number(np.full(flat.shape, UNKNOWN), flat)
            if by == "chosen" and self.choices is not None:
                level = popularity_of(self.choices)[flat]
            scores[~known] = np.where(numbers == UNKNOWN, np.nan, level.reshape(numbers.shape))
        columns = {"score": scores if by == "chosen" else self.shared.clipped(scores)}
        if by != "rating":
            columns |= ratings_beside(self, user, items)
        return recommendation_table(
            asked,
            lambda row: owner_column(self.private, user[row]),
            self.shared,
            items,
            columns,
            known,
            show_nothing=on_unknown == "nan",
        )

    def explain(self, user: object, item: object, *, owner: object = None) -> Explanation:
        """Return what each rated item of a user adds to the score ``"chosen"`` of an item.

        The shares and the popularity add up to the score exactly, but for rounding.
        """
        choices = choices_of(self)
        owners = None if owner is None else [owner]
        number = self._users(as_column([user], "user"), "raise", owners)[0]
        place = item_numbers(self.shared, as_column([item], "item"), WHY_ITEM)[0]
        own = required_private(self.private, "explain").seen.choose_users(np.array([number]))
        return explained(choices, self.shared.items, events_of(own), int(place))

    def similar_items(self, item: object, k: int = 10) -> "pl.DataFrame":
        """Return the k items whose factors are most similar to those of an item.

        The columns are item, similarity (cosine) and rank (from 1).
        """
        import polars as pl

        if not self.shared.rank:
            raise DataError(
                "the model has rank 0, biases alone, so no two items are more similar than others; "
                "fit a model of a higher rank."
            )
        number = item_numbers(self.shared, as_column([item], "item"), WHY_ITEM)[0]
        lengths = np.linalg.norm(self.shared.factors, axis=1)
        directions = self.shared.factors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        cosines = np.where(self.shared.counts > 0, directions @ directions[number], -np.inf)
        cosines[number] = -np.inf
        places, values = best_in_row(cosines, k)
        ranks = np.arange(1, len(places) + 1)
        ids = self.shared.items.at(places)
        return pl.DataFrame({"item": ids, "similarity": values, "rank": ranks})

    def users_for(self, item: object, k: int = 10, *, exclude_seen: bool = True) -> "pl.DataFrame":
        """Return the k users with the highest predicted rating of an item: user, score and rank."""
        import polars as pl

        number = item_numbers(self.shared, as_column([item], "item"), WHY_ITEM)[0]
        private = required_private(self.private, "users_for")
        scores = private.weights @ self.shared.factors[number] + private.biases
        scores[private.counts == 0] = -np.inf
        if exclude_seen:
            scores[private.seen.users_of_values()[private.seen.items == number]] = -np.inf
        places, values = best_in_row(
            scores + (self.shared.centre + self.shared.item_biases[number]), k
        )
        return pl.DataFrame(
            {
                "user": private.users.at(places),
                **owner_column(self.private, places),
                "score": self.shared.clipped(values),
                "rank": np.arange(1, len(places) + 1),
            }
        )

    def fold_in(
        self,
        users: Ids,
        items: Ids,
        ratings: Ratings,
        unknown_items: UnknownItems = "raise",
        watch: Watch | None = None,
    ) -> FoldIn:
        """Return a model of new users only, solved from their ratings with the shared part fixed.

        Parameters
        ----------
        users, items : Ids
        ratings : Ratings
            Indexed by position in ``users`` and ``items``.
        unknown_items : {"raise", "drop"}, default="raise"
            What to do with ratings of unknown items.
        watch : callable, optional
            Called with the completed fraction as it grows.
        """
        table, n_dropped = in_catalogue(self.shared, users, items, ratings, unknown_items)
        solving = part_of(watch, MATCHED_ALONE, 1.0)
        solving(0.0)
        private = self.shared.users_from(users, table, solving)
        return FoldIn(replace(self, private=private), n_dropped)

    def with_users(
        self,
        users: Ids,
        items: Ids,
        ratings: Ratings,
        unknown_items: UnknownItems = "raise",
        watch: Watch | None = None,
    ) -> FoldIn:
        """Return the model with these users added; the parameters are those of :meth:`fold_in`.

        A user already in the model is solved from old and new ratings together; a new rating of
        the same item replaces the old one. All other users stay the same to the last bit.
        """
        if self.private is None:
            return self.fold_in(users, items, ratings, unknown_items, watch)
        table, n_dropped = in_catalogue(self.shared, users, items, ratings, unknown_items)
        part_of(watch, 0.0, MATCHED)(1.0)
        private = joined(self.shared, self.private, users, table, watch)
        return FoldIn(replace(self, private=private), n_dropped)

    def with_items(self, users: Ids, items: Ids, ratings: Ratings) -> "RatingsModel":
        """Return the model with the items in these ratings that nobody had rated before.

        They are solved with users and all other items fixed
        (:mod:`grassvine.models.ratings.new_items`); users are not added. A model of the paper's
        formulation stays as it is.
        """
        return with_new_rated_items(self, users, items, ratings)

    def _facts(self) -> dict[str, object]:
        private = self.private
        users = (
            {"users": "none (the private part is missing)"}
            if private is None
            else {"users": len(private.users), "ratings": private.seen.n_values}
        )
        return {
            "rank": self.shared.rank,
            "items": len(self.shared.items),
            **users,
            **self.shared.solver.facts(),
            "range": f"{self.shared.lowest:g} to {self.shared.highest:g}",
        }

    def _picture(self) -> str:
        sizes = np.linalg.svd(self.shared.factors, compute_uv=False)
        return picture.bars(sizes, of="size of the factors", each="factor")

    def _users(self, asked: "pl.Series", on_unknown: OnUnknown, owners: object = None) -> Indices:
        """Return indices of users, ``UNKNOWN`` for users without ratings."""
        return user_numbers(self.private, asked, on_unknown, owners, WHY_USER)


def _taken(values: Array, numbers: Indices, known: NDArray[np.bool_], otherwise: float) -> Array:
    """Return the values at known numbers, and another one elsewhere."""
    found = np.full(len(numbers), otherwise)
    found[known] = values[numbers[known]]
    return found
