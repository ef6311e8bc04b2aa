"""What a problem is: f(U) = min over W of a cost that only the owner of the data can compute."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from grassvine.foundations.arrays import Array, as_matrix


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """All that one inner least-squares solve reveals at U.

    Attributes
    ----------
    cost : float
        f(U).
    gradient : items×rank array
        The Euclidean gradient of f.
    gram : rank×rank array
        WᵀW of the inner solution, the paper's preconditioner. Empty (0×0) where there is none.
    curvature : rank×rank array
        K such that the Hessian of f is at most about ξ ↦ diag(s)·ξ·K: the Gram matrix with the
        scale of the data put back. It is what makes a step of length 1 right. Empty where it is
        not known.
    item_scales : array, one an item
        s: how much the data say about each item.
    squared_error : float
        The sum of squared residuals at the known values; NaN where that means nothing.
    """

    cost: float
    gradient: Array
    gram: Array
    curvature: Array
    item_scales: Array
    squared_error: float = math.nan


@runtime_checkable
class LocalProblem(Protocol):
    """One agent's share of the problem."""

    @property
    def n_items(self) -> int:
        """The number of rows of U."""
        ...

    @property
    def n_values(self) -> int:
        """The number of known values, by which a squared error becomes a mean."""
        ...

    def evaluate(self, basis: Array) -> Evaluation:
        """Return cost, gradient and Gram matrices at U."""
        ...

    def weights(self, basis: Array) -> Array:
        """Return the inner solution W at U, one row per user, task or sample."""
        ...


@runtime_checkable
class TwiceDifferentiable(LocalProblem, Protocol):
    """A problem with Hessian–vector products."""

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return the derivative of the Euclidean gradient along a direction."""
        ...


def as_argument(problem: LocalProblem, basis: Array, name: str = "basis") -> Array:
    """Return the basis in the layout that kernels rely on, refused where its shape is wrong."""
    return as_matrix(basis, n_items=problem.n_items, name=name)
