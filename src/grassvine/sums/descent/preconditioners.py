"""Preconditioners of the exact methods, built from sums over all agents."""

from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import CompletesRatings
from grassvine.sums.descent.points import Point
from grassvine.sums.own import Own
from grassvine.sums.program import Subprogram, all_reduce

# Avoids division by zero for directions without weights and features without values.
FLOOR = 1e-14
REFRESH = 15  # iterations


def _nothing() -> Subprogram[None]:
    return
    yield


@dataclass(frozen=True, slots=True)
class IdentityPreconditioner:
    """The identity."""

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum nothing."""
        return _nothing()

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return ξ."""
        return tangent


@dataclass(frozen=True, slots=True, eq=False)
class ItemScaling:
    """Completion: diag(p_i + λ + μ)·ξ·WᵀW, where p_i is the share of users who rated item i."""

    scales: Array

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum nothing."""
        return _nothing()

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        return _by_gram(tangent / self.scales[:, None], point.gram)


class ItemBlocks:
    r"""Completion: the item blocks of the Hessian, with users eliminated and residuals neglected.

    .. math:: M_i = Σ_j (1−λ)(1 − (1−λ)u_iᵀS_j^{-1}u_i) w_jw_jᵀ + (10^{-3}p + λ + μ) WᵀW

    over the users j of item i, where p is the density of the table. It takes a sum of m·r(r+1)/2
    numbers, and is recomputed every 15 iterations.
    """

    def __init__(self, problem: Own[CompletesRatings], density: float, alpha: float):
        self._problem = problem
        self._share = 1e-3 * density + alpha
        self._blocks = np.zeros(0)

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum the blocks, if they are due."""
        if iteration % REFRESH == 0:
            (total,) = yield from all_reduce(
                point.iterate, lambda data: (data[self._problem].item_blocks(point.basis),)
            )
            self._blocks = unpacked(total, point.basis.shape[1])

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        common = self._share * _floored(point.gram)
        return _solve(self._blocks + common, tangent[:, :, None])[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class KroneckerPreconditioner:
    """Multitask: (Σ X_tᵀX_t/T + λI)·ξ·WᵀW, the Hessian if all tasks had the same features."""

    features: Array

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum nothing."""
        return _nothing()

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        return _by_gram(_solve(_floored(self.features), tangent), point.gram)


def _by_gram(tangent: Array, gram: Array) -> Array:
    return _solve(_floored(gram), tangent.T).T


def _solve(matrix: Array, right: Array) -> Array:
    return np.linalg.solve(matrix, right).astype(np.float64, copy=False)


def _floored(gram: Array) -> Array:
    rank = len(gram)
    return gram + (FLOOR * float(np.trace(gram)) + np.finfo(float).tiny) * np.eye(rank)


def unpacked(packed: Array, rank: int) -> Array:
    """Return symmetric blocks from their lower triangles."""
    rows, columns = np.tril_indices(rank)
    blocks = np.empty((len(packed), rank, rank))
    blocks[:, rows, columns] = packed
    blocks[:, columns, rows] = packed
    return blocks
