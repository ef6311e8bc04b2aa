"""Events of one member as a part of what all learn, and the ranking model that it ends with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.gossip import Gossip
from grassvine.models import FactorScorer, RankedItems, RankedUsers, RankingModel
from grassvine.models.ranking.measures import measure_ranking
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.plausible import are_counts, require_plausible
from grassvine.peers.fit.support import require_support
from grassvine.peers.fit.totals import Totals
from grassvine.problems import Problem
from grassvine.protocol.agent import State
from grassvine.sums import ImplicitModel, ImplicitProblem
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Subprogram, all_reduce

COUNTS, USERS = "total.counts", "total.users"
RANKED = "total.ranked"  # sum of nDCG@100 of held-out events, and number of users
PLACES = 100


@dataclass(frozen=True, eq=False)
class MemberEvents:
    """Events of one member over the catalogue.

    Parameters
    ----------
    learning : Learning
    items : Ids
        The catalogue.
    users : Ids
    events : Ratings
        Those to learn from.
    held : Ratings
        Those to measure on; a small table may have none.
    """

    learning: Learning
    items: Ids
    users: Ids
    events: Ratings
    held: Ratings

    @property
    def n_items(self) -> int:
        """The number of items of the catalogue."""
        return len(self.items)

    @property
    def n_values(self) -> int:
        """The number of events to learn from."""
        return self.events.n_values

    def evaluate(self, model: ImplicitModel) -> Any:
        """Return the cost of a model, and its derivatives."""
        return ImplicitProblem(self.events).evaluate(model)

    def sums_before(self, number: int, iterate: Iterate) -> Subprogram[Totals]:
        """Sum users per item, and users."""

        def own(_: Data) -> tuple[Array, Array]:
            counts = np.bincount(self.events.items, minlength=self.n_items).astype(np.float64)
            users = float(np.count_nonzero(np.diff(self.events.starts)))
            return counts, np.array([users])

        counts, users = yield from all_reduce(iterate, own)
        n_users = float(users[0])
        yield from require_plausible(
            are_counts(counts, users)
            and bool((counts <= n_users).all())
            and n_users <= float(counts.sum()),
            "the numbers of users and of events do not fit each other",
        )
        return {COUNTS: counts, USERS: users}

    def problem(self, totals: Totals) -> Problem:
        """Return the model of implicit feedback, of items that enough users have chosen."""
        require_support(float(totals[USERS][0]), "users", self.learning.min_support)
        return ImplicitProblem(self._supported(totals))

    def gossip(self, totals: Totals, n_agents: int) -> Gossip:
        """Refuse gossip."""
        raise DataError("what users choose is learned by sums; choose method 'exact'.")

    def sums_after(
        self, number: int, totals: Totals, fitted: State, iterate: Iterate
    ) -> Subprogram[Totals]:
        """Sum nDCG@100 of the held-out events, and the number of users."""
        if not self.learning.holdout:
            return {}

        def own(_: Data) -> tuple[Array]:
            if not self.held.n_values:
                return (np.zeros(2),)
            model = self.model({**totals, **fitted})
            try:
                found = measure_ranking(model, self.users, self.items, self.held, PLACES)
            except DataError:  # nobody to rank for
                return (np.zeros(2),)
            return (np.array([float(found.per_user["ndcg"].sum()), float(found.n_users)]),)

        (sums,) = yield from all_reduce(iterate, own)
        yield from require_plausible(
            are_counts(sums[1:]) and bool(0.0 <= sums[0] <= sums[1] + 1e-6),
            "the measure of held-out events is not one",
        )
        return {RANKED: sums}

    def model(self, state: State) -> RankingModel:
        """Return the model: the same items in all houses, this member's users."""
        counts = np.asarray(state[COUNTS], dtype=np.float64)
        enough = counts >= self.learning.min_support
        fitted = ImplicitModel.from_arrays(state)
        shared = RankedItems(
            self.items,
            np.where(enough, np.round(counts), 0).astype(np.int64),
            FactorScorer(fitted),
        )
        return RankingModel(shared, RankedUsers(self.users, self._supported(state)))

    def _supported(self, totals: State) -> Ratings:
        """Return the events with items that enough users of all members have chosen."""
        if self.learning.min_support == 1:
            return self.events
        enough = np.asarray(totals[COUNTS], dtype=np.float64) >= self.learning.min_support
        return self.events.take_values(enough[self.events.items])
