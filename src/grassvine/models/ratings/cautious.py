r"""The items with the highest lower ends of intervals, without the intervals of all items.

The variance of a prediction is at least that of the noise and of the item's bias, σ²/τ_j + κ_i d_i
over κ_i, where only τ_j depends on the user. So the variances of a few candidates, which are the
best for τ = 1, tell τ and a score that k items have; no item whose upper bound is below can be
better, and the scores of the others, if any, are computed too.
"""

import numpy as np

from grassvine.data.ids import UNKNOWN
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.models.ranking.best import Best, Wanted
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.bayes.problem import BayesianCompletionProblem

CANDIDATES = 3  # at first, for each item wanted
SLACK = 1e-9  # of bounds, for rounding


def best_lower_ends(
    model: BayesianModel, ratings: Array, own: Ratings, wanted: Wanted, reach: float
) -> Best:
    """Return the best items of users by their predicted ratings (users×items) less a deviation.

    ``own`` are the ratings of the users, and ``reach`` is how many standard deviations are
    subtracted. Of equal scores, that of the item with the lowest number comes first.
    """
    shape = len(ratings), wanted.k
    items, scores = np.full(shape, UNKNOWN), np.full(shape, -np.inf)
    for user, predicted in enumerate(ratings):
        found, ends = _of_user(model, predicted, own.take_users(user, user + 1), wanted, reach)
        items[user, : len(found)], scores[user, : len(found)] = found, ends
    return items, scores


def _of_user(
    model: BayesianModel, ratings: Array, own: Ratings, wanted: Wanted, reach: float
) -> Best:
    free, problem = wanted.allowed.copy(), BayesianCompletionProblem(own)
    if wanted.exclude_seen:
        free[own.items] = False

    def bounds(noise: float) -> Array:
        least = model.interval_scale * np.sqrt(model.least_variances(noise))
        return np.where(free, ratings - reach * least, -np.inf)

    def ends(candidates: Indices) -> tuple[Array, float]:
        nobody = np.zeros(len(candidates), np.int64)  # the only user's number
        variances, noises = problem.variances_and_noise(model, nobody, candidates)
        spread = model.interval_scale * np.sqrt(variances)
        return ratings[candidates] - reach * spread, float(noises[0])

    candidates = _largest(bounds(model.noise), CANDIDATES * wanted.k)
    if not len(candidates):
        return candidates, np.empty(0)
    scores, noise = ends(candidates)
    least = np.sort(scores)[-wanted.k] if len(scores) >= wanted.k else -np.inf
    possible = np.flatnonzero(free & (bounds(noise) >= least - SLACK * (1.0 + abs(least))))
    if len(np.setdiff1d(possible, candidates, assume_unique=True)):
        candidates = np.union1d(possible, candidates)
        scores, _ = ends(candidates)
    order = np.lexsort((candidates, -scores))[: wanted.k]
    return candidates[order], scores[order]


def _largest(values: Array, count: int) -> Indices:
    """Return the places of the largest finite values, in ascending order."""
    places = np.arange(len(values))
    if count < len(values):
        places = np.sort(np.argpartition(values, len(values) - count)[len(values) - count :])
    return places[values[places] > -np.inf]
