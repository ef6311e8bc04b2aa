"""Choose the penalties of ratings with offsets on entries that every agent holds out of its own.

Nothing but sums is sent. With n/m ratings an item and n/u a user of deviation σ, pure noise has
singular values up to about σ(√(n/m) + √(n/u)), and the nuclear norm forgets what is smaller than μ;
so μ is sought as a share of that scale, in ``STRENGTHS``, from large to small, each fit beginning
at the one before, until the held-out error rises. μ_b has no unit; after ``BIAS_PENALTIES[0]`` the
others are tried with the best μ. The best is fitted again to everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.data import Ratings, hold_out_of_users
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.problems.biased_ratings import OffsetRatings
from grassvine.sums.biased_fit import (
    Effort,
    Look,
    add_totals,
    descend_offsets,
    scaled_start,
)
from grassvine.sums.program import Adding, Ending, Program, Standing, add_up

# The candidates: μ as shares of the scale of noise, and μ_b.
STRENGTHS = tuple(2.0 ** (-k / 2) for k in range(13))
BIAS_PENALTIES = (3.0, 1.0, 10.0)
# A large μ puts factors to sleep near 0, where the gradient is 0 too. Left alone they would wake
# out of rounding, which no two divisions of the users share; a little of the start wakes them all.
WAKE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A share of the scale of noise, where it led, and the mean squared error held out."""

    strength: float
    look: Look
    error: float


Trying: TypeAlias = Adding[Candidate]


def choose_offsets(
    ratings: Ratings,
    start: Array,
    *,
    ranks: Sequence[int] = (),
    share: float = 0.1,
    seed: int = 0,
    threads: int = 1,
    effort: Effort | None = None,
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
    effort = effort or Effort()
    rest, held = hold_out_of_users(ratings, share, seed)
    totals = yield from add_totals(rest, Standing(start))

    def attempt(strength: float, mu_b: float, point: Array) -> Trying:
        problem = OffsetRatings(rest, strength * totals.noise_scale, mu_b, threads)
        look, _ = yield from descend_offsets(problem, totals, point, effort)
        model = look.standing

        def own() -> tuple[float, float]:
            users, items = held.users_of_values(), held.items
            found = problem.predict(model.factors, model.offsets, model.centre, users, items)
            return float(np.sum((found - held.values) ** 2)), float(held.n_values)

        error, count = yield from add_up(model, own)
        return Candidate(strength, look, float(error) / max(float(count), 1.0))

    best_of_ranks: list[Candidate] = []
    for rank in ranks or (start.shape[1],):
        first = scaled_start(start[:, :rank], totals)
        best = yield from attempt(STRENGTHS[0], BIAS_PENALTIES[0], first)
        for strength in STRENGTHS[1:]:
            awake = best.look.point + WAKE * first
            candidate = yield from attempt(strength, BIAS_PENALTIES[0], awake)
            if candidate.error > best.error:
                break
            best = candidate
        # For each rank: where μ_b is too large, a factor more may stand in for the biases.
        for mu_b in BIAS_PENALTIES[1:]:
            candidate = yield from attempt(best.strength, mu_b, best.look.point)
            best = min(best, candidate, key=lambda candidate: candidate.error)
        best_of_ranks.append(best)
    best = min(best_of_ranks, key=lambda candidate: candidate.error)

    chosen = best.look.standing
    totals = yield from add_totals(ratings, chosen)
    problem = OffsetRatings(ratings, best.strength * totals.noise_scale, chosen.mu_b, threads)
    look, reason = yield from descend_offsets(problem, totals, best.look.point, effort)
    return Ending(look.standing, reason)


def most_sums(effort: Effort, n_ranks: int) -> int:
    """Return how many sums :func:`choose_offsets` may take."""
    n_candidates = n_ranks * (len(STRENGTHS) + len(BIAS_PENALTIES) - 1)
    return 2 + n_candidates * (effort.max_passes + 1) + effort.max_passes
