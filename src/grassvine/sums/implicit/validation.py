r"""Whether factors rank better than popularity, on events that every agent holds out.

Where events are few, factors may be noise. So if q (:mod:`grassvine.sums.implicit.strengths`) is
small, the agents hold out a tenth of the events, fit the others, and rank for their users both by
the model and by popularity alone. Three numbers are summed: the differences of nDCG@100, their
squares, and the number of users. Factors are kept if they win by more than one standard error.
"""

import math

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.metrics import found, ndcg
from grassvine.sums.implicit.model import ImplicitModel
from grassvine.sums.implicit.problem import ImplicitProblem
from grassvine.sums.implicit.statistics import EventStatistics
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, all_reduce, decide

PLACES = 100
USERS = 2000  # of all agents, about; ranking for more would take longer than the fit
BLOCK = 1 << 21  # scores at once


def factors_are_better(
    rest: Own[ImplicitProblem],
    held: Own[Ratings],
    model: ImplicitModel,
    statistics: EventStatistics,
    iterate: Iterate,
) -> Subprogram[bool]:
    """Decide whether the factors rank held-out events better than popularity.

    Parameters
    ----------
    rest : Own of ImplicitProblem
        The events that the model was fitted to.
    held : Own of Ratings
        The events held out, of the same users.
    statistics : EventStatistics
        The statistics of the events of all agents; popularity is that without held-out events.
    """

    def own(data: Data) -> tuple[float, float, float]:
        tested = _tested(data[held], statistics.n_users)
        if not len(tested):
            return 0.0, 0.0, 0.0
        events = data[rest].events.choose_users(tested)
        relevant = data[held].choose_users(tested)
        n_relevant = np.diff(relevant.starts)
        by_model, by_popularity = _lists(ImplicitProblem(events), model, statistics.rest_counts)
        gains = ndcg(found(by_model, relevant), n_relevant, PLACES)
        gains -= ndcg(found(by_popularity, relevant), n_relevant, PLACES)
        return float(gains.sum()), float(gains @ gains), float(len(gains))

    total, squares, count = yield from all_reduce(iterate, own)
    n = max(float(count), 1.0)
    mean = float(total) / n
    variance = max(float(squares) / n - mean * mean, 0.0)
    return (yield from decide(mean > math.sqrt(variance / n)))


def _tested(held: Ratings, n_users: float) -> Indices:
    """Return users with held-out events, not too many; the same whichever agent holds them."""
    share = min(USERS / max(n_users, 1.0), 1.0)
    before = np.concatenate([[0], np.cumsum(held.items, dtype=np.int64)])[held.starts]
    # The golden ratio spreads the sums of item numbers evenly over [0, 1).
    spread = (np.diff(before) * ((math.sqrt(5.0) - 1.0) / 2.0)) % 1.0
    return np.flatnonzero((np.diff(held.starts) > 0) & (spread <= share))


def _lists(
    problem: ImplicitProblem, model: ImplicitModel, counts: Array
) -> tuple[Indices, Indices]:
    """Return the best items of each user by the model and by popularity, without those known."""
    events, solutions = problem.events, problem.solve(model)
    unknown = counts == 0.0
    by_model: list[Indices] = []
    by_popularity: list[Indices] = []
    size = max(1, BLOCK // model.n_items)
    for first in range(0, events.n_users, size):
        last = min(first + size, events.n_users)
        own = events.take_users(first, last)
        known = own.users_of_values(), own.items
        scores = solutions[first:last] @ model.rows.T
        popular = np.tile(counts, (last - first, 1))
        for one, lists in ((scores, by_model), (popular, by_popularity)):
            one[known] = -np.inf
            one[:, unknown] = -np.inf
            lists.append(_best(one))
    return np.concatenate(by_model), np.concatenate(by_popularity)


def _best(scores: Array) -> Indices:
    """Return the items of the largest scores of each row, best first."""
    k = min(PLACES, scores.shape[1])
    places = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(scores, places, axis=1)
    order = np.lexsort((places, -values), axis=1)
    best: Indices = np.take_along_axis(places, order, axis=1).astype(np.int64)
    return np.where(np.isneginf(np.take_along_axis(values, order, axis=1)), -1, best)
