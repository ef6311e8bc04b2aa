"""Preconditioners of the gossip step: ξ ↦ diag(s)·ξ·K + c·ξ."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.problems.base import Evaluation

if TYPE_CHECKING:
    from grassvine.gossip.method import Gossip


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """A symmetric positive definite operator M on items×rank matrices.

    With K = QΛQᵀ, it multiplies entry (i, k) of ξQ by s_iλ_k + c. These ``factors`` have shape
    (n_items, rank) or, if all items have the same scale, (1, rank).
    """

    vectors: Array
    factors: Array

    def apply(self, direction: Array) -> Array:
        """Return Mξ."""
        return ((direction @ self.vectors) * self.factors) @ self.vectors.T

    def apply_inverse(self, direction: Array) -> Array:
        """Return M⁻¹ξ."""
        return ((direction @ self.vectors) / self.factors) @ self.vectors.T

    def minimising_step(self, gradient: Array, direction: Array) -> float:
        """Return the t that minimises t⟨gradient, ξ⟩ + ½t²⟨ξ, Mξ⟩ along the direction ξ."""
        curvature_along = float(np.sum(direction * self.apply(direction)))
        return (
            -float(np.sum(gradient * direction)) / curvature_along if curvature_along > 0.0 else 0.0
        )

    @property
    def least(self) -> float:
        """The smallest factor."""
        return float(self.factors.min())


def curvature(evaluation: Evaluation, share: float, stiffness: float) -> Preconditioner:
    """Return ξ ↦ α·diag(s)·ξ·K + 2ρn·ξ, the Hessian approximation for n meetings."""
    matrix = _required(evaluation.curvature, "curvature")
    return _metric(share * matrix, evaluation.item_scales, stiffness)


def preconditioner(
    method: "Gossip", evaluation: Evaluation, share: float, stiffness: float
) -> Preconditioner:
    """Return the preconditioner of a method."""
    if method.preconditioner == "curvature":
        return curvature(evaluation, share, stiffness)
    equal_scales = np.ones(1)
    if method.preconditioner == "gram":
        return _metric(_required(evaluation.gram, "Gram matrix"), equal_scales, 0.5 * stiffness)
    return _metric(np.eye(evaluation.gradient.shape[1]), equal_scales, 0.0)


def _metric(matrix: Array, scales: Array, shift: float) -> Preconditioner:
    values, vectors = np.linalg.eigh(matrix)
    factors = scales[:, None] * np.maximum(values, 0.0) + shift
    if shift == 0.0:
        # Directions without curvature, or no data at all, would give zero factors.
        factors = np.maximum(factors, 1e-14 * factors.max() + np.finfo(float).tiny)
    return Preconditioner(vectors, factors)


def _required(matrix: Array, what: str) -> Array:
    if matrix.size == 0:
        raise PlanError(
            f"the problem provides no {what}; return one from its function, or choose "
            "preconditioner='none' with a step size StepSize(a, b)."
        )
    return matrix
