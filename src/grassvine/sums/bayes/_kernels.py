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
from grassvine.problems._kernels import _combine, _compiled, _gram, _scratch
from grassvine.sums.bayes._posterior import (
    _add_spread,
    _expected,
    _features,
    _gather,
    _multiply,
    _posterior,
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
    noises: Array,
) -> None:
    """Write XᵀVX + D·(w² + diag V) + d + σ²/(τκ) for each pair of a user and an item, and σ²/τ.

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
        noises[user] = noise / tau
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


@_kernel
def add_rows_of_items(starts: Indices, items: Any, rows: Array, sums: Array) -> None:
    """Add to the row of each user those of the items that the user rated."""
    for user in range(len(starts) - 1):
        own = sums[user]
        for place in range(starts[user], starts[user + 1]):
            row = rows[np.uint32(items[place])]
            for a in range(len(own)):
                own[a] += row[a]


@_kernel
def add_rows_of_users(starts: Indices, items: Any, rows: Array, sums: Array) -> None:
    """Add to the row of each item those of the users who rated it."""
    for user in range(len(starts) - 1):
        own = rows[user]
        for place in range(starts[user], starts[user + 1]):
            row = sums[np.uint32(items[place])]
            for a in range(len(own)):
                row[a] += own[a]
