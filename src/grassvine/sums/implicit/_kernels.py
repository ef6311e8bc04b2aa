"""Per-user ridge regressions of implicit feedback, compiled once for all ranks.

A user has events of confidence v with items of rows X_i = (A_i, b_i), and the level s of b. With
o = s·b_i, B = Σ v A_iA_iᵀ and the common matrix C = a₀XᵀX,

    S w = Σ v(1 − o)A_i − s·C_{A,b},  S = B + C_{A,A} + ρI,   e = v(1 − o − A_i·w)

The computation is organised as in ``problems/_kernels.py``; rows are scaled by √v.

Users with fewer events than factors are solved in the space of the events. With C_{A,A} = QΛQᵀ,
D = (Λ + ρI)^{-1/2}, the rows √v A_iQD of B, t = √v(1 − o) and g = −s·DQᵀC_{A,b},

    w = QD(I + BᵀB)⁻¹(Bᵀt + g) = QD(g + Bᵀ(I + BBᵀ)⁻¹(t − Bg)).
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
    _inlined,
    _scratch,
    _solve,
)

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

FEW = 3  # quarters of the factors: up to so many events, their space is the smaller problem


def _kernel(function: Kernel) -> Kernel:
    return _compiled(function)


@_kernel
def evaluate_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    confidences: Array,
    rows_of_items: Array,
    common: Array,
    levels: Array,
    ridges: Array,
    gradient: Array,
    gram: Array,
    totals: Array,
) -> None:
    """Add −Σ e(w, s) at each item, Σ(w, s)(w, s)ᵀ and, in ``totals``, cost and squared error."""
    width = rows_of_items.shape[1]
    rank = width - 1
    rows, products, factor = _scratch(first, last, starts, rank)
    fitted = np.empty(rows.shape[1])
    solution, right = np.empty(width), np.empty(rank)
    matrix = common[:rank, :rank].copy()
    # Local accumulator: small sums of two threads might share a cache line.
    own_gram = np.zeros((width, width))
    cost = squared_error = 0.0
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        if count == 0:
            continue
        level = levels[user]
        squares = _prepare(items, confidences, start, count, rows_of_items, level, rows)
        _gram(rows, count, products)
        for a in range(rank):
            matrix[a, a] = common[a, a] + ridges[user]
            right[a] = products[rank, a] - level * common[rank, a]
        _factorise(products, rank, 0.0, matrix, factor)
        _solve(factor, rank, right, solution)
        solution[rank] = level
        _combine(rows, count, solution[:rank], fitted)
        cost += squares + level * level * common[rank, rank]
        for a in range(rank):
            cost -= right[a] * solution[a]
        for a in range(width):
            for b in range(width):
                own_gram[a, b] += solution[a] * solution[b]
        for k in range(count):
            item = np.uint32(items[start + k])
            root = np.sqrt(confidences[start + k])
            error = rows[rank, k] - fitted[k]  # √v(1 − o − A_i·w)
            squared_error += error * error
            error *= root
            for a in range(width):
                gradient[item, a] -= error * solution[a]
    gram += own_gram
    totals[0] += cost
    totals[1] += squared_error


@_kernel
def solve_users(
    first: int,
    last: int,
    starts: Indices,
    items: Any,
    confidences: Array,
    rows_of_items: Array,
    common: Array,
    levels: Array,
    ridges: Array,
    values: Array,
    axes: Array,
    turned_rows: Array,
    turned_common: Array,
    solutions: Array,
) -> None:
    """Write (w, s) of each user; also of a user without events, who has no terms but s.

    ``values``, ``axes``, ``turned_rows`` and ``turned_common`` are Λ, Q, (A_iQ, b_i) and QᵀC_{A,b}.
    """
    width = rows_of_items.shape[1]
    rank = width - 1
    rows, products, factor = _scratch(first, last, starts, rank)
    right = np.empty(rank)
    matrix = common[:rank, :rank].copy()
    few, most = 0, FEW * rank // 4
    for user in range(first, last):
        if starts[user + 1] - starts[user] <= most:
            few = max(few, starts[user + 1] - starts[user])
    height = (few + 3) // 3 * 3  # the events and g, padded to whole blocks
    events, identity = np.zeros((height, rank)), np.eye(few)
    scales, combined = np.empty(rank), np.empty(few)
    for user in range(first, last):
        start, count = starts[user], starts[user + 1] - starts[user]
        level = levels[user]
        solutions[user, rank] = level
        if count == 0:
            continue
        if count <= few:
            for a in range(rank):
                scales[a] = 1.0 / np.sqrt(values[a] + ridges[user])
                events[count, a] = -level * scales[a] * turned_common[a]
            for k in range(count):
                item = np.uint32(items[start + k])
                root = np.sqrt(confidences[start + k])
                for a in range(rank):
                    events[k, a] = root * turned_rows[item, a] * scales[a]
                right[k] = root * (1.0 - level * turned_rows[item, rank])
            used = (count + 3) // 3 * 3
            events[count + 1 : used] = 0.0
            _gram(events[:used], rank, products)
            for k in range(count):
                right[k] -= products[count, k]
            _factorise(products, count, 0.0, identity, factor)
            _solve(factor, count, right, combined)
            _combine_rows(events, count, combined, scales)
            for a in range(rank):
                total = 0.0
                for b in range(rank):
                    total += axes[a, b] * scales[b]
                solutions[user, a] = total
            continue
        _prepare(items, confidences, start, count, rows_of_items, level, rows)
        _gram(rows, count, products)
        for a in range(rank):
            matrix[a, a] = common[a, a] + ridges[user]
            right[a] = products[rank, a] - level * common[rank, a]
        _factorise(products, rank, 0.0, matrix, factor)
        _solve(factor, rank, right, solutions[user])


@_inlined
def _combine_rows(events: Array, count: int, weights: Array, scales: Array) -> None:
    """Replace the scales by D(g + Bᵀx): rows of B and, below, g are combined with weights x, 1."""
    total = events[count]
    for k in range(count):
        row, weight = events[k], weights[k]
        for a in range(len(total)):
            total[a] += weight * row[a]
    for a in range(len(total)):
        scales[a] *= total[a]


@_inlined
def _prepare(
    items: Any,
    confidences: Array,
    start: int,
    count: int,
    rows_of_items: Array,
    level: float,
    rows: Array,
) -> float:
    """Copy √v A_i and, below, √v(1 − o), one column per event; return Σ v(1 − o)²."""
    rank = rows_of_items.shape[1] - 1
    squares = 0.0
    for k in range(count):
        item = np.uint32(items[start + k])
        root = np.sqrt(confidences[start + k])
        for a in range(rank):
            rows[a, k] = root * rows_of_items[item, a]
        target = root * (1.0 - level * rows_of_items[item, rank])
        rows[rank, k] = target
        squares += target * target
    return squares


@_kernel
def add_item_gram(starts: Indices, items: Any, confidences: Array, gram: Array) -> None:
    """Add the lower triangle of Σ over users of xxᵀ, where x are the user's confidences."""
    for user in range(len(starts) - 1):
        for k in range(starts[user], starts[user + 1]):
            row = gram[np.uint32(items[k])]
            scale = confidences[k]
            for other in range(starts[user], k + 1):  # items ascend within a user
                row[np.uint32(items[other])] += scale * confidences[other]


@_kernel
def regression_error(starts: Indices, items: Any, confidences: Array, coefficients: Array) -> float:
    """Return Σ(x − xB)² at the events, with the users' rows x of confidences."""
    longest = 0
    for user in range(len(starts) - 1):
        longest = max(longest, starts[user + 1] - starts[user])
    residuals = np.empty(longest)
    total = 0.0
    for user in range(len(starts) - 1):
        start, count = starts[user], starts[user + 1] - starts[user]
        for k in range(count):
            residuals[k] = confidences[start + k]
        for k in range(count):
            row = coefficients[np.uint32(items[start + k])]
            scale = confidences[start + k]
            for other in range(count):
                residuals[other] -= scale * row[np.uint32(items[start + other])]
        for k in range(count):
            total += residuals[k] * residuals[k]
    return total
