"""Per-user ridge regressions of the model with biases, compiled once for all ranks.

For a user with ratings y of items with rows u = (A_i, 1) and common terms o = μ₀ + c_i, with
A = Σ u uᵀ and b = Σ (y − o)u:

    S v = b,  S = A + R,   v = (w, a),   e = u·v + o − y

where R (``ridge``) is diagonal: μ for the weights, μ_b for the bias. The computation is
organised as in ``problems/_kernels.py``.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from grassvine.foundations.arrays import Array, Indices
from grassvine.problems._kernels import (
    _combine,
    _compiled,
    _factorise,
    _gather,
    _gram,
    _scratch,
    _solve,
)

Kernel = TypeVar("Kernel", bound=Callable[..., None])


def _kernel(function: Kernel) -> Kernel:
    return _compiled(function)


@_kernel
def evaluate_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    rows_of_items: Array,
    common: Array,
    ridge: Array,
    gradient: Array,
    gram: Array,
    totals: Array,
) -> None:
    """Add Σ e(w, 1) at each item, WᵀW and, in ``totals``, cost and squared error."""
    width = rows_of_items.shape[1]
    rank = width - 1
    rows, products, factor = _scratch(first, last, starts, width)
    errors = np.empty(rows.shape[1])
    solution = np.empty(width)
    # Local accumulator: small sums of two threads might share a cache line.
    own_gram = np.zeros((rank, rank))
    cost = squared_error = 0.0
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, rows_of_items, rows)
        targets = rows[width]
        for k in range(count):
            targets[k] -= common[np.uint32(items[start + k])]
        _gram(rows, count, products)
        _factorise(products, width, 0.0, ridge, factor)
        _solve(factor, width, products[width], solution)
        _combine(rows, count, solution, errors)
        squares = 0.0
        for k in range(count):
            errors[k] -= targets[k]
            squares += errors[k] * errors[k]
        ridge_term = ridge[rank, rank] * solution[rank] * solution[rank]
        for a in range(rank):
            ridge_term += ridge[a, a] * solution[a] * solution[a]
            for b in range(rank):
                own_gram[a, b] += solution[a] * solution[b]
        cost += 0.5 * (squares + ridge_term)
        squared_error += squares
        solution[rank] = 1.0  # the gradient of the item bias is Σ e
        for k in range(count):
            item = np.uint32(items[start + k])
            error = errors[k]
            for a in range(width):
                gradient[item, a] += error * solution[a]
    gram += own_gram
    totals[0] += cost
    totals[1] += squared_error


@_kernel
def solve_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    rows_of_items: Array,
    common: Array,
    ridge: Array,
    solutions: Array,
) -> None:
    """Write the weights and bias of each user with ratings."""
    width = rows_of_items.shape[1]
    rows, products, factor = _scratch(first, last, starts, width)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, rows_of_items, rows)
        targets = rows[width]
        for k in range(count):
            targets[k] -= common[np.uint32(items[start + k])]
        _gram(rows, count, products)
        _factorise(products, width, 0.0, ridge, factor)
        _solve(factor, width, products[width], solutions[user])
