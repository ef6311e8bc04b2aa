"""L-BFGS on the Grassmann manifold."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann

SPACE = Grassmann()


@dataclass(slots=True, eq=False)
class Pairs:
    """The memory of L-BFGS: pairs of a step and the change of the gradient along it."""

    most: int
    kept: list[tuple[Array, Array]] = field(default_factory=list)

    def forget(self) -> None:
        """Discard all pairs."""
        self.kept.clear()

    def carry(self, basis: Array) -> None:
        """Transport all pairs to another basis by projection."""
        self.kept = [(SPACE.project(basis, s), SPACE.project(basis, y)) for s, y in self.kept]

    def add(self, step: Array, change: Array) -> None:
        """Store a pair, if its curvature is positive."""
        if np.vdot(step, change) > 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
            self.kept = [*self.kept, (step, change)][-self.most :] if self.most else []

    def apply(self, gradient: Array, inverse: Callable[[Array], Array]) -> Array:
        """Return Hg by the two-loop recursion, with H₀ scaled by the last pair."""
        usable = [(s, y, float(np.vdot(s, y))) for s, y in self.kept]
        usable = [(s, y, product) for s, y, product in usable if product > 0.0]
        rest, coefficients = gradient, []
        for step, change, product in reversed(usable):
            coefficients.append(float(np.vdot(step, rest)) / product)
            rest = rest - coefficients[-1] * change
        result = inverse(rest)
        if usable:
            _, change, product = usable[-1]
            result = result * (product / float(np.vdot(change, inverse(change))))
        for (step, change, product), first in zip(usable, reversed(coefficients), strict=True):
            result = result + (first - float(np.vdot(change, result)) / product) * step
        return result
