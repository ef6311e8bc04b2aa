r"""Preconditioned conjugate gradients on the manifold, over sums of all agents.

.. math::

    G, C, f &= Σ\,\text{oracle}, \qquad g = \mathrm{Proj}\,G, \qquad z = \mathrm{Proj}(M^{-1}g) \\
    d &= −z + β\,\mathrm{Proj}\,d_{old}, \qquad
        β = \max(0, ⟨z, g − \mathrm{Proj}\,g_{old}⟩ / ⟨z_{old}, g_{old}⟩) \\
    t &= −⟨g, d⟩ / Σ⟨d, \mathrm{Hess} f_i[d]⟩, \qquad U ← \mathrm{Exp}_U(t\,d)

t is the minimiser of the second-order model along d, at most 0.8/‖d‖₂, and halved while the cost
rises; there is no step size to choose. An iteration is one sum of m·r + r² + 2 numbers and one of a
single number.

The end is when the gradient's length has fallen to a tolerance, its length being ⟨z, g⟩^½. As M is
about the Hessian, ½⟨z, g⟩ is about what is still to be gained, in the unit of the cost: the units
of raw features do not matter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.problems.base import TwiceDifferentiable
from grassvine.sums.program import Adding, Standing, add_up

LONGEST = 0.8  # radians: the largest principal angle of a step
MOST_HALVINGS = 30
# Costs are sums of many squares: they are known to about this share of themselves.
ROUNDING = 1e-10
# A gradient is what projection leaves of the slope: below this share of it, it is rounding.
NO_SLOPE = 1e-14

_GRASSMANN = Grassmann()


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A basis and what all agents together know there."""

    basis: Array
    cost: float
    squared_error: float
    slope: Array  # the Euclidean gradient
    gram: Array
    watched: float = 0.0  # what a watch counts

    @property
    def gradient(self) -> Array:
        """The Riemannian gradient."""
        return _GRASSMANN.project(self.basis, self.slope)

    @property
    def standing(self) -> Standing:
        """What others may see."""
        return Standing(self.basis, self.cost, float(np.linalg.norm(self.gradient)))


class Divider(Protocol):
    """A preconditioner M; it may need sums of its own before it can divide."""

    def prepare(self, point: Point, iteration: int) -> Adding[None]:
        """Add up what it needs at a point."""
        ...

    def divide(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        ...


class Watch(Protocol):
    """Counts something at each point, which is added up beside the cost, and may end a descent."""

    def count(self, basis: Array) -> float:
        """Return this agent's part of the number."""
        ...

    def judge(self, point: Point) -> str:
        """Look at a point that was reached; return why to end there, or nothing."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Where a descent ended, why, and whether that is a minimum."""

    point: Point
    iterations: int
    reason: str
    settled: bool


Descending: TypeAlias = Adding[Descent]


@dataclass(frozen=True, slots=True)
class Rules:
    """When to stop: at a gradient, after iterations, or when the descent is stuck.

    It is stuck when the cost fell by less than 1 % ``patience`` times running, and the gradient
    is still longer than ``steady`` of what it was before them. A patience of 0 has no end.
    """

    tolerance: float
    max_iterations: int
    patience: int = 0
    steady: float = 0.0
    slow: float = 0.01

    def stuck(self, lengths: Sequence[float]) -> bool:
        """Tell whether the gradient is about as long as it was before the patience began."""
        return lengths[-1] > self.steady * lengths[-1 - self.patience]


def evaluate(
    problem: TwiceDifferentiable, basis: Array, standing: Standing, watch: Watch | None = None
) -> Adding[Point]:
    """Evaluate the problems of all agents at a basis."""

    def own() -> tuple[Array, Array, Array]:
        here = problem.evaluate(basis)
        # It is NaN where it means nothing; a sum is one of numbers.
        error = 0.0 if math.isnan(here.squared_error) else here.squared_error
        numbers = [here.cost, error, *([watch.count(basis)] if watch else [])]
        return here.gradient, here.gram, np.array(numbers)

    slope, gram, sums = yield from add_up(standing, own)
    cost, squared_error, *watched = map(float, sums)
    return Point(basis, cost, squared_error, slope, gram, *watched)


def descend_together(
    problem: TwiceDifferentiable,
    start: Array,
    divider: Divider,
    rules: Rules,
    watch: Watch | None = None,
) -> Descending:
    """Minimise the sum of all agents' costs from a common start."""
    point = yield from evaluate(problem, start, Standing(start), watch)
    if watch:
        watch.judge(point)
    lengths: list[float] = []  # of the gradients
    towards = last_gradient = None
    last_product = 1.0
    slow = 0
    for iteration in range(rules.max_iterations):
        gradient = point.gradient
        if float(np.linalg.norm(gradient)) <= NO_SLOPE * float(np.linalg.norm(point.slope)):
            reason = "the gradient is zero but for rounding"
            return Descent(point, iteration, reason, settled=True)
        yield from divider.prepare(point, iteration)
        scaled = _GRASSMANN.project(point.basis, divider.divide(point, gradient))
        product = float(np.sum(scaled * gradient))
        lengths.append(math.sqrt(max(product, 0.0)))
        if lengths[-1] <= rules.tolerance * lengths[0]:
            reason = f"the gradient fell to {rules.tolerance:g} of its first length"
            return Descent(point, iteration, reason, settled=True)
        if rules.patience and slow >= rules.patience and rules.stuck(lengths):
            reason = f"the cost fell by less than {rules.slow:.0%} {slow} times running"
            return Descent(point, iteration, reason, settled=False)
        direction = -scaled
        if towards is not None and last_gradient is not None:
            carried = _GRASSMANN.project(point.basis, last_gradient)
            beta = max(0.0, (product - float(np.sum(scaled * carried))) / last_product)
            mixed = direction + beta * _GRASSMANN.project(point.basis, towards)
            if float(np.sum(mixed * gradient)) < 0.0:
                direction = mixed
        there = yield from _search(problem, point, gradient, direction, watch)
        if there is None:
            return Descent(point, iteration, "no step improves the cost any more", settled=True)
        gained = (point.cost - there.cost) / abs(point.cost) if point.cost else 0.0
        slow = slow + 1 if gained < rules.slow else 0
        point, towards, last_gradient, last_product = there, direction, gradient, product
        if watch and (reason := watch.judge(point)):
            return Descent(point, iteration + 1, reason, settled=False)
    reason = f"{rules.max_iterations} iterations were done"
    return Descent(point, rules.max_iterations, reason, settled=False)


def _search(
    problem: TwiceDifferentiable,
    point: Point,
    gradient: Array,
    direction: Array,
    watch: Watch | None,
) -> Adding[Point | None]:
    """Go to the minimiser of the second-order model, or less far while the cost rises."""

    def own() -> tuple[float]:
        return (float(np.sum(direction * problem.hessian_product(point.basis, direction))),)

    (bend,) = yield from add_up(point.standing, own)
    curved = float(bend) - float(np.sum(direction * (direction @ (point.basis.T @ point.slope))))
    descent = -float(np.sum(gradient * direction))
    step = descent / curved if curved > 0.0 else 1.0
    length = float(np.linalg.norm(direction, 2))
    step = min(step, LONGEST / length) if length else step
    for _ in range(MOST_HALVINGS):
        basis = _GRASSMANN.exp(point.basis, step * direction)
        there = yield from evaluate(problem, basis, point.standing, watch)
        if there.cost <= point.cost:
            return there
        # Where the model promises no more than rounding, costs cannot tell better from worse.
        rounding = ROUNDING * abs(point.cost)
        if step * descent <= rounding:
            return there if there.cost <= point.cost + rounding else None
        step *= 0.5
    return None
