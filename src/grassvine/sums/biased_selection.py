"""Choose the penalties of ratings with offsets on entries that every agent holds out of its own.

Nothing but sums is sent. With n/m ratings an item and n/u a user of deviation σ, pure noise has
singular values up to about σ(√(n/m) + √(n/u)), and the nuclear norm forgets what is smaller than μ;
so μ is sought as a share of that scale, in ``STRENGTHS``, from large to small, each fit beginning
at the one before, until the held-out error rises. μ_b has no unit; after the first of
``BIAS_REGULARIZATIONS`` the others are tried with the best μ. The best is fitted again to all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.data import Ratings, hold_out_of_users
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.problems.biased_ratings import BiasedRatings
from grassvine.sums.biased_fit import (
    BiasedEvaluation,
    StoppingCriteria,
    minimise,
    scaled_start,
    sum_statistics,
)
from grassvine.sums.program import Iterate, Program, ProgramOutcome, Subprogram, all_reduce

# The candidates: μ as shares of the scale of noise, and μ_b.
STRENGTHS = tuple(2.0 ** (-k / 2) for k in range(13))
BIAS_REGULARIZATIONS = (3.0, 1.0, 10.0)
# A large μ puts factors to sleep near 0, where the gradient is 0 too. Left alone they would wake
# out of rounding, which no two divisions of the users share; a little of the start wakes them all.
WAKE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A share of the scale of noise, where it led, and the mean squared error held out."""

    strength: float
    evaluation: BiasedEvaluation
    error: float


Trying: TypeAlias = Subprogram[Candidate]


def choose_biased(
    ratings: Ratings,
    start: Array,
    *,
    ranks: Sequence[int] = (),
    share: float = 0.1,
    seed: int = 0,
    threads: int = 1,
    criteria: StoppingCriteria | None = None,
) -> Program:
    """Choose μ, μ_b and the rank on a share of the entries, then fit to all of them.

    Parameters
    ----------
    ratings : Ratings
        The entries of this agent's users.
    start : items×rank array
        Orthonormal, the same for all agents; a smaller rank begins with its first columns.
    ranks : sequence of int
        Which ranks to try; by default that of the start.
    share, seed : float, int
        How many of the entries are held out, and a number for the draw.
    threads : int
        How many blocks of users are worked on at once.
    effort : Effort
        How long to go on with each fit.
    """
    start = as_matrix(start, n_items=ratings.n_items, name="start")
    criteria = criteria or StoppingCriteria()
    rest, held = hold_out_of_users(ratings, share, seed)
    statistics = yield from sum_statistics(rest, Iterate(start))

    def attempt(strength: float, bias_regularization: float, point: Array) -> Trying:
        problem = BiasedRatings(
            rest, strength * statistics.noise_scale, bias_regularization, threads
        )
        evaluation, _ = yield from minimise(problem, statistics, point, criteria)
        model = evaluation.iterate

        def own() -> tuple[float, float]:
            users, items = held.users_of_values(), held.items
            found = problem.predict(model.factors, model.item_biases, model.centre, users, items)
            return float(np.sum((found - held.values) ** 2)), float(held.n_values)

        error, count = yield from all_reduce(model, own)
        return Candidate(strength, evaluation, float(error) / max(float(count), 1.0))

    best_of_ranks: list[Candidate] = []
    for rank in ranks or (start.shape[1],):
        first = scaled_start(start[:, :rank], statistics)
        best = yield from attempt(STRENGTHS[0], BIAS_REGULARIZATIONS[0], first)
        for strength in STRENGTHS[1:]:
            awake = best.evaluation.point + WAKE * first
            candidate = yield from attempt(strength, BIAS_REGULARIZATIONS[0], awake)
            if candidate.error > best.error:
                break
            best = candidate
        # For each rank: where μ_b is too large, a factor more may stand in for the biases.
        for bias_regularization in BIAS_REGULARIZATIONS[1:]:
            candidate = yield from attempt(
                best.strength, bias_regularization, best.evaluation.point
            )
            best = min(best, candidate, key=lambda candidate: candidate.error)
        best_of_ranks.append(best)
    best = min(best_of_ranks, key=lambda candidate: candidate.error)

    chosen = best.evaluation.iterate
    statistics = yield from sum_statistics(ratings, chosen)
    problem = BiasedRatings(
        ratings, best.strength * statistics.noise_scale, chosen.bias_regularization, threads
    )
    evaluation, reason = yield from minimise(problem, statistics, best.evaluation.point, criteria)
    return ProgramOutcome(evaluation.iterate, reason)


def most_sums(criteria: StoppingCriteria, n_ranks: int) -> int:
    """Return how many sums :func:`choose_offsets` may take."""
    n_candidates = n_ranks * (len(STRENGTHS) + len(BIAS_REGULARIZATIONS) - 1)
    return 2 + n_candidates * (criteria.max_iter + 1) + criteria.max_iter
