"""Ratings of one member as a part of what all learn, and the model that it ends with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.fits.rating_formulations import CONSENSUS_SHARE
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip
from grassvine.models import BiasedSolver, ItemPart, RatingsModel, SubspaceSolver, UserPart
from grassvine.peers.fit.learning import BAYES, MAP, Learning
from grassvine.peers.fit.methods import gossip_of
from grassvine.peers.fit.plausible import are_counts, require_plausible, within
from grassvine.peers.fit.support import require_support
from grassvine.peers.fit.totals import Totals
from grassvine.problems import CompletionProblem, Problem
from grassvine.protocol.agent import State
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianModel,
    BiasedCompletionProblem,
    BiasedModel,
)
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Subprogram, all_reduce

COUNTS, RANGES = "total.counts", "total.ranges"
NUMBERS = "total.numbers"  # users, sum of the ratings
SQUARES = "total.squares"
HELD_OUT = "total.held_out"  # squared error and number of held-out values that can be predicted


@dataclass(frozen=True, eq=False)
class MemberRatings:
    """Ratings of one member over the catalogue.

    Parameters
    ----------
    learning : Learning
    n_members : int
    items : Ids
        The catalogue.
    users : Ids
    ratings : Ratings
        Those to learn from.
    held : Ratings
        Those to measure on; a small table may have none.
    """

    learning: Learning
    n_members: int
    items: Ids
    users: Ids
    ratings: Ratings
    held: Ratings

    @property
    def n_items(self) -> int:
        """The number of items of the catalogue."""
        return len(self.items)

    @property
    def n_values(self) -> int:
        """The number of ratings to learn from."""
        return self.ratings.n_values

    def evaluate(self, model: Any) -> Any:
        """Return the cost of a model with biases, and its derivatives."""
        if isinstance(model, BayesianModel):
            return BayesianCompletionProblem(self.ratings).evaluate(model)
        return BiasedCompletionProblem(self.ratings).evaluate(model)

    def sums_before(self, number: int, iterate: Iterate) -> Subprogram[Totals]:
        """Sum counts per item, users and ratings; without a scale, collect all ranges."""
        values = self.ratings.values

        def own(_: Data) -> tuple[Array, Array, Array]:
            counts = self.ratings.item_counts().astype(np.float64)
            users = float(np.count_nonzero(np.diff(self.ratings.starts)))
            ranges = np.zeros((0 if self.learning.scale else self.n_members, 2))
            if len(ranges):
                ranges[number] = values.min(), values.max()
            return counts, np.array([users, float(values.sum())]), ranges

        counts, numbers, ranges = yield from all_reduce(iterate, own)
        totals = {COUNTS: counts, NUMBERS: numbers, RANGES: ranges}
        yield from self._require_plausible(totals)
        if not self.learning.method.gossips:
            return totals
        centre = _centre(totals)
        (squares,) = yield from all_reduce(
            iterate, lambda _: (np.array([np.sum((values - centre) ** 2)]),)
        )
        return {**totals, SQUARES: squares}

    def _require_plausible(self, totals: Totals) -> Subprogram[None]:
        counts, (n_users, total) = totals[COUNTS], totals[NUMBERS].tolist()
        n_ratings = float(counts.sum())
        counted = are_counts(counts, totals[NUMBERS][:1])
        yield from require_plausible(
            counted and bool((counts <= n_users).all()) and n_users <= n_ratings,
            "the numbers of users and of ratings do not fit each other",
        )
        if self.learning.scale:
            lowest, highest = (bound * n_ratings for bound in self.learning.scale)
            yield from require_plausible(
                within(total, lowest, highest), "the mean of the ratings is not on their scale"
            )

    def problem(self, totals: Totals) -> Problem:
        """Return a model with biases, or the paper's formulation."""
        choice, ratings = self.learning.method, self._supported(totals)
        require_support(float(totals[NUMBERS][0]), "users", self.learning.min_support)
        if choice.name == BAYES:
            return BayesianCompletionProblem(ratings)
        if choice.name == MAP:
            return BiasedCompletionProblem(ratings)
        if choice.regularization == "auto":
            return CompletionProblem(ratings)
        assert choice.regularization is not None
        shifted = ratings.shifted(-_centre(totals))
        return CompletionProblem(shifted, unobserved=choice.regularization)

    def gossip(self, totals: Totals, n_agents: int) -> Gossip:
        """Return gossip with a consensus weight on the scale of the centred ratings."""
        squares = float(totals[SQUARES][0])
        return gossip_of(self.learning, n_agents, squares, CONSENSUS_SHARE)

    def sums_after(
        self, number: int, totals: Totals, fitted: State, iterate: Iterate
    ) -> Subprogram[Totals]:
        """Sum squared error and number of the held-out ratings whose user and item are known."""
        if not self.learning.holdout:
            return {}
        held = self.held

        def own(_: Data) -> tuple[Array]:
            model = self.model({**totals, **fitted})
            users, items = held.users_of_values(), held.items.astype(np.int64)
            known = (np.diff(self.ratings.starts) > 0)[users] & (model.shared.counts > 0)[items]
            found = model.predict_by_number(users[known], items[known])
            wrong = found - held.values[known]
            return (np.array([float(wrong @ wrong), float(len(wrong))]),)

        (sums,) = yield from all_reduce(iterate, own)
        yield from require_plausible(
            are_counts(sums[1:]) and bool(sums[0] >= 0.0), "the held-out error is not one"
        )
        return {HELD_OUT: sums}

    def model(self, state: State) -> RatingsModel:
        """Return the model: the same items in all houses, this member's users."""
        shared = self._item_part(state)
        solved = shared.solve(self._supported(state))
        return RatingsModel(shared, UserPart(self.users, *solved, self.ratings))

    def _supported(self, totals: State) -> Ratings:
        """Return the ratings of items that enough users of all members have rated."""
        if self.learning.min_support == 1:
            return self.ratings
        enough = np.asarray(totals[COUNTS], dtype=np.float64) >= self.learning.min_support
        return self.ratings.take_values(enough[self.ratings.items])

    def _item_part(self, state: State) -> ItemPart:
        totals = {name: np.asarray(state[name], float) for name in (COUNTS, NUMBERS, RANGES)}
        scale = self.learning.scale
        lowest, highest = scale or (
            float(totals[RANGES][:, 0].min()),
            float(totals[RANGES][:, 1].max()),
        )
        few = totals[COUNTS] < self.learning.min_support
        counts = np.where(few, 0, np.round(totals[COUNTS])).astype(np.int64)
        if self.learning.method.name == BAYES:
            model = BayesianModel.from_arrays(state)
            return ItemPart.bayesian(model, self.items, lowest, highest, counts)
        factors, biases, centre, solver = self._fitted(state, _centre(totals))
        if self.learning.min_support > 1:
            factors, biases = np.where(few[:, None], 0.0, factors), np.where(few, 0.0, biases)
        return ItemPart(
            items=self.items,
            factors=factors,
            item_biases=biases,
            centre=centre,
            solver=solver,
            lowest=lowest,
            highest=highest,
            counts=counts,
        )

    def _fitted(
        self, state: State, centre: float
    ) -> tuple[Array, Array, float, BiasedSolver | SubspaceSolver]:
        """Return factors, item biases, centre and how users are solved."""
        choice = self.learning.method
        if choice.name == MAP:
            model = BiasedModel.from_arrays(state)
            solver = BiasedSolver(model.regularization, model.bias_regularization)
            return model.factors, model.item_biases, model.centre, solver
        basis = np.asarray(state["basis"], dtype=np.float64)
        unobserved = choice.regularization
        if unobserved == "auto":
            centre, unobserved = float(state["centre"][0]), float(state["unobserved"][0])
        assert unobserved is not None
        return basis, np.zeros(self.n_items), centre, SubspaceSolver(unobserved)


def _centre(totals: Totals) -> float:
    return float(totals[NUMBERS][1]) / max(float(totals[COUNTS].sum()), 1.0)
