r"""Rank continuation: completion with increasing rank, for tables on which random starts fail.

Rank 1 starts with the dominant direction of the table, found by power iterations over sums. At each
rank conjugate gradients run until the cost hardly falls; then the dominant direction of the
*clipped* residual is added. Large residuals belong to single entries, and unclipped they would pull
the new direction towards single items. The final rank uses the block preconditioner.

If the table has few more known entries than degrees of freedom, a descent without regularisation
may progress very slowly, along directions that belong to single items. It is then stopped and
restarted with other random vectors, until one converges or two reach nearly equal costs, which
indicates that noise slowed them down. A table without noise is certified as recovered by its
residual, ‖P_Ω(UWᵀ − Y)‖ ≤ 1e-9·‖P_Ω(Y)‖.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems.base import CompletesRatings
from grassvine.sums.conjugate_gradient import (
    Descent,
    DescentResult,
    StoppingRule,
    conjugate_gradient,
)
from grassvine.sums.preconditioners import ItemBlocks, ItemScaling
from grassvine.sums.program import Iterate, Subprogram, all_reduce, decide

FIRST_POWERS, LATER_POWERS = 8, 6  # power iterations
INTERMEDIATE = StoppingRule(tol=1e-8, max_iter=30, n_iter_no_change=2)
MAX_FINAL_ITER = 250
# A descent that will converge reduces its gradient norm within this number of iterations.
N_ITER_NO_CHANGE, STEADY = 12, 0.1
MAX_ATTEMPTS = 5
EQUAL_COST = 0.05  # relative difference
RECOVERED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Pooled statistics: the share of users who rated each item, and the density of the table.

    ``shares`` include λ + μ; ``energy`` is ‖P_Ω(Y)‖².
    """

    shares: Array
    density: float
    energy: float


def complete_by_rank(problem: CompletesRatings, rank: int, seed: int, tol: float) -> Descent:
    """Minimise the cost of all agents, increasing the rank from 1."""
    unregularised = not problem.alpha
    problem = _without_interpolated(problem, rank) if unregularised else problem
    known = yield from add_known(problem)
    final = StoppingRule(tol, MAX_FINAL_ITER)
    if not unregularised:
        return (yield from _attempt(problem, rank, seed, known, final))
    stopping = replace(final, n_iter_no_change=N_ITER_NO_CHANGE, steady=STEADY)
    first = best = yield from _attempt(problem, rank, seed, known, stopping)
    for attempt in range(1, MAX_ATTEMPTS):
        if best.converged:
            break
        other = yield from _attempt(problem, rank, seed, known, stopping, attempt)
        lower = yield from decide(other.point.cost < best.point.cost)
        best, worse = (other, best) if lower else (best, other)
        if (yield from decide(worse.point.cost <= (1.0 + EQUAL_COST) * best.point.cost)):
            break
    if not first.converged:  # a replayed program does not know the errors of its attempts
        best = replace(best, point=replace(best.point, mse=math.nan))
    if not best.converged:
        blocks = ItemBlocks(problem, known.density)
        best = yield from conjugate_gradient(problem, best.point.basis, blocks, final)
    if (yield from decide(recovered(best, known))):
        return replace(best, reason=f"the table is recovered: {best.reason}")
    return best


def recovered(descent: DescentResult, known: Known) -> bool:
    """Return whether the residual vanishes at the known entries: the certificate of recovery."""
    return math.sqrt(descent.point.squared_error) <= RECOVERED * math.sqrt(known.energy)


def add_known(problem: CompletesRatings) -> Subprogram[Known]:
    """Sum the number of ratings of each item, the number of users, and the squared ratings."""
    ratings = problem.ratings
    counts, n_users, energy = yield from all_reduce(
        Iterate(np.zeros((ratings.n_items, 0))),
        lambda: (
            np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64),
            float(ratings.n_users),
            float(ratings.values @ ratings.values),
        ),
    )
    density = float(counts.sum()) / (ratings.n_items * float(n_users))
    # Count an unrated item as rated once, so that rounding does not move its row.
    shares = np.maximum(counts, 1.0) / float(n_users)
    return Known(shares + problem.alpha, density, float(energy))


def _attempt(
    problem: CompletesRatings,
    rank: int,
    seed: int,
    known: Known,
    stopping: StoppingRule,
    attempt: int = 0,
) -> Descent:
    """Increase the rank once from 1, and minimise at the final rank."""
    preconditioner = ItemScaling(known.shares)
    basis = np.zeros((problem.n_items, 0))
    for size in range(1, rank):
        basis = yield from widened(problem, basis, seed, attempt)
        descent = yield from conjugate_gradient(problem, basis, preconditioner, INTERMEDIATE)
        basis = descent.point.basis
        assert basis.shape[1] == size
    basis = yield from widened(problem, basis, seed, attempt)
    blocks = ItemBlocks(problem, known.density)
    return (yield from conjugate_gradient(problem, basis, blocks, stopping))


def _without_interpolated(problem: CompletesRatings, rank: int) -> CompletesRatings:
    """Exclude users with at most ``rank`` entries, which any basis fits exactly at λ = 0."""
    ratings = problem.ratings
    counts = np.diff(ratings.starts)
    kept = ratings.take_values(np.repeat(counts > rank, counts))
    return problem.with_ratings(kept)


def widened(
    problem: CompletesRatings, basis: Array, seed: int, attempt: int = 0
) -> Subprogram[Array]:
    """Return the basis extended by the dominant direction of the clipped residual."""
    ratings = problem.ratings
    size = basis.shape[1]
    iterate = Iterate(basis)

    @cache
    def residuals() -> Array:
        return problem.residuals(basis) if size else ratings.values

    sums = yield from all_reduce(
        iterate, lambda: (float(np.abs(residuals()).sum()), float(ratings.n_values))
    )
    bound = 2.0 * float(sums[0]) / max(float(sums[1]), 1.0)

    @cache
    def table() -> Any:
        from scipy.sparse import csr_array  # slow to import, and only completion needs it

        clipped = np.clip(residuals(), -bound, bound)
        shape = (ratings.n_users, ratings.n_items)
        return csr_array((clipped, ratings.items, ratings.starts), shape=shape)

    def gram_product(direction: Array) -> tuple[Array]:
        return (table().T @ (table() @ direction),)

    rng = stream(seed, "start", "direction", size, attempt)
    direction = _orthogonalised(basis, rng.standard_normal(ratings.n_items))
    for _ in range(LATER_POWERS if size else FIRST_POWERS):
        (power,) = yield from all_reduce(iterate, partial(gram_product, direction))
        # If the residual is zero, any direction will do.
        if (yield from decide(not power.any())):
            break
        direction = _orthogonalised(basis, power)
    return np.ascontiguousarray(np.column_stack([basis, direction]))


def _orthogonalised(basis: Array, vector: Array) -> Array:
    """Return the normalised component of a vector that is orthogonal to a basis."""
    # Twice: normalising a short remainder magnifies the rounding errors of the first pass.
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
    return vector
