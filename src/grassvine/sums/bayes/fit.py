r"""Fit of the Bayesian model by agents that agree on sums.

The method is variational Bayes: the users are integrated out exactly, given the items, and the
items have a normal posterior with independent entries. Everything that agents must agree on is a
sum over users, so the result is that of pooled data. See :mod:`grassvine.sums.bayes.step`.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import Problem
from grassvine.sums.bayes.features import (
    ItemFeatures,
    TableStatistics,
    item_features,
    table_statistics,
)
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.bayes.problem import BayesianCompletionProblem, as_bayesian_problem
from grassvine.sums.bayes.step import MOMENTUM, cost, first_state, next_state
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, all_reduce, decide

SET_UP_SUMS = 6
FIRST_FREE = 3  # iterations whose cost may rise without a restart


@dataclass(frozen=True, eq=False, kw_only=True)
class BayesianIterate(Iterate):
    """The current model. ``basis`` are its factors, orthonormal only where a state is asked for."""

    model: BayesianModel

    def arrays(self) -> dict[str, Array]:
        """Return an orthonormal basis of the span of the factors, and the model, by name."""
        return {"basis": self._orthonormal, **self.model.arrays()}

    @cached_property
    def _orthonormal(self) -> Array:
        return np.linalg.qr(self.model.factors)[0]

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the part of the cost and the squared error of an agent's users."""
        found = as_bayesian_problem(problem).evaluate(self.model)
        return found.cost, found.squared_error


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What all agents know of the ratings before the fit."""

    statistics: TableStatistics
    features: ItemFeatures


def initial_iterate(start: Array) -> BayesianIterate:
    """Return the iterate until the statistics of the ratings are known."""
    n_items = len(start)
    nothing = TableStatistics(np.zeros(n_items), 0.0, np.zeros(n_items), 0.0, 1.0)
    return _iterate(first_state(start, nothing).model)


def set_up(
    problem: Own[BayesianCompletionProblem], seed: int, iterate: Iterate
) -> Subprogram[Table]:
    """Add up the statistics of the ratings and find the features of the items."""
    ratings = Own(lambda data: data[problem].ratings)
    statistics = yield from table_statistics(ratings, iterate)
    features = yield from item_features(ratings, statistics.counts, seed, iterate)
    return Table(statistics, features)


def fit(
    problem: Own[BayesianCompletionProblem], table: Table, start: Array, n_iter: int
) -> Subprogram[BayesianIterate]:
    """Fit the model in so many iterations, of one sum each, from an orthonormal start."""

    def own(model: BayesianModel, mse: Own[float], data: Data) -> tuple[Array, ...]:
        found, count = data[problem].evaluate(model), data[problem].n_values
        data[mse] = found.squared_error / count if count else math.nan
        return found.sums

    state = first_state(start, table.statistics)
    seen, before = _iterate(state.model), math.inf
    for iteration in range(n_iter):
        mse: Own[float] = Own()
        sums = yield from all_reduce(seen, partial(own, state.model, mse))
        now = cost(state, table.statistics, float(sums[-1][0]))
        rose = yield from decide(iteration >= FIRST_FREE and now > before)
        before, momentum = now, 0.0 if rose else MOMENTUM
        state = next_state(state, sums, table.statistics, table.features, momentum)
        size = float(np.linalg.norm(state.move))
        seen = replace(_iterate(state.model), cost=now, gradient_norm=size, mse=mse)
    return seen


def _iterate(model: BayesianModel) -> BayesianIterate:
    return BayesianIterate(model.factors, model=model)
