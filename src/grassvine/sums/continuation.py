r"""Completion rank by rank: how to start where random starts stick.

Rank 1 begins with the dominant direction of the table, found by power iterations over sums. At each
rank conjugate gradients run until the cost hardly falls; then the dominant direction of the
*clipped* residual is added. Large residuals belong to single entries, and unclipped they would pull
the new direction to single items. The last rank is descended with the block preconditioner.

Where little more is known than a table of that rank has degrees of freedom, a descent without
penalties may creep along for ever, on directions that belong to single items. It is interrupted
then and begun anew with other random vectors, until one settles at a minimum or two come equally
far: then it was noise that slowed them. The certificate that a table without noise is recovered is
its residual, ‖P_Ω(UWᵀ − Y)‖ ≤ 1e-9·‖P_Ω(Y)‖.
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
from grassvine.sums.program import Iterate, Subprogram, all_reduce

FIRST_POWERS, LATER_POWERS = 8, 6  # power iterations
BETWEEN = StoppingRule(tol=1e-8, max_iter=30, n_iter_no_change=2)
MOST_AT_THE_END = 250  # iterations
# A descent that is going to settle shortens its gradient meanwhile.
PATIENCE, STEADY = 12, 0.1
MOST_ATTEMPTS = 5
EQUAL = 0.05  # of the cost
RECOVERED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What all agents know together: the share of the users of each item, and of the table.

    ``shares`` have λ + μ added; ``energy`` is ‖P_Ω(Y)‖².
    """

    shares: Array
    density: float
    energy: float


def complete_by_rank(problem: CompletesRatings, rank: int, seed: int, tol: float) -> Descent:
    """Minimise the cost of all agents, from rank 1 upwards."""
    free = not problem.alpha
    problem = _without_carried(problem, rank) if free else problem
    known = yield from add_known(problem)
    to_the_end = StoppingRule(tol, MOST_AT_THE_END)
    if not free:
        return (yield from _attempt(problem, rank, seed, known, to_the_end))
    stopping = replace(to_the_end, n_iter_no_change=PATIENCE, steady=STEADY)
    best = yield from _attempt(problem, rank, seed, known, stopping)
    for attempt in range(1, MOST_ATTEMPTS):
        if best.converged:
            break
        other = yield from _attempt(problem, rank, seed, known, stopping, attempt)
        best, worse = sorted((best, other), key=lambda descent: descent.point.cost)
        if worse.point.cost <= (1.0 + EQUAL) * best.point.cost:
            break
    if not best.converged:
        blocks = ItemBlocks(problem, known.density)
        best = yield from conjugate_gradient(problem, best.point.basis, blocks, to_the_end)
    if recovered(best, known):
        return replace(best, reason=f"the table is recovered: {best.reason}")
    return best


def recovered(descent: DescentResult, known: Known) -> bool:
    """Tell whether nothing is left of the known entries: the certificate of a noiseless table."""
    return math.sqrt(descent.point.squared_error) <= RECOVERED * math.sqrt(known.energy)


def add_known(problem: CompletesRatings) -> Subprogram[Known]:
    """Add up which share of the users rated each item, of the table, and the squares of all."""
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
    # An item that nobody rated counts as rated once: its row must not move by rounding.
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
    """Go up the ranks once, and down to a minimum at the last."""
    preconditioner = ItemScaling(known.shares)
    basis = np.zeros((problem.n_items, 0))
    for size in range(1, rank):
        basis = yield from widened(problem, basis, seed, attempt)
        descent = yield from conjugate_gradient(problem, basis, preconditioner, BETWEEN)
        basis = descent.point.basis
        assert basis.shape[1] == size
    basis = yield from widened(problem, basis, seed, attempt)
    blocks = ItemBlocks(problem, known.density)
    return (yield from conjugate_gradient(problem, basis, blocks, stopping))


def _without_carried(problem: CompletesRatings, rank: int) -> CompletesRatings:
    """Set users aside whose entries any basis fits: at λ = 0 those with no more than the rank."""
    ratings = problem.ratings
    counts = np.diff(ratings.starts)
    kept = ratings.take_values(np.repeat(counts > rank, counts))
    return problem.with_ratings(kept)


def widened(
    problem: CompletesRatings, basis: Array, seed: int, attempt: int = 0
) -> Subprogram[Array]:
    """Return the basis with the dominant direction of the clipped residual beside it."""
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
        from scipy.sparse import csr_array  # takes long to import, and only completion needs it

        clipped = np.clip(residuals(), -bound, bound)
        shape = (ratings.n_users, ratings.n_items)
        return csr_array((clipped, ratings.items, ratings.starts), shape=shape)

    def pushed(direction: Array) -> tuple[Array]:
        return (table().T @ (table() @ direction),)

    rng = stream(seed, "start", "direction", size, attempt)
    direction = _away_from(basis, rng.standard_normal(ratings.n_items))
    for _ in range(LATER_POWERS if size else FIRST_POWERS):
        (power,) = yield from all_reduce(iterate, partial(pushed, direction))
        if not power.any():  # nothing is left: any direction will do
            break
        direction = _away_from(basis, power)
    return np.ascontiguousarray(np.column_stack([basis, direction]))


def _away_from(basis: Array, vector: Array) -> Array:
    """Return the unit vector of the part that is orthogonal to a basis."""
    # Twice: once leaves a part of the size of rounding, which a short rest would magnify.
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
    return vector
