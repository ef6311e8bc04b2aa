"""Evaluations of all agents at a basis, summed."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.problems.base import LocalProblem
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, all_reduce

_GRASSMANN = Grassmann()


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A basis and the evaluations of all agents there, summed."""

    basis: Array
    cost: float
    squared_error: float
    euclidean_gradient: Array
    gram: Array
    monitored: float = 0.0  # the number that a monitor computes
    mse: Own[float] | None = None  # of each agent alone, as in ``Iterate``

    @property
    def gradient(self) -> Array:
        """The Riemannian gradient."""
        return _GRASSMANN.project(self.basis, self.euclidean_gradient)

    @property
    def iterate(self) -> Iterate:
        """The iterate that is reported to others."""
        norm = float(np.linalg.norm(self.gradient))
        return Iterate(self.basis, self.cost, norm, mse=self.mse)


class Monitor(Protocol):
    """A number that is computed at each point, summed with the cost, and may stop a descent."""

    def count(self, data: Data, basis: Array) -> float:
        """Return an agent's part of the number."""
        ...

    def check(self, point: Point) -> Subprogram[str]:
        """Inspect an accepted point; return a reason to stop there, or an empty string."""
        ...


def evaluate(
    problem: Own[LocalProblem],
    basis: Array,
    iterate: Iterate,
    monitor: Monitor | None = None,
) -> Subprogram[Point]:
    """Evaluate the problems of all agents at a basis."""
    mse: Own[float] = Own()

    def own(data: Data) -> tuple[Array, Array, Array]:
        of_agent = data[problem]
        here, count = of_agent.evaluate(basis), of_agent.n_values
        data[mse] = here.squared_error / count if count else math.nan
        # Some problems have no squared error; their NaN must not enter the sum.
        error = 0.0 if math.isnan(here.squared_error) else here.squared_error
        numbers = [here.cost, error, *([monitor.count(data, basis)] if monitor else [])]
        return here.gradient, here.gram, np.array(numbers)

    euclidean_gradient, gram, sums = yield from all_reduce(iterate, own)
    cost, squared_error, *monitored = map(float, sums)
    monitored_sum = monitored[0] if monitored else 0.0
    return Point(basis, cost, squared_error, euclidean_gradient, gram, monitored_sum, mse)
