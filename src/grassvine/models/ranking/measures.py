"""How a ranking model ranks events that were not fitted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.metrics import average_precision, coverage, found, ndcg, precision, recall
from grassvine.models.ranking.model import RankingModel


@dataclass(frozen=True, slots=True, eq=False)
class RankingMeasures:
    """Measures of recommendations, one number per user; see :mod:`grassvine.metrics`.

    Attributes
    ----------
    k : int
        The number of places.
    per_user : dict of arrays
        ``ndcg``, ``recall``, ``precision`` and ``average_precision`` at k of each test user.
    coverage : float
        The share of the model's items that somebody gets among k.
    n_unknown : int
        Test users that the model does not know; they are left out.
    """

    k: int
    per_user: Mapping[str, Array]
    coverage: float
    n_unknown: int

    @property
    def n_users(self) -> int:
        """The number of users that were ranked for."""
        return len(self.per_user["ndcg"])

    def mean(self, name: str) -> float:
        """Return the mean over users of a measure."""
        return float(self.per_user[name].mean())

    def standard_error(self, name: str) -> float:
        """Return the standard error of the mean over users."""
        values = self.per_user[name]
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    def summary(self) -> dict[str, float]:
        """Return the means by name, the coverage and the number of users."""
        means = {f"{name}@{self.k}": self.mean(name) for name in self.per_user}
        return {**means, f"coverage@{self.k}": self.coverage, "users": float(self.n_users)}


def measure_ranking(
    model: RankingModel, users: Ids, items: Ids, events: Ratings, k: int
) -> RankingMeasures:
    """Rank all items for users, but those that the model has seen of them, and measure the lists.

    Parameters
    ----------
    users, items : Ids
    events : Ratings
        Held-out events, indexed by position in ``users`` and ``items``. Items that the model does
        not know are relevant too, but never recommended.
    k : int
        The number of places.
    """
    if model.private is None:
        raise DataError(
            "the model was fitted or loaded without users, so it cannot rank for them; add users "
            "with partial_fit, from other events than these."
        )
    user = model.private.users.numbers(users.series, "user", users.owners)
    known = (user != UNKNOWN) & (model.private.counts[user] > 0)
    tested = np.diff(events.starts) > 0
    rows = np.flatnonzero(known & tested)
    if not len(rows):
        raise DataError(
            "none of these events is of a user that the model knows; pass events of known users."
        )
    number = model.shared.items.numbers(items.series, "item")
    n_items = len(model.shared.items)
    strange = number == UNKNOWN
    number[strange] = n_items + np.arange(np.count_nonzero(strange))
    chosen = events.choose_users(rows)
    relevant = Ratings.from_arrays(
        chosen.users_of_values(),
        number[chosen.items],
        chosen.values,
        n_users=len(rows),
        n_items=n_items + int(np.count_nonzero(strange)),
    )
    lists, _ = model.best_by_number(user[rows], k)
    hits, n_relevant = found(lists, relevant), np.diff(relevant.starts)
    measures = {
        "ndcg": ndcg,
        "recall": recall,
        "precision": precision,
        "average_precision": average_precision,
    }
    return RankingMeasures(
        k,
        {name: measure(hits, n_relevant, k) for name, measure in measures.items()},
        float(coverage(lists, n_items, k)),
        int(np.count_nonzero(tested & ~known)),
    )
