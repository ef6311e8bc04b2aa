"""Estimates of the share of a program that is done, for displays of progress.

Programs end when they have converged, so the share is a guess: from the fall of the gradient norm,
which is about geometric, and from the number of ranks and candidates that usually are tried. An
estimate never falls.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from grassvine.sums.candidates import CandidateLog
from grassvine.sums.program import Iterate, Program, map_iterates

# What a search usually takes: candidates of the biases alone, candidates per rank, sums per fit.
BIAS_CANDIDATES, RANK_CANDIDATES, FIT_SUMS = 3, 6, 15
BELOW_LAST_RANK = 0.5  # share of the ranks before the last
MOST = 0.99  # until the program has ended

Estimate = Callable[[Iterate], float]


def with_share(program: Program, estimate: Estimate) -> Program:
    """Run a program with the estimated share added to its iterates."""
    highest = 0.0

    def change(iterate: Iterate) -> Iterate:
        nonlocal highest
        highest = min(max(highest, estimate(iterate)), MOST)
        return replace(iterate, share=highest)

    return map_iterates(program, change)


def descent_share(rank: int, tol: float) -> Estimate:
    """Estimate the share of a descent to a rank, whose gradient norm falls by the factor tol."""
    first: float | None = None
    before = 0.0

    def estimate(iterate: Iterate) -> float:
        nonlocal first, before
        size, norm = iterate.basis.shape[1], iterate.gradient_norm
        if size < rank:
            before = BELOW_LAST_RANK
            return BELOW_LAST_RANK * (size / rank) ** 2
        if math.isnan(norm):
            return 0.0
        first = first or norm
        fallen = math.log(first / norm) / -math.log(tol) if first and norm and 0 < tol < 1 else 0.0
        return before + (1.0 - before) * fallen

    return estimate


def selection_share(ranks: Sequence[int], log: CandidateLog) -> Estimate:
    """Estimate the share of a search over ranks, with the biases alone before and a fit after.

    The time of a pass grows about linearly with the rank.
    """
    stages = [(0, BIAS_CANDIDATES), *((rank, RANK_CANDIDATES) for rank in ranks if rank)]
    stages.append((max(ranks, default=0), 1))
    efforts = [(12 + rank) * count for rank, count in stages]

    def estimate(iterate: Iterate) -> float:
        ended = log.chosen >= 0
        tried = [int(row["rank"]) for row in log.rows]
        sums = log.n_sums - (int(log.rows[-1]["n_sums"]) if log.rows else 0)
        rank = iterate.basis.shape[1] if log.rows else 0
        stage = len(stages) - 1 if ended else [size for size, _ in stages].index(rank)
        count = 0 if ended else tried.count(rank)
        within = min((count + sums / (sums + FIT_SUMS)) / stages[stage][1], 1.0)
        return (sum(efforts[:stage]) + within * efforts[stage]) / sum(efforts)

    return estimate
