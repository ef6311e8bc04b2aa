r"""Rank continuation: completion with increasing rank, for tables on which random starts fail.

Rank 1 starts with the dominant direction of the table, found by power iterations over sums. At each
rank conjugate gradients run until the cost hardly falls; then the dominant direction of the
*clipped* residual is added. The final rank uses the block preconditioner.

If the table has few more known entries than degrees of freedom, a descent without regularisation
may progress very slowly, along directions that belong to single items. It is then stopped and
restarted with other random vectors, until one converges or two reach nearly equal costs, which
indicates that noise slowed them down. If none converges, the last descent starts from variational
Bayes (:mod:`grassvine.sums.recovery`). A table without noise is certified as recovered if its
residual vanishes, ‖P_Ω(UWᵀ − Y)‖ ≤ 1e-9·‖P_Ω(Y)‖, and the known entries determine the others
(:mod:`grassvine.sums.recovery.certificate`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems.base import CompletesRatings
from grassvine.sums.descent.conjugate_gradient import (
    Descent,
    DescentResult,
    StoppingRule,
    conjugate_gradient,
)
from grassvine.sums.descent.directions import clipped_direction
from grassvine.sums.descent.points import Point
from grassvine.sums.descent.preconditioners import ItemBlocks, ItemScaling
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    all_reduce,
    decide,
)
from grassvine.sums.recovery import CLIPS, determined, variational_basis

CLIP = 2.0  # mean absolute residuals
INTERMEDIATE = StoppingRule(tol=1e-8, max_iter=30, n_iter_no_change=2)
MAX_FINAL_ITER = 250
# A descent that will converge reduces its gradient norm within this number of iterations.
N_ITER_NO_CHANGE, STEADY = 12, 0.1
MAX_ATTEMPTS = 5
EQUAL_COST, SAME_COST = 0.01, 1e-3  # relative differences, among descents and to the best of them
FITTED = 1e-9  # residual relative to the data
NEARLY_FITTED = 1e-8  # below, descend as far as rounding allows


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Pooled statistics: the share of users who rated each item, and the density of the table.

    ``shares`` include λ + μ, which is ``alpha``; ``energy`` is ‖P_Ω(Y)‖².
    """

    shares: Array
    density: float
    energy: float
    alpha: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CompletedIterate(Iterate):
    """The result of a completion without regularisation: whether the table is recovered."""

    recovered: bool

    def arrays(self) -> dict[str, Array]:
        """Return the basis, and ``recovered`` as 0 or 1."""
        return {"basis": self.basis, "recovered": np.array([float(self.recovered)])}


def complete_by_rank(problem: CompletesRatings, rank: int, seed: int, tol: float) -> Program:
    """Minimise the cost of all agents, increasing the rank from 1."""
    given, n_items, alpha = own_problem(problem), problem.n_items, problem.alpha
    final = StoppingRule(tol, MAX_FINAL_ITER)
    if alpha:
        known = yield from add_known(given, n_items, alpha)
        descent = yield from _attempt(given, rank, seed, known, final)
        return ProgramOutcome(descent.point.iterate, descent.reason)
    stopping = replace(final, n_iter_no_change=N_ITER_NO_CHANGE, steady=STEADY)
    ratings = Own(lambda data: data[given].ratings)
    solved = Own(lambda data: _without_interpolated(data[given], rank))
    known = yield from add_known(solved, n_items, 0.0)
    first = best = yield from _attempt(solved, rank, seed, known, stopping)
    for attempt in range(1, MAX_ATTEMPTS):
        if best.converged:
            break
        other = yield from _attempt(solved, rank, seed, known, stopping, attempt)
        lower = yield from decide(other.point.cost < best.point.cost)
        best, worse = (other, best) if lower else (best, other)
        if (yield from decide(worse.point.cost <= (1.0 + EQUAL_COST) * best.point.cost)):
            break
    stuck = not best.converged
    if not first.converged:  # a replayed program does not know the errors of its attempts
        best = _replayable(best)
    if stuck:
        best = yield from _continued(solved, best, known, final)
        # Where it converges now, the residual is noise.
        if not best.converged and not (yield from decide(fitted(best, known))):
            other = yield from _variational(solved, rank, seed, known, stopping, best.point.cost)
            if (yield from decide(other.point.cost < best.point.cost)):
                best = _replayable(other)
                if not (yield from decide(fitted(best, known))):
                    best = yield from _continued(solved, best, known, final)
    return (yield from _certified(solved, ratings, best, known, final))


def _certified(
    problem: Own[CompletesRatings],
    ratings: Own[Ratings],
    found: DescentResult,
    known: Known,
    stopping: StoppingRule,
) -> Program:
    """Return the result of a completion without regularisation, certified if it is the table."""
    if not (yield from decide(fitted(found, known))):
        if not (yield from decide(fitted(found, known, NEARLY_FITTED))):
            return _outcome(found.point, found.reason, recovered=False)
        found = yield from _continued(problem, found, known, replace(stopping, tol=0.0))
        if not (yield from decide(fitted(found, known))):
            return _outcome(found.point, found.reason, recovered=False)
    relative = math.sqrt(found.point.squared_error / known.energy) if known.energy else 0.0
    if (yield from determined(problem, ratings, found.point, relative)):
        return _outcome(found.point, f"the table is recovered: {found.reason}", recovered=True)
    # What the entries hardly determine is wrong by a large multiple of the residual that is left.
    found = yield from _continued(problem, found, known, replace(stopping, tol=0.0))
    reason = "the known entries are fitted, but do not determine all others"
    return _outcome(found.point, reason, recovered=False)


def _outcome(point: Point, reason: str, *, recovered: bool) -> ProgramOutcome:
    norm = float(np.linalg.norm(point.gradient))
    iterate = CompletedIterate(point.basis, point.cost, norm, mse=point.mse, recovered=recovered)
    return ProgramOutcome(iterate, reason)


def _variational(
    problem: Own[CompletesRatings],
    rank: int,
    seed: int,
    known: Known,
    stopping: StoppingRule,
    lowest: float,
) -> Descent:
    """Descend from starts by variational Bayes, until one is certified or reaches equal costs.

    ``lowest`` is the cost that rank continuation reached.
    """
    best: DescentResult | None = None
    for attempt in range(len(CLIPS)):
        basis = yield from variational_basis(problem, len(known.shares), rank, seed, attempt)
        blocks = ItemBlocks(problem, known.density, known.alpha)
        found = yield from conjugate_gradient(problem, basis, blocks, stopping)
        cost = found.point.cost
        if best is None or (yield from decide(cost < best.point.cost)):
            best = found
        if (yield from decide(fitted(found, known))):
            break
        if (yield from decide(abs(cost - lowest) <= SAME_COST * lowest)):
            break
        lowest = min(cost, lowest)
    assert best is not None
    return best


def _continued(
    problem: Own[CompletesRatings], found: DescentResult, known: Known, stopping: StoppingRule
) -> Descent:
    """Descend further."""
    blocks = ItemBlocks(problem, known.density, known.alpha)
    return (yield from conjugate_gradient(problem, found.point.basis, blocks, stopping))


def _replayable(found: DescentResult) -> DescentResult:
    """Forget the errors at the agents' own values, which a replayed program does not know."""
    return replace(found, point=replace(found.point, mse=None))


def fitted(descent: DescentResult, known: Known, tol: float = FITTED) -> bool:
    """Return whether the residual vanishes at the known entries."""
    return math.sqrt(descent.point.squared_error) <= tol * math.sqrt(known.energy)


def add_known(problem: Own[CompletesRatings], n_items: int, alpha: float) -> Subprogram[Known]:
    """Sum the number of ratings of each item, the number of users, and the squared ratings."""

    def own(data: Data) -> tuple[Array, float, float]:
        ratings = data[problem].ratings
        counts = ratings.item_counts().astype(np.float64)
        return counts, float(ratings.n_users), float(ratings.values @ ratings.values)

    counts, n_users, energy = yield from all_reduce(Iterate(np.zeros((n_items, 0))), own)
    density = float(counts.sum()) / (n_items * float(n_users))
    # Count an unrated item as rated once, so that rounding does not move its row.
    shares = np.maximum(counts, 1.0) / float(n_users)
    return Known(shares + alpha, density, float(energy), alpha)


def _attempt(
    problem: Own[CompletesRatings],
    rank: int,
    seed: int,
    known: Known,
    stopping: StoppingRule,
    attempt: int = 0,
) -> Descent:
    """Increase the rank once from 1, and minimise at the final rank."""
    preconditioner = ItemScaling(known.shares)
    basis = np.zeros((len(known.shares), 0))
    for size in range(1, rank):
        basis = yield from widened(problem, basis, seed, attempt)
        descent = yield from conjugate_gradient(problem, basis, preconditioner, INTERMEDIATE)
        basis = descent.point.basis
        assert basis.shape[1] == size
    basis = yield from widened(problem, basis, seed, attempt)
    blocks = ItemBlocks(problem, known.density, known.alpha)
    return (yield from conjugate_gradient(problem, basis, blocks, stopping))


def _without_interpolated(problem: CompletesRatings, rank: int) -> CompletesRatings:
    """Exclude users with at most ``rank`` entries, which any basis fits exactly at λ = 0."""
    ratings = problem.ratings
    counts = np.diff(ratings.starts)
    kept = ratings.take_values(np.repeat(counts > rank, counts))
    return problem.with_ratings(kept)


def widened(
    problem: Own[CompletesRatings], basis: Array, seed: int, attempt: int = 0
) -> Subprogram[Array]:
    """Return the basis extended by the dominant direction of the clipped residual."""
    size = basis.shape[1]
    ratings = Own(lambda data: data[problem].ratings)

    def residuals(data: Data) -> Array:
        return data[problem].residuals(basis) if size else data[ratings].values

    rng = stream(seed, "start", "direction", size, attempt)
    found = yield from clipped_direction(ratings, Own(residuals), Iterate(basis), basis, rng, CLIP)
    return np.ascontiguousarray(np.column_stack([basis, found.direction]))
