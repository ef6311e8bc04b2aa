"""Fitted ranking models: recommendations with their reasons, and fold-in of new users."""

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
from grassvine.foundations.watch import Watch
from grassvine.models.fold_in import UnknownItems, in_catalogue
from grassvine.models.known import item_numbers, owner_column, required_private, user_numbers
from grassvine.models.ranking.best import Best, Wanted, best_in_blocks, best_in_row, of_known
from grassvine.models.ranking.new_items import with_new_items
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.recommendations import (
    allowed_items,
    popular_items,
    recommendation_table,
)
from grassvine.models.ranking.scorers import Scorer
from grassvine.models.unknown import (
    FALLBACK,
    OnUnknown,
    check_on_unknown,
    warn_unknown,
)

if TYPE_CHECKING:
    import polars as pl

WHY_USER = "it has no events of such users"
WHY_ITEM = "it has no events of such items"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a user gets an item: the score is the popularity plus the sum of the shares.

    Attributes
    ----------
    score : float
    popularity : float
        What the user would get whatever the events were, but for their number.
    shares : data frame
        The columns are item, one of the user's own, and share, what it adds; largest first.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> why = gv.ImplicitRecommender(rank=1).fit(clicks).explain(1, 3)
    >>> abs(why.popularity + why.shares["share"].sum() - why.score) < 1e-12
    True
    """

    score: float
    popularity: float
    shares: "pl.DataFrame"


def explained(scorer: Scorer, items: Ids, events: Ratings, item: int) -> Explanation:
    """Return why a user with these events gets an item."""
    import polars as pl

    shares, rest = scorer.shares(events, item)
    order = np.argsort(-shares, kind="stable")
    frame = pl.DataFrame({"item": items.at(events.items[order]), "share": shares[order]})
    return Explanation(float(scorer.scores(events)[0, item]), rest, frame)


@dataclass(frozen=True, slots=True, eq=False)
class RankingFoldIn:
    """A model with users added, and the number of events that were dropped."""

    model: "RankingModel"
    n_dropped: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankingModel(Described):
    """A model of what users choose.

    Users and items are identified by their ids. They are *known* if they have at least one event.
    A model without a private part knows no users, but can fold them in.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> model = gv.ImplicitRecommender(rank=1).fit(clicks).model_
    >>> model.recommend([1], k=1)["item"].to_list()  # the only item that user 1 has not chosen
    [3]
    """

    shared: RankedItems
    private: RankedUsers | None = None

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        if self.private is not None and self.private.seen.n_items != len(self.shared.items):
            raise DataError(
                f"the shared part has {len(self.shared.items)} items and the private part "
                f"{self.private.seen.n_items}; pass two parts of the same model."
            )

    def recommend(
        self,
        users: object = None,
        k: int = 10,
        *,
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
        owners have users of the same id. A user may get fewer than k items.

        Parameters
        ----------
        users : list, array or series of ids, optional
            By default, all users with events.
        k : int, default=10
        exclude_seen : bool, default=True
            Whether to exclude items that the user has chosen before.
        exclude : list, array or series of item ids, optional
            Items to leave out; unknown ones are ignored.
        candidates : list, array or series of item ids, optional
            The only items to choose from; unknown ones are ignored.
        min_users : int, default=1
            Leave out items that fewer users have chosen.
        on_unknown : {"raise", "nan", "fallback", "warn"}, default="raise"
            What to do with unknown users; ``"fallback"`` recommends the items that most users have
            chosen, ``"warn"`` does the same with a warning, and ``"nan"`` returns one row without
            an item and with rank 0.
        owners : list, array or series, optional
            The owner of each user; needed for user ids that several owners have.
        watch : callable, optional
            Called with the completed fraction as it grows.
        """
        check_on_unknown(on_unknown)
        if users is None:
            private = required_private(self.private, "recommend for all users")
            user = np.flatnonzero(private.counts > 0)
            asked = private.users.at(user)
        else:
            asked = as_column(users, "user")
            user = self._users(asked, on_unknown, owners)
        known = user != UNKNOWN
        if on_unknown == "warn":
            warn_unknown("users", {"user": (asked, known)}, "they get the most chosen items")
        allowed = allowed_items(self.shared, exclude, candidates, min_users)
        items, scores = self.best_by_number(user, k, allowed, exclude_seen, watch)
        if on_unknown in FALLBACK and not known.all():
            items[~known] = popular_items(self.shared.counts, items.shape[1], allowed)
            shares = self.shared.counts / max(int(self.shared.counts.sum()), 1)
            scores[~known] = shares[items[~known]]
        return recommendation_table(
            asked,
            lambda row: owner_column(self.private, user[row]),
            self.shared,
            items,
            {"score": scores},
            known,
            show_nothing=on_unknown == "nan",
        )

    def best_by_number(
        self,
        user: Indices,
        k: int,
        allowed: NDArray[np.bool_] | None = None,
        exclude_seen: bool = True,
        watch: Watch | None = None,
    ) -> tuple[Indices, Array]:
        """Return the best items of each user by number, padded with −1, and their scores."""
        k = min(whole_number("k", k, least=1), len(self.shared.items))
        if allowed is None:
            allowed = allowed_items(self.shared, None, None, 1)
        wanted = Wanted(k, allowed, exclude_seen)

        def best(users: Indices) -> Best:
            seen, scorer = required_private(self.private, "recommend").seen, self.shared.scorer
            return best_in_blocks(
                lambda _, events: scorer.best(events, wanted), seen, users, wanted, watch
            )

        return of_known(best, user, k)

    def explain(self, user: object, item: object, *, owner: object = None) -> Explanation:
        """Return what each of the user's own events adds to the score of an item.

        The shares and the popularity add up to the score exactly, but for rounding.
        """
        owners = None if owner is None else [owner]
        number = self._users(as_column([user], "user"), "raise", owners)[0]
        place = item_numbers(self.shared, as_column([item], "item"), WHY_ITEM)[0]
        events = required_private(self.private, "explain").seen.choose_users(np.array([number]))
        return explained(self.shared.scorer, self.shared.items, events, int(place))

    def similar_items(self, item: object, k: int = 10) -> "pl.DataFrame":
        """Return the k items most similar to an item.

        The columns are item, similarity (the cosine of the factors, or the regression coefficient)
        and rank (from 1).
        """
        import polars as pl

        number = item_numbers(self.shared, as_column([item], "item"), WHY_ITEM)[0]
        values = self.shared.scorer.similarities(int(number))
        values[self.shared.counts == 0] = -np.inf
        values[number] = -np.inf
        places, found = best_in_row(values, k)
        ranks = np.arange(1, len(places) + 1)
        return pl.DataFrame(
            {"item": self.shared.items.at(places), "similarity": found, "rank": ranks}
        )

    def fold_in(
        self, users: Ids, items: Ids, events: Ratings, unknown_items: UnknownItems = "raise"
    ) -> RankingFoldIn:
        """Return a model of new users only, with the shared part fixed.

        Parameters
        ----------
        users, items : Ids
        events : Ratings
            Indexed by position in ``users`` and ``items``.
        unknown_items : {"raise", "drop"}, default="raise"
            What to do with events of unknown items.
        """
        table, n_dropped = in_catalogue(self.shared, users, items, events, unknown_items)
        return RankingFoldIn(replace(self, private=RankedUsers(users, table)), n_dropped)

    def with_items(self, users: Ids, items: Ids, events: Ratings) -> "RankingModel":
        """Return the model with rows of the items in these events that it does not know yet.

        The rows are solved from these events and the users' others, with all other items fixed; see
        :mod:`grassvine.sums.implicit.new_items`. Users are not added.
        """
        shared, private = with_new_items(self.shared, self.private, users, items, events)
        return replace(self, shared=shared, private=private)

    def with_users(
        self, users: Ids, items: Ids, events: Ratings, unknown_items: UnknownItems = "raise"
    ) -> RankingFoldIn:
        """Return the model with these users added; the parameters are those of :meth:`fold_in`.

        Events of a user already in the model are added to the old ones.
        """
        if self.private is None:
            return self.fold_in(users, items, events, unknown_items)
        table, n_dropped = in_catalogue(self.shared, users, items, events, unknown_items)
        return RankingFoldIn(replace(self, private=self.private.joined(users, table)), n_dropped)

    def _facts(self) -> dict[str, object]:
        private = self.private
        users = (
            {"users": "none (the private part is missing)"}
            if private is None
            else {"users": len(private.users), "events": private.seen.n_values}
        )
        scorer = type(self.shared.scorer).__name__
        rank = {"rank": self.shared.scorer.rank} if self.shared.scorer.rank else {}
        return {"scorer": scorer, **rank, "items": len(self.shared.items), **users}

    def _picture(self) -> str:
        counts = np.sort(self.shared.counts)[::-1]
        places = np.arange(1, len(counts) + 1)
        return picture.curve(places, counts, of="users who chose an item", against="items")

    def _users(self, asked: "pl.Series", on_unknown: OnUnknown, owners: object = None) -> Indices:
        """Return indices of users, ``UNKNOWN`` for users without events."""
        return user_numbers(self.private, asked, on_unknown, owners, WHY_USER)
