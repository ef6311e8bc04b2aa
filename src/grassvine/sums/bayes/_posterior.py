"""The posterior of one user, compiled once for all ranks; see ``_kernels.py``."""

from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems._kernels import _factorise, _inlined, _solve


@_inlined
def _gather(
    items: Any, values: Array, start: int, count: int, item_rows: Array, rows: Array
) -> None:
    """Copy the rows of a user's items, one column per rating, with the targets below them."""
    width = item_rows.shape[1] - 1
    targets = rows[width]
    for k in range(count):
        item = np.uint32(items[start + k])  # unsigned: avoids the check for negative indices
        for a in range(width):
            rows[a, k] = item_rows[item, a]
        targets[k] = item_rows[item, width - 1] * values[start + k] - item_rows[item, width]


@_inlined
def _features(
    rows: Array, count: int, mean_factors: Array, choice_count: float, features: Array
) -> None:
    """Compute F: the shrunk mean of A − Ā, and 1."""
    rank = len(mean_factors)
    constants = rows[rank]
    for a in range(rank):
        row = rows[a]
        total = 0.0
        for k in range(count):
            total += row[k] / constants[k]
        features[a] = (total - count * mean_factors[a]) / (count + choice_count)
    features[rank] = 1.0


@_inlined
def _expected(features: Array, coefficients: Array, centre: Array) -> None:
    """Compute h = F K."""
    for b in range(len(centre)):
        centre[b] = 0.0
    for a in range(len(features)):
        for b in range(len(centre)):
            centre[b] += features[a] * coefficients[a, b]


@_inlined
def _add_spread(
    items: Any,
    start: int,
    count: int,
    spread: Array,
    products: Array,
    rows: Array,
    sums: Array,
) -> float:
    """Add Σ κ diag(D, 0) to the Gram matrix, and return Σ κ((y − c)² + d)."""
    width = len(sums)
    for a in range(width):
        sums[a] = 0.0
    for k in range(count):
        item = np.uint32(items[start + k])
        for a in range(width):
            sums[a] += spread[item, a]
    for a in range(width - 1):
        products[a, a] += sums[a]
    targets, squares = rows[width], sums[width - 1]
    for k in range(count):
        squares += targets[k] * targets[k]
    return squares


@_inlined
def _posterior(
    products: Array,
    squares: float,
    ridge: Array,
    centre: Array,
    noise: float,
    prior_count: float,
    count: int,
    factor: Array,
    inverse: Array,
    covariance: Array,
    right: Array,
    mean: Array,
) -> tuple[float, float, float]:
    """Compute mean and covariance; return τ and the expected squared error with and without V."""
    width = len(right)
    tau = expected = fit = 0.0
    for attempt in range(2):
        tau = (prior_count + count) / (prior_count + expected / noise) if attempt else 1.0
        _factorise(products, width, 1.0 - tau, ridge, factor)
        for a in range(width):
            total = tau * products[width, a]
            for b in range(width):
                total += ridge[a, b] * centre[b]
            right[a] = total
        _solve(factor, width, right, mean)
        _invert(factor, width, noise, inverse, covariance)
        fit, trace = squares, 0.0
        for a in range(width):
            fit -= 2.0 * mean[a] * products[width, a]
            fit += mean[a] * mean[a] * products[a, a]
            trace += covariance[a, a] * products[a, a]
            for b in range(a):
                fit += 2.0 * mean[a] * mean[b] * products[a, b]
                trace += 2.0 * covariance[a, b] * products[a, b]
        fit = max(fit, 0.0)
        expected = fit + trace
    return tau, expected, fit


@_inlined
def _invert(factor: Array, width: int, scale: float, inverse: Array, product: Array) -> None:
    """Compute scale·(LLᵀ)⁻¹ from a Cholesky factor whose diagonal is stored as reciprocals."""
    for a in range(width):
        for b in range(width):
            inverse[a, b] = 0.0
            product[a, b] = 0.0
        inverse[a, a] = 1.0
        for c in range(a):
            coefficient = factor[a, c]
            for b in range(c + 1):
                inverse[a, b] -= coefficient * inverse[c, b]
        for b in range(a + 1):
            inverse[a, b] *= factor[a, a]
    for c in range(width):
        for a in range(c + 1):
            coefficient = scale * inverse[c, a]
            for b in range(a + 1):
                product[a, b] += coefficient * inverse[c, b]
    for a in range(width):
        for b in range(a):
            product[b, a] = product[a, b]


@_inlined
def _multiply(matrix: Array, rows: Array, count: int, width: int, out: Array) -> None:
    """Compute matrix·rows in 3×3 blocks; the matrix is symmetric, padded with zeros."""
    for i in range(0, width, 3):
        r0, r1, r2 = out[i], out[i + 1], out[i + 2]
        for k in range(count):
            r0[k] = r1[k] = r2[k] = 0.0
        for j in range(0, width, 3):
            b0, b1, b2 = rows[j], rows[j + 1], rows[j + 2]
            m00, m01, m02 = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2]
            m10, m11, m12 = matrix[i + 1, j], matrix[i + 1, j + 1], matrix[i + 1, j + 2]
            m20, m21, m22 = matrix[i + 2, j], matrix[i + 2, j + 1], matrix[i + 2, j + 2]
            for k in range(count):
                v0, v1, v2 = b0[k], b1[k], b2[k]
                r0[k] += m00 * v0 + m01 * v1 + m02 * v2
                r1[k] += m10 * v0 + m11 * v1 + m12 * v2
                r2[k] += m20 * v0 + m21 * v1 + m22 * v2
