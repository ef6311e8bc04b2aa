"""Per-user posteriors of a factorisation whose items are uncertain, compiled once for all ranks.

For a user with ratings y of items with rows u and covariances C_u:

    P w = Σ y u,  P = Σ (u uᵀ + C_u) + R,  C = s P⁻¹,  e = u·w − y

where R (``ridge``) is diagonal and s is the variance of the errors.
"""

from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array, Indices
from grassvine.problems._kernels import _inlined
from grassvine.sums.biased._kernels import _kernel

JITTER = 1e-15


@_kernel
def pass_over_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    means: Array,
    covariances: Array,
    ridge: Array,
    variance: float,
    residuals: Array,
    moments: Array,
    gradient: Array,
    squares: Array,
    totals: Array,
) -> None:
    """Add Σ (w wᵀ + C) and Σ (e w + C u) at each item, and write the residuals y − u·w.

    ``squares`` gets the diagonal of Σ (w wᵀ + C) over users, ``totals`` Σ (e² + uᵀCu).
    Symmetric matrices are packed lower triangles.
    """
    rank = means.shape[1]
    product = np.empty((rank, rank))
    inverse = np.empty((rank, rank))
    right = np.empty(rank)
    weights = np.empty(rank)
    spread = np.empty(rank)
    error_sum = 0.0
    for user in range(first, last):
        start, end = starts[user], starts[user + 1]
        if start == end:
            continue
        _moments(items, values, start, end, means, covariances, product, right)
        for a in range(rank):
            product[a, a] += ridge[a]
        _invert(product, inverse)
        for a in range(rank):
            weights[a] = 0.0
            for b in range(rank):
                weights[a] += inverse[a, b] * right[b]
                inverse[a, b] *= variance
        for a in range(rank):
            squares[a] += weights[a] * weights[a] + inverse[a, a]
        for k in range(start, end):
            item = np.uint32(items[k])
            error = -values[k]
            for a in range(rank):
                error += means[item, a] * weights[a]
            residuals[k] = -error
            error_sum += error * error
            place = 0
            for a in range(rank):
                spread[a] = 0.0
                for b in range(rank):
                    spread[a] += inverse[a, b] * means[item, b]
                error_sum += means[item, a] * spread[a]
                gradient[item, a] += error * weights[a] + spread[a]
                for b in range(a + 1):
                    moments[item, place] += weights[a] * weights[b] + inverse[a, b]
                    place += 1
    totals[0] += error_sum


@_inlined
def _moments(
    items: Any,
    values: Array,
    start: int,
    end: int,
    means: Array,
    covariances: Array,
    product: Array,
    right: Array,
) -> None:
    """Compute the lower triangle of Σ (u uᵀ + C_u), and Σ y u."""
    rank = means.shape[1]
    product[:] = 0.0
    right[:] = 0.0
    for k in range(start, end):
        item = np.uint32(items[k])
        place = 0
        for a in range(rank):
            right[a] += values[k] * means[item, a]
            for b in range(a + 1):
                product[a, b] += means[item, a] * means[item, b] + covariances[item, place]
                place += 1


@_inlined
def _invert(matrix: Array, inverse: Array) -> None:
    """Invert a positive definite matrix, of which the lower triangle is given and overwritten."""
    rank = len(matrix)
    trace = 0.0
    for a in range(rank):
        trace += matrix[a, a]
    # L of matrix = L Lᵀ in place, and M = L⁻¹ in the lower triangle of ``inverse``.
    for a in range(rank):
        for b in range(a + 1):
            rest = matrix[a, b]
            for c in range(b):
                rest -= matrix[a, c] * matrix[b, c]
            if b < a:
                matrix[a, b] = rest / matrix[b, b]
            else:
                # Rounding may make a singular pivot slightly negative.
                matrix[a, a] = np.sqrt(max(rest, JITTER * trace) + 1e-300)
        inverse[a, a] = 1.0 / matrix[a, a]
        for b in range(a):
            rest = 0.0
            for c in range(b, a):
                rest -= matrix[a, c] * inverse[c, b]
            inverse[a, b] = rest / matrix[a, a]
    # MᵀM, of which row a needs the rows of M from a on.
    for a in range(rank):
        for b in range(a + 1):
            total = 0.0
            for c in range(a, rank):
                total += inverse[c, a] * inverse[c, b]
            inverse[a, b] = total
    for a in range(rank):
        for b in range(a):
            inverse[b, a] = inverse[a, b]


@_kernel
def add_traces(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    basis: Array,
    least: float,
    traces: Array,
) -> None:
    """Add tr (Σ u uᵀ)⁻¹ of each user with ratings; pivots are at least ``least``."""
    rank = basis.shape[1]
    factor = np.empty((rank, rank))
    column = np.empty(rank)
    for user in range(first, last):
        if starts[user] == starts[user + 1]:
            continue
        factor[:] = 0.0
        for k in range(starts[user], starts[user + 1]):
            item = np.uint32(items[k])
            for a in range(rank):
                for b in range(a + 1):
                    factor[a, b] += basis[item, a] * basis[item, b]
        for a in range(rank):
            for b in range(a + 1):
                rest = factor[a, b]
                for c in range(b):
                    rest -= factor[a, c] * factor[b, c]
                factor[a, b] = rest / factor[b, b] if b < a else np.sqrt(max(rest, least))
        # The trace of (L Lᵀ)⁻¹ is the sum of squares of L⁻¹, computed column by column.
        for b in range(rank):
            for a in range(b, rank):
                rest = 1.0 if a == b else 0.0
                for c in range(b, a):
                    rest -= factor[a, c] * column[c]
                column[a] = rest / factor[a, a]
                traces[0] += column[a] * column[a]
