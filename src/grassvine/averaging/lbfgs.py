"""The memory of L-BFGS on the Grassmann manifold."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann

SPACE = Grassmann()


@dataclass(slots=True, eq=False)
class Pairs:
    """The memory of L-BFGS: steps, changes of the gradient, and their products."""

    most: int
    kept: list[tuple[Array, Array]] = field(default_factory=list)

    def forget(self) -> None:
        """Begin anew."""
        self.kept.clear()

    def carry(self, basis: Array) -> None:
        """Bring all pairs to another basis, by projection."""
        self.kept = [(SPACE.project(basis, s), SPACE.project(basis, y)) for s, y in self.kept]

    def add(self, step: Array, change: Array) -> None:
        """Keep a pair that says that the cost is curved upwards."""
        if np.vdot(step, change) > 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
            self.kept = [*self.kept, (step, change)][-self.most :] if self.most else []

    def apply(self, gradient: Array, inverse: Callable[[Array], Array]) -> Array:
        """Return Hg by the two loops of L-BFGS, with H₀ scaled by the last pair."""
        usable = [(s, y, float(np.vdot(s, y))) for s, y in self.kept]
        usable = [(s, y, product) for s, y, product in usable if product > 0.0]
        left, shares = gradient, []
        for step, change, product in reversed(usable):
            shares.append(float(np.vdot(step, left)) / product)
            left = left - shares[-1] * change
        found = inverse(left)
        if usable:
            _, change, product = usable[-1]
            found = found * (product / float(np.vdot(change, inverse(change))))
        for (step, change, product), share in zip(usable, reversed(shares), strict=True):
            found = found + (share - float(np.vdot(change, found)) / product) * step
        return found
