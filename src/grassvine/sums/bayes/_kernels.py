"""Posteriors of users, and the sums over users of a pass, compiled once for all ranks.

With X = (A_i, 1), the kernels work on rows √κ X of the items that a user rated, gathered
transposed as in ``problems/_kernels.py``, with the targets √κ(y − c) below them. The posterior of
the user is normal with mean u and covariance V = σ²P⁻¹,

    g = Σ κ(X Xᵀ + diag(D, 0)),  P = τg + M,  P u = τ Σ κ X (y − c) + M h,  M = σ²S⁻¹

and τ is the mean of its gamma posterior at the solution with τ = 1.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from grassvine.foundations.arrays import Array, Indices
from grassvine.problems._kernels import (
    _combine,
    _compiled,
    _factorise,
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
    item_rows: Array,
    spread: Array,
    ridge: Array,
    log_ridge: float,
    coefficients: Array,
    mean_factors: Array,
    choice_count: float,
    noise: float,
    prior_count: float,
    gradient: Array,
    of_items: Array,
    second: Array,
    deviations: Array,
    features_gram: Array,
    features_product: Array,
    totals: Array,
) -> None:
    """Add what the next step needs of the users.

    ``gradient``: Σ τκ(e u + V X) at each item; ``of_items``: τκe, τ and the expected squared error
    τ(e² + XᵀVX + D·(w² + diag V) + d) at each item; ``second``: Σ τ(uuᵀ + V); ``deviations``:
    Σ (u − h)(u − h)ᵀ + V; FᵀF and Fᵀu; ``totals``: cost, expected squared error, users, squared
    error.
    """
    width = ridge.shape[0]
    rank = width - 1
    rows, products, factor = _scratch(first, last, starts, width)
    moved = np.zeros_like(rows)
    errors = np.empty(rows.shape[1])
    leverage = np.empty(rows.shape[1])
    height = rows.shape[0]
    covariance = np.zeros((height, height))
    inverse = np.zeros((width, width))
    mean = np.empty(width)
    centre = np.empty(width)
    right = np.empty(width)
    features = np.empty(width)
    sums = np.empty(width)
    moments = np.empty(width)
    own_second = np.zeros((width, width))
    own_deviations = np.zeros((width, width))
    cost = expected_error = users = squared_error = 0.0
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, item_rows, rows)
        _features(rows, count, mean_factors, choice_count, features)
        _expected(features, coefficients, centre)
        _gram(rows, count, products)
        squares = _add_spread(items, start, count, spread, products, rows, sums)
        tau, expected, fit = _posterior(
            products, squares, ridge, centre, noise, prior_count, count,
            factor, inverse, covariance, right, mean,
        )  # fmt: skip
        _combine(rows, count, mean, errors)
        targets = rows[width]
        _multiply(covariance, rows, count, width, moved)
        for k in range(count):
            leverage[k] = 0.0
        for a in range(width):
            row, image = rows[a], moved[a]
            for k in range(count):
                leverage[k] += row[k] * image[k]
        for a in range(rank):
            moments[a] = mean[a] * mean[a] + covariance[a, a]
        moments[rank] = 1.0
        constants = rows[rank]
        for k in range(count):
            item = np.uint32(items[start + k])
            root = constants[k]
            precision = root * root
            error = errors[k] - targets[k]
            uncertain = 0.0
            for a in range(width):
                uncertain += spread[item, a] * moments[a]
            squared_error += error * error / precision
            of_items[item, 0] += tau * root * error
            of_items[item, 1] += tau
            of_items[item, 2] += tau * (error * error + leverage[k] + uncertain) / precision
            weight = tau * root
            for a in range(rank):
                gradient[item, a] += weight * (error * mean[a] + moved[a, k])
        prior_term = 0.0
        for a in range(width):
            away = mean[a] - centre[a]
            for b in range(width):
                other = mean[b] - centre[b]
                own_second[a, b] += tau * (mean[a] * mean[b] + covariance[a, b])
                own_deviations[a, b] += away * other + covariance[a, b]
                prior_term += away * ridge[a, b] * other
        for a in range(width):
            for b in range(width):
                features_gram[a, b] += features[a] * features[b]
                features_product[a, b] += features[a] * mean[b]
        log_factor = 0.0
        for a in range(width):
            log_factor -= 2.0 * np.log(factor[a, a])
        cost += (tau * fit + prior_term) / (2.0 * noise) + 0.5 * (log_factor - log_ridge)
        cost += 0.5 * (prior_count * tau - (count + prior_count) * np.log(tau))
        expected_error += tau * expected
        users += 1.0
    second += own_second
    deviations += own_deviations
    totals[0] += cost
    totals[1] += expected_error
    totals[2] += users
    totals[3] += squared_error


@_kernel
def solve_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    item_rows: Array,
    spread: Array,
    ridge: Array,
    log_ridge: float,
    coefficients: Array,
    mean_factors: Array,
    choice_count: float,
    noise: float,
    prior_count: float,
    means: Array,
) -> None:
    """Write the posterior mean of each user with ratings."""
    width = ridge.shape[0]
    rows, products, factor = _scratch(first, last, starts, width)
    height = rows.shape[0]
    covariance = np.zeros((height, height))
    inverse = np.zeros((width, width))
    centre = np.empty(width)
    right = np.empty(width)
    features = np.empty(width)
    sums = np.empty(width)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, item_rows, rows)
        _features(rows, count, mean_factors, choice_count, features)
        _expected(features, coefficients, centre)
        _gram(rows, count, products)
        squares = _add_spread(items, start, count, spread, products, rows, sums)
        _posterior(
            products, squares, ridge, centre, noise, prior_count, count,
            factor, inverse, covariance, right, means[user],
        )  # fmt: skip


@_kernel
def variances_of_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    item_rows: Array,
    spread: Array,
    ridge: Array,
    log_ridge: float,
    coefficients: Array,
    mean_factors: Array,
    choice_count: float,
    noise: float,
    prior_count: float,
    mean_user: Array,
    pair_starts: Indices,
    pair_items: Indices,
    variances: Array,
) -> None:
    """Write XᵀVX + D·(w² + diag V) + d + σ²/(τκ) for each pair of a user and an item.

    A user without ratings has the prior around the mean user.
    """
    width = ridge.shape[0]
    rank = width - 1
    rows, products, factor = _scratch(first, last, starts, width)
    height = rows.shape[0]
    covariance = np.zeros((height, height))
    inverse = np.zeros((width, width))
    mean = np.empty(width)
    centre = np.empty(width)
    right = np.empty(width)
    features = np.empty(width)
    sums = np.empty(width)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if pair_starts[user + 1] == pair_starts[user]:
            continue
        if count == 0:
            centre[:] = mean_user
        else:
            _gather(items, values, start, count, item_rows, rows)
            _features(rows, count, mean_factors, choice_count, features)
            _expected(features, coefficients, centre)
        _gram(rows, count, products)
        squares = _add_spread(items, start, count, spread, products, rows, sums)
        tau, _, _ = _posterior(
            products, squares, ridge, centre, noise, prior_count, count,
            factor, inverse, covariance, right, mean,
        )  # fmt: skip
        for pair in range(pair_starts[user], pair_starts[user + 1]):
            item = pair_items[pair]
            known = 0.0
            for a in range(width):
                image = 0.0
                for b in range(width):
                    image += covariance[a, b] * item_rows[item, b]
                known += image * item_rows[item, a]
            known += spread[item, rank]
            for a in range(rank):
                known += spread[item, a] * (mean[a] * mean[a] + covariance[a, a])
            precision = item_rows[item, rank] * item_rows[item, rank]
            variances[pair] = (known + noise / tau) / precision


@_compiled
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


@_compiled
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


@_compiled
def _expected(features: Array, coefficients: Array, centre: Array) -> None:
    """Compute h = F K."""
    for b in range(len(centre)):
        centre[b] = 0.0
    for a in range(len(features)):
        for b in range(len(centre)):
            centre[b] += features[a] * coefficients[a, b]


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
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
