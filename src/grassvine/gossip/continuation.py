r"""Completion rank by rank: how to start where random starts stick.

Rank 1 begins with the dominant direction of the table, found by power iterations over sums. At each
rank conjugate gradients run until the cost hardly falls; then the dominant direction of the
*clipped* residual is added. Large residuals belong to single entries, and unclipped they would pull
the new direction to single items. The last rank is descended with the block preconditioner.
"""

from collections.abc import Generator

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.gossip.conjugate import Descending, Rules, descend_together
from grassvine.gossip.dividers import ItemBlocks, ItemShares
from grassvine.gossip.sums import Part, Standing, add_up
from grassvine.problems.completion import CompletionProblem

FIRST_POWERS, LATER_POWERS = 8, 6  # power iterations
BETWEEN = Rules(tolerance=1e-8, max_iterations=30, patience=2)
MOST_AT_THE_END = 250  # iterations


def complete_by_rank(
    problem: CompletionProblem, rank: int, seed: int, tolerance: float
) -> Descending:
    """Minimise the cost of all agents, from rank 1 upwards."""
    problem = _without_carried(problem, rank)
    shares, density = yield from item_shares(problem)
    divider = ItemShares(shares)
    basis = np.zeros((problem.n_items, 0))
    for size in range(1, rank):
        basis = yield from widened(problem, basis, seed)
        descent = yield from descend_together(problem, basis, divider, BETWEEN)
        basis = descent.point.basis
        assert basis.shape[1] == size
    basis = yield from widened(problem, basis, seed)
    rules = Rules(tolerance, MOST_AT_THE_END)
    return (yield from descend_together(problem, basis, ItemBlocks(problem, density), rules))


def item_shares(problem: CompletionProblem) -> Generator[Part, Array, tuple[Array, float]]:
    """Add up which share of the users rated each item, with λ + μ; and the known share of all."""
    ratings = problem.ratings
    rated = np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64)
    standing = Standing(np.zeros((ratings.n_items, 0)))
    counts, n_users = yield from add_up(standing, rated, float(ratings.n_users))
    # An item that nobody rated counts as rated once: its row must not move by rounding.
    shares = np.maximum(counts, 1.0) / float(n_users)
    density = float(counts.sum()) / (ratings.n_items * float(n_users))
    return shares + problem.unobserved + problem.tikhonov, density


def _without_carried(problem: CompletionProblem, rank: int) -> CompletionProblem:
    """Set users aside whose entries any basis fits: at λ = 0 those with no more than the rank."""
    if problem.unobserved or problem.tikhonov:
        return problem
    ratings = problem.ratings
    counts = np.diff(ratings.starts)
    kept = ratings.take_values(np.repeat(counts > rank, counts))
    return CompletionProblem(kept, threads=problem.threads)


def widened(problem: CompletionProblem, basis: Array, seed: int) -> Generator[Part, Array, Array]:
    """Return the basis with the dominant direction of the clipped residual beside it."""
    from scipy.sparse import csr_array  # takes long to import, and only completion needs it

    ratings = problem.ratings
    size = basis.shape[1]
    standing = Standing(basis)
    residuals = problem.residuals(basis) if size else ratings.values
    sums = yield from add_up(standing, float(np.abs(residuals).sum()), float(ratings.n_values))
    bound = 2.0 * float(sums[0]) / max(float(sums[1]), 1.0)
    clipped = np.clip(residuals, -bound, bound)
    shape = (ratings.n_users, ratings.n_items)
    table = csr_array((clipped, ratings.items, ratings.starts), shape=shape)
    start = stream(seed, "start", "direction", size).standard_normal(ratings.n_items)
    direction = _away_from(basis, start)
    for _ in range(LATER_POWERS if size else FIRST_POWERS):
        (power,) = yield from add_up(standing, table.T @ (table @ direction))
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
