r"""A start for completion without noise: variational Bayes with a growing number of factors.

A descent at fixed rank gets stuck if a table has hardly more entries than degrees of freedom: it
fits single entries with directions of single items and users. Here both sides are uncertain, so
few entries say little, and a factor grows only as far as the entries agree on it. Factors are added
one at a time: the dominant direction of the *clipped* residuals, of the size that the unclipped
ones suggest. The last step of continuation turns the result into the table itself.
"""

import math
from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems.base import CompletesRatings
from grassvine.sums.descent.directions import clipped_direction
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce, decide
from grassvine.sums.recovery.model import (
    Counts,
    ItemPosterior,
    empty_posterior,
    improved,
    pass_over,
)

MAX_ITER, MAX_LAST_ITER = 40, 60  # per number of factors; each is one sum
CLIPS = (2.0, 1.5, 1.0)  # of the attempts, in mean absolute residuals
# The variance is steady if two steps in a row change it by less than this fraction.
STEADY, N_STEADY = 0.01, 2
FALLEN = 1e-2  # by which the last factor reduces the variance if the table has no noise


def variational_basis(
    problem: Own[CompletesRatings], n_items: int, rank: int, seed: int, attempt: int
) -> Subprogram[Array]:
    """Return a basis from which descents find the table, if it has no noise."""
    counts = yield from _counts(problem, Iterate(np.zeros((n_items, 0))))
    model = empty_posterior(n_items, counts)
    before = model.variance
    for size in range(1, rank + 1):
        model = yield from _widened(problem, model, counts, seed, attempt)
        last = size == rank
        goal = FALLEN * before if last else 0.0
        model = yield from _converged(problem, model, counts, goal, last=last)
        before = model.variance
    return model.basis


def _counts(problem: Own[CompletesRatings], iterate: Iterate) -> Subprogram[Counts]:
    def own(data: Data) -> tuple[float, float, float]:
        ratings = data[problem].ratings
        n_users = float(np.count_nonzero(np.diff(ratings.starts)))
        return n_users, float(ratings.n_values), float(ratings.values @ ratings.values)

    sums = yield from all_reduce(iterate, own)
    n_users, n_ratings, squares = map(float, sums)
    mean_square = yield from agree(squares / max(n_ratings, 1.0))
    return Counts(max(n_users, 1.0), max(n_ratings, 1.0), mean_square)


def _converged(
    problem: Own[CompletesRatings], model: ItemPosterior, counts: Counts, goal: float, *, last: bool
) -> Subprogram[ItemPosterior]:
    """Improve a model until its variance is steady, or below a goal."""

    def own(model: ItemPosterior, data: Data) -> tuple[Array, ...]:
        return pass_over(data[problem], model)[1]

    steady = 0
    for _ in range(MAX_LAST_ITER if last else MAX_ITER):
        sums = yield from all_reduce(Iterate(model.basis), partial(own, model))
        before = model.variance
        model = improved(model, counts, sums)
        change = abs(model.variance - before)
        steady = steady + 1 if (yield from decide(change < STEADY * before)) else 0
        if steady == N_STEADY or (yield from decide(model.variance < goal)):
            break
    return model


def _widened(
    problem: Own[CompletesRatings], model: ItemPosterior, counts: Counts, seed: int, attempt: int
) -> Subprogram[ItemPosterior]:
    """Return the model with one more factor."""
    n_items, size = model.means.shape
    iterate = Iterate(model.basis if size else model.means)
    ratings = Own(lambda data: data[problem].ratings)

    def residuals_of(data: Data) -> Array:
        return pass_over(data[problem], model)[0] if size else data[ratings].values

    residuals = Own(residuals_of)
    rng = stream(seed, "start", "variational", size, attempt)
    found = yield from clipped_direction(
        ratings, residuals, iterate, np.zeros((n_items, 0)), rng, CLIPS[attempt]
    )

    def own(data: Data) -> tuple[float, float, float]:
        clipped, whole = data[found.clipped], data[residuals]
        weights = data[found.product]
        return float(weights @ weights), float(whole @ whole), float(clipped @ clipped)

    weights, whole, clipped = map(float, (yield from all_reduce(iterate, own)))
    density = counts.n_ratings / (n_items * counts.n_users)
    scale = math.sqrt(weights * whole / clipped) / density if clipped else 0.0
    return model.appended(found.direction, scale, counts)
