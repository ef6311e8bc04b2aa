"""Euclidean space of matrices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import BasisError, InputError


@dataclass(frozen=True, slots=True)
class Euclidean:
    """The space of items×rank matrices with the Frobenius distance.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.geometry import Euclidean
    >>> Euclidean().distance(np.zeros((2, 1)), np.array([[3.0], [4.0]]))
    5.0
    """

    def as_point(
        self,
        value: ArrayLike,
        *,
        n_items: int | None = None,
        rank: int | None = None,
        name: str = "matrix",
        error: type[InputError] = BasisError,
    ) -> Array:
        """Return the value as a finite matrix."""
        return as_matrix(value, n_items=n_items, rank=rank, name=name, error=error)

    def random_point(self, n_items: int, rank: int, rng: Generator) -> Array:
        """Draw a Gaussian matrix whose columns have squared norm 1 in expectation."""
        return rng.standard_normal((n_items, rank)) / np.sqrt(n_items)

    def project(self, point: Array, vector: Array) -> Array:
        """Return the vector itself: every direction is tangent."""
        return vector

    def exp(self, point: Array, tangent: Array) -> Array:
        """Return the sum."""
        return point + tangent

    def log(self, point: Array, other: Array) -> Array:
        """Return the difference."""
        return other - point

    def distance(self, point: Array, other: Array) -> float:
        """Return the Frobenius norm of the difference."""
        return float(np.linalg.norm(other - point))

    def transport(self, target: Array, tangent: Array) -> Array:
        """Return the tangent itself: all tangent spaces are the same."""
        return tangent

    def hessian(self, point: Array, gradient: Array, direction: Array, product: Array) -> Array:
        """Return the product itself: the space is flat."""
        return product

    def mean(self, points: Sequence[Array]) -> Array:
        """Return the arithmetic mean."""
        return np.mean(points, axis=0, dtype=np.float64)
