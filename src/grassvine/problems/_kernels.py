"""Per-user least squares of matrix completion, compiled once for all ranks.

For a user with ratings y of items with rows u of the basis (A = Σ u uᵀ, b = Σ y u):

    S w = b,  S = (1−λ)A + R + ε tr(A) I,   t = u·w,   e = (1−λ)t − y

where R (``ridge``) is (λ+μ)UᵀU. SIMD runs *along the ratings of a user*: the rows are gathered
transposed, rank×count, with y as an additional row, and their Gram matrix is computed as dot
products of 3×3 rows at a time; its last row is b. The compiler may reorder the sums to vectorise
them (``reassoc``); compiled code has a fixed order, so its results have fixed bits.

Callers pass whole blocks of users, arrays of the right shapes and item numbers in range; nothing is
checked here. The kernels release the GIL.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from grassvine.foundations.arrays import Array, Indices

JITTER = 1e-13

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
_compiled: Callable[..., Any] = njit(cache=True, **_OPTIONS)
# What kernels call is inlined, and compiled with each of them. A call would lead to whichever copy
# the process has loaded, whose sums may be in another order: other bits with a filled cache.
_inlined: Callable[..., Any] = njit(forceinline=True, **_OPTIONS)


@_compiled
def evaluate_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    basis: Array,
    lam: float,
    ridge: Array,
    gradient: Array,
    energies: Array,
    gram: Array,
    totals: Array,
) -> None:
    """Add the sparse part of the gradient, Σ e w at each item, and WᵀW.

    Also add the energies of each item's users and, in ``totals``, cost, squared error and energy.
    The energy of a user, r·Σt²/tr A, is ‖w‖² as observed through the ratings: if A is nearly
    singular, weights may be huge without affecting the fit.
    """
    rank = basis.shape[1]
    rows, products, factor = _scratch(first, last, starts, rank)
    fitted = np.empty(rows.shape[1])
    weights = np.empty(rank)
    # Local accumulator: small sums of two threads might share a cache line.
    own_gram = np.zeros((rank, rank))
    cost = squared_error = total_energy = 0.0
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, basis, rows)
        _gram(rows, count, products)
        _factorise(products, rank, lam, ridge, factor)
        _solve(factor, rank, products[rank], weights)
        _combine(rows, count, weights, fitted)
        errors = fitted_squares = 0.0
        known = rows[rank]
        for k in range(count):
            errors += (fitted[k] - known[k]) ** 2
            fitted_squares += fitted[k] * fitted[k]
            fitted[k] = (1.0 - lam) * fitted[k] - known[k]
        ridge_term = 0.0
        for a in range(rank):
            for b in range(rank):
                ridge_term += weights[a] * ridge[a, b] * weights[b]
                own_gram[a, b] += weights[a] * weights[b]
        cost += 0.5 * errors + 0.5 * (ridge_term - lam * fitted_squares)
        squared_error += errors
        trace = 0.0
        for a in range(rank):
            trace += products[a, a]
        energy = rank * fitted_squares / trace if trace > 0.0 else 0.0
        total_energy += energy
        for k in range(count):
            item = np.uint32(items[start + k])
            error = fitted[k]
            energies[item] += energy
            for a in range(rank):
                gradient[item, a] += error * weights[a]
    gram += own_gram
    totals[0] += cost
    totals[1] += squared_error
    totals[2] += total_energy


@_compiled
def solve_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    basis: Array,
    lam: float,
    ridge: Array,
    weights: Array,
) -> None:
    """Write the weights of each user with ratings."""
    rank = basis.shape[1]
    rows, products, factor = _scratch(first, last, starts, rank)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, basis, rows)
        _gram(rows, count, products)
        _factorise(products, rank, lam, ridge, factor)
        _solve(factor, rank, products[rank], weights[user])


@_compiled
def hessian_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    basis: Array,
    lam: float,
    ridge: Array,
    direction: Array,
    ridge_change: Array,
    product: Array,
    gram: Array,
    gram_change: Array,
) -> None:
    """Add WᵀW, and the derivatives of it and of the sparse gradient along a direction X.

    With x the rows of X, differentiating S w = b gives S ẇ = −Σ(e x + (1−λ)(x·w)u) − Ṙ w; then
    ė = (1−λ)(x·w + u·ẇ), and the gradient at an item changes by ė w + e ẇ.
    """
    rank = basis.shape[1]
    rows, products, factor = _scratch(first, last, starts, rank)
    moved_rows = np.zeros_like(rows)
    fitted = np.empty(rows.shape[1])
    shift = np.empty(rows.shape[1])
    fit_change = np.empty(rows.shape[1])
    weights = np.empty(rank)
    right = np.empty(rank)
    weights_change = np.empty(rank)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, basis, rows)
        _gather(items, values, start, count, direction, moved_rows)
        _gram(rows, count, products)
        _factorise(products, rank, lam, ridge, factor)
        _solve(factor, rank, products[rank], weights)
        _combine(rows, count, weights, fitted)
        _combine(moved_rows, count, weights, shift)
        known = rows[rank]
        for k in range(count):
            fitted[k] = (1.0 - lam) * fitted[k] - known[k]
            shift[k] *= 1.0 - lam
        for a in range(rank):
            total = 0.0
            for k in range(count):
                total += fitted[k] * moved_rows[a, k] + shift[k] * rows[a, k]
            for b in range(rank):
                total += ridge_change[a, b] * weights[b]
            right[a] = -total
        _solve(factor, rank, right, weights_change)
        _combine(rows, count, weights_change, fit_change)
        for k in range(count):
            item = np.uint32(items[start + k])
            error = fitted[k]
            error_change = shift[k] + (1.0 - lam) * fit_change[k]
            for a in range(rank):
                product[item, a] += error_change * weights[a] + error * weights_change[a]
        for a in range(rank):
            for b in range(rank):
                gram[a, b] += weights[a] * weights[b]
                gram_change[a, b] += weights_change[a] * weights[b] + weights[a] * weights_change[b]


@_compiled
def block_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    values: Array,
    basis: Array,
    lam: float,
    ridge: Array,
    blocks: Array,
) -> None:
    """Add (1−λ)(1 − (1−λ)uᵀS⁻¹u)·w wᵀ at each item, as a packed lower triangle."""
    rank = basis.shape[1]
    rows, products, factor = _scratch(first, last, starts, rank)
    weights = np.empty(rank)
    half = np.empty(rank)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        _gather(items, values, start, count, basis, rows)
        _gram(rows, count, products)
        _factorise(products, rank, lam, ridge, factor)
        _solve(factor, rank, products[rank], weights)
        for k in range(count):
            leverage = 0.0
            for a in range(rank):
                rest = rows[a, k]
                for b in range(a):
                    rest -= factor[a, b] * half[b]
                half[a] = rest * factor[a, a]
                leverage += half[a] * half[a]
            scale = (1.0 - lam) * max(1.0 - (1.0 - lam) * leverage, 0.0)
            item = np.uint32(items[start + k])
            place = 0
            for a in range(rank):
                for b in range(a + 1):
                    blocks[item, place] += scale * weights[a] * weights[b]
                    place += 1


@_inlined
def _scratch(first: int, last: int, starts: Indices, rank: int) -> tuple[Array, Array, Array]:
    """Allocate buffers for the rows of any user, their products and a Cholesky factor."""
    longest = 0
    for user in range(first, last):
        longest = max(longest, starts[user + 1] - starts[user])
    height = (rank + 3) // 3 * 3  # the rows and y, padded with zeros to whole blocks
    rows = np.zeros((height, longest))
    return rows, np.empty((height, height)), np.empty((rank, rank))


@_inlined
def _gather(items: Any, values: Array, start: int, count: int, basis: Array, rows: Array) -> None:
    """Copy the rows of a user's items, one column per rating, with the ratings below them."""
    rank = basis.shape[1]
    for k in range(count):
        item = np.uint32(items[start + k])  # unsigned: avoids the check for negative indices
        for a in range(rank):
            rows[a, k] = basis[item, a]
        rows[rank, k] = values[start + k]


@_inlined
def _gram(rows: Array, count: int, products: Array) -> None:
    """Compute the lower triangle of rows·rowsᵀ in 3×3 blocks, with nine sums in registers."""
    for i in range(0, rows.shape[0], 3):
        for j in range(0, i + 1, 3):
            a0, a1, a2 = rows[i], rows[i + 1], rows[i + 2]
            b0, b1, b2 = rows[j], rows[j + 1], rows[j + 2]
            s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = 0.0
            for k in range(count):
                s00 += a0[k] * b0[k]
                s01 += a0[k] * b1[k]
                s02 += a0[k] * b2[k]
                s10 += a1[k] * b0[k]
                s11 += a1[k] * b1[k]
                s12 += a1[k] * b2[k]
                s20 += a2[k] * b0[k]
                s21 += a2[k] * b1[k]
                s22 += a2[k] * b2[k]
            products[i, j], products[i, j + 1], products[i, j + 2] = s00, s01, s02
            products[i + 1, j], products[i + 1, j + 1], products[i + 1, j + 2] = s10, s11, s12
            products[i + 2, j], products[i + 2, j + 1], products[i + 2, j + 2] = s20, s21, s22


@_inlined
def _factorise(products: Array, rank: int, lam: float, ridge: Array, factor: Array) -> None:
    """Compute the Cholesky factor L of S = LLᵀ, with its diagonal stored as reciprocals.

    Every pivot is raised by ε tr(A), ε = 1e-13, whatever λ is. Weights and gradient are off by
    about ε times the condition of S, their floor; the cost, a minimum, by the square of that.
    """
    trace = 0.0
    for a in range(rank):
        trace += products[a, a]
    for a in range(rank):
        for b in range(a + 1):
            rest = (1.0 - lam) * products[a, b] + ridge[a, b]
            for c in range(b):
                rest -= factor[a, c] * factor[b, c]
            if b < a:
                factor[a, b] = rest * factor[b, b]
            else:
                # Rounding may make a singular pivot slightly negative; ε tr(A) is its floor.
                factor[a, a] = 1.0 / np.sqrt(max(rest, 0.0) + JITTER * trace)


@_inlined
def _solve(factor: Array, rank: int, right: Array, solution: Array) -> None:
    """Solve LLᵀx = right."""
    for a in range(rank):
        rest = right[a]
        for b in range(a):
            rest -= factor[a, b] * solution[b]
        solution[a] = rest * factor[a, a]
    for a in range(rank - 1, -1, -1):
        rest = solution[a]
        for b in range(a + 1, rank):
            rest -= factor[b, a] * solution[b]
        solution[a] = rest * factor[a, a]


@_inlined
def _combine(rows: Array, count: int, weights: Array, out: Array) -> None:
    """Compute u·w for each rating."""
    for k in range(count):
        out[k] = 0.0
    for a in range(len(weights)):
        row, weight = rows[a], weights[a]
        for k in range(count):
            out[k] += weight * row[k]
