"""The two parts of a ranking model: the shared catalogue with its scorer, and the users' events.

Nothing of a user is stored but the events, from which the scorer computes the rest.
"""

from dataclasses import dataclass

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import BasisError, DataError
from grassvine.models.ranking.scorers import Scorer


@dataclass(frozen=True, slots=True, eq=False)
class RankedItems:
    """The shared part: it contains nothing of a single user and may be passed on.

    Parameters
    ----------
    items : Ids
        The catalogue.
    counts : int array of shape (n_items,)
        The number of users who chose each item. An item that nobody chose counts as unknown.
    scorer : FactorScorer or RegressionScorer
        How users are scored from their events.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> part = gv.ImplicitRecommender(rank=1).fit(clicks).model_.shared
    >>> part.items.series.to_list(), part.counts.tolist()
    ([1, 2, 3], [2, 3, 1])
    """

    items: Ids
    counts: Indices
    scorer: Scorer

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        n_items, counts = len(self.items), np.asarray(self.counts)
        if not n_items:
            raise BasisError("the model has no items; pass at least one.")
        if self.scorer.n_items != n_items:
            raise BasisError(
                f"the scorer has {self.scorer.n_items} items and there are {n_items} ids; pass one "
                "id per item."
            )
        if counts.shape != (n_items,) or counts.dtype.kind != "i" or (counts < 0).any():
            raise BasisError(f"counts are not non-negative integers; pass {n_items}, one per item.")
        object.__setattr__(self, "counts", counts.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class RankedUsers:
    """The private part: the users and their events.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> part = gv.ImplicitRecommender(rank=1).fit(clicks).model_.private
    >>> part.users.series.to_list(), part.counts.tolist()
    ([1, 2, 3], [2, 2, 2])
    """

    users: Ids
    seen: Ratings

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        n_users = len(self.users)
        if not n_users:
            raise DataError("the private part has no users; omit it.")
        if self.seen.n_users != n_users:
            raise DataError(
                f"got events of {self.seen.n_users} users and ids of {n_users}; "
                "pass one id per user."
            )
        if not ((self.seen.values > 0.0) & np.isfinite(self.seen.values)).all():
            raise DataError("the counts of the events are not all positive; pass positive ones.")

    @property
    def counts(self) -> Indices:
        """The number of events per user; a user without events counts as unknown."""
        return np.diff(self.seen.starts)

    def joined(self, users: Ids, events: Ratings) -> "RankedUsers":
        """Return these users and others, with the counts of the same pair added."""
        known = self.users.numbers(users.series, "user", users.owners)
        added = np.flatnonzero(known < 0)
        ids, number = self.users.merged(users.take(added))
        of_new = number[known]
        of_new[added] = number[len(self.users) :]
        of_old = number[: len(self.users)]
        n_items = max(self.seen.n_items, events.n_items)
        keys = np.concatenate(
            [
                of_old[self.seen.users_of_values()] * n_items + self.seen.items,
                of_new[events.users_of_values()] * n_items + events.items,
            ]
        )
        pairs, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.seen.values, events.values]))
        seen = Ratings.from_arrays(
            pairs // n_items, pairs % n_items, counts, n_users=len(ids), n_items=n_items
        )
        return RankedUsers(ids, seen)
