"""Preconditioners built from statistics that are averaged over the agents, not summed.

The averages differ slightly between agents, and may be slightly indefinite.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import LocalProblem, ModelsHessian

ApplyInverse: TypeAlias = Callable[[Array, Array], Array]  # of a tangent and C

# Below this fraction of the largest eigenvalue, the averages differ between agents.
FLOOR = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """Approximate pooled Hessian ξ ↦ (S/n + λI)·ξ·C, from statistics averaged once.

    For a problem without such statistics it is ξ ↦ ξC, or the identity if there is no C.
    """

    statistics: Array
    build: Callable[[Array, int], ApplyInverse]

    @classmethod
    def of(cls, problem: LocalProblem) -> "Preconditioner":
        """Return the preconditioner of a problem."""
        if not isinstance(problem, ModelsHessian):
            return cls(np.zeros(0), lambda statistics, n_agents: _apply_inverse_gram)
        own, count = problem.hessian_statistics()

        def build(statistics: Array, n_agents: int) -> ApplyInverse:
            mean = statistics[:-1].reshape(own.shape)
            if own.ndim == 1:
                # Count an unrated item as rated once.
                return _by_scales(np.maximum(mean, 1.0 / n_agents) / statistics[-1] + problem.alpha)
            return _by_matrix(mean / statistics[-1], problem.alpha)

        return cls(np.append(own.ravel(), count).astype(np.float64), build)


def _by_scales(scales: Array) -> ApplyInverse:
    return lambda tangent, gram: _apply_inverse_gram(tangent / scales[:, None], gram)


def _by_matrix(matrix: Array, alpha: float) -> ApplyInverse:
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    values = np.maximum(values, FLOOR * values[-1]) + alpha

    def apply_inverse(tangent: Array, gram: Array) -> Array:
        return _apply_inverse_gram(vectors @ ((vectors.T @ tangent) / values[:, None]), gram)

    return apply_inverse


def _apply_inverse_gram(tangent: Array, gram: Array) -> Array:
    """Return ξC⁻¹, with the eigenvalues of C floored at 1e-6 of the largest."""
    if not gram.size:
        return tangent
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    values = np.maximum(values, 1e-6 * values[-1]) if values[-1] > 0.0 else np.ones_like(values)
    return ((tangent @ vectors) / values) @ vectors.T
