"""The geometry protocol. Points and tangent vectors are items×rank matrices."""

from collections.abc import Sequence
from typing import Protocol

from numpy.random import Generator
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, InputError


class Geometry(Protocol):
    """A Riemannian manifold with exponential map, logarithm and distance.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.geometry import Geometry, Grassmann
    >>> geometry: Geometry = Grassmann()
    >>> start = geometry.random_point(6, 2, np.random.default_rng(0))
    >>> end = geometry.random_point(6, 2, np.random.default_rng(1))
    >>> bool(geometry.distance(geometry.exp(start, geometry.log(start, end)), end) < 1e-12)
    True
    """

    def as_point(
        self,
        value: ArrayLike,
        *,
        n_items: int | None = None,
        rank: int | None = None,
        name: str = "basis",
        error: type[InputError] = BasisError,
    ) -> Array:
        """Return the value as a point, or raise ``error`` if it is not one."""
        ...

    def random_point(self, n_items: int, rank: int, rng: Generator) -> Array:
        """Draw a random point."""
        ...

    def project(self, point: Array, vector: Array) -> Array:
        """Project a vector, such as a Euclidean gradient, onto the tangent space at the point."""
        ...

    def exp(self, point: Array, tangent: Array) -> Array:
        """Return the end point of the geodesic that starts at the point with the given tangent."""
        ...

    def log(self, point: Array, other: Array) -> Array:
        """Return the tangent vector with exp(point, tangent) = other."""
        ...

    def distance(self, point: Array, other: Array) -> float:
        """Return the geodesic distance ‖log(point, other)‖."""
        ...

    def transport(self, target: Array, tangent: Array) -> Array:
        """Transport a tangent vector to the point ``target`` by projection."""
        ...

    def hessian(self, point: Array, gradient: Array, direction: Array, product: Array) -> Array:
        """Return the Riemannian Hessian product, given the Euclidean one.

        ``product`` is the derivative of the Euclidean gradient along the tangent ``direction``.
        """
        ...

    def mean(self, points: Sequence[Array]) -> Array:
        """Return the point that minimises the sum of squared distances to the given points."""
        ...
