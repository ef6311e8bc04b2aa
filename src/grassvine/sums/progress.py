"""What the iterates of a program tell of its progress: candidates validated, and the share done.

All agents know every held-out error, because it is a sum; so each agent's state contains the same
table, with one row per candidate in the order of evaluation.

Programs end when they have converged, so the share is a guess: from the fall of the gradient norm,
which is about geometric, and from the number of ranks and candidates that usually are tried. An
estimate never falls.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.sums.program import Iterate, Program, map_iterates

PREFIX = "candidate_"  # of the names of the columns in an agent's state

# What a search usually takes: candidates of the biases alone, candidates per rank, sums per fit.
BIAS_CANDIDATES, RANK_CANDIDATES, FIT_SUMS = 3, 6, 15
BELOW_LAST_RANK = 0.5  # share of the ranks before the last
MOST = 0.99  # until the program has ended

Estimate = Callable[[Iterate], float]


@dataclass(slots=True)
class CandidateLog:
    """A record of the candidates of one program.

    Attributes
    ----------
    rows : list of dict
        Values of each candidate: its rank, its regularisation, its held-out ``rmse``, and
        ``n_sums``, the number of sums of the program up to this error.
    chosen : int
        The row that was chosen; −1 until then.
    n_sums : int
        Number of sums begun.
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    chosen: int = -1
    n_sums: int = 0

    def record(self, **values: float) -> int:
        """Add a candidate and return its row."""
        self.rows.append({**values, "n_sums": self.n_sums})
        return len(self.rows) - 1

    def columns(self) -> dict[str, Array]:
        """Return the table, with a column ``chosen`` of 0 and 1; empty without candidates."""
        if not self.rows:
            return {}
        found = {name: np.array([row[name] for row in self.rows], float) for name in self.rows[0]}
        return {**found, "chosen": (np.arange(len(self.rows)) == self.chosen).astype(float)}


def with_candidates(program: Program, log: CandidateLog) -> Program:
    """Run a program with the candidates of its log added to all its iterates.

    The errors of an agent's own values are omitted, because they belong to fits of different
    values, which the held-out errors of the candidates compare.
    """

    def counted(iterate: Iterate) -> Iterate:
        log.n_sums += 1
        return replace(iterate, candidates=log.columns(), mse=None)

    outcome = yield from map_iterates(program, counted)
    ending = replace(outcome.iterate, candidates=log.columns(), mse=None)
    return replace(outcome, iterate=ending)


def last_error(candidates: Mapping[str, Array]) -> float:
    """Return the held-out error of the last candidate; NaN before the first."""
    errors = candidates.get("rmse")
    return math.nan if errors is None else float(errors[-1])


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
