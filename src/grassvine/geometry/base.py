"""What a geometry can do. Points and tangent vectors are items×rank matrices."""

from collections.abc import Sequence
from typing import Protocol

from numpy.random import Generator
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, InputError


class Geometry(Protocol):
    """A space with straight lines: exp follows one, log finds one, ‖log‖ is the distance."""

    def as_point(
        self,
        value: ArrayLike,
        *,
        n_items: int | None = None,
        rank: int | None = None,
        name: str = "basis",
        error: type[InputError] = BasisError,
    ) -> Array:
        """Return the value as a point, or raise ``error`` with what is wrong with it."""
        ...

    def random_point(self, n_items: int, rank: int, rng: Generator) -> Array:
        """Draw a point uniformly."""
        ...

    def project(self, point: Array, vector: Array) -> Array:
        """Return the part of a vector (a Euclidean gradient, say) that is tangent at the point."""
        ...

    def exp(self, point: Array, tangent: Array) -> Array:
        """Walk from the point along the tangent, by its length."""
        ...

    def log(self, point: Array, other: Array) -> Array:
        """Return the tangent that leads from the point to the other: exp(point, log) = other."""
        ...

    def distance(self, point: Array, other: Array) -> float:
        """Return ‖log‖."""
        ...

    def transport(self, target: Array, tangent: Array) -> Array:
        """Carry a tangent vector to the point ``target`` by projection."""
        ...

    def hessian(self, point: Array, gradient: Array, direction: Array, product: Array) -> Array:
        """Turn a Euclidean Hessian product into the space's own.

        ``product`` is the derivative of the Euclidean gradient along ``direction``, a tangent.
        """
        ...

    def mean(self, points: Sequence[Array]) -> Array:
        """Return the point whose squared distances to the points have the least sum."""
        ...
