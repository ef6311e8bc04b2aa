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

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.gossip.sums import Part, Standing, add_up
from grassvine.problems.base import TwiceDifferentiable

LONGEST = 0.8  # radians: the largest principal angle of a step
MOST_HALVINGS = 30
# Costs are sums of many squares: they are known to about this share of themselves.
ROUNDING = 1e-10

_GRASSMANN = Grassmann()


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A basis and what all agents together know there."""

    basis: Array
    cost: float
    squared_error: float
    slope: Array  # the Euclidean gradient
    gram: Array

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

    def prepare(self, point: Point, iteration: int) -> Generator[Part, Array, None]:
        """Add up what it needs at a point."""
        ...

    def divide(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Where a descent ended, and why."""

    point: Point
    iterations: int
    reason: str


Descending: TypeAlias = Generator[Part, Array, Descent]


@dataclass(frozen=True, slots=True)
class Rules:
    """When to stop: at a gradient, after iterations, or when the cost hardly falls any more."""

    tolerance: float
    max_iterations: int
    patience: int = 0  # so many iterations in a row that gain less than 1 %; 0 is never
    slow: float = 0.01


def evaluate(
    problem: TwiceDifferentiable, basis: Array, standing: Standing
) -> Generator[Part, Array, Point]:
    """Evaluate the problems of all agents at a basis."""
    own = problem.evaluate(basis)
    slope, gram, (cost, squared_error) = yield from add_up(
        standing, own.gradient, own.gram, np.array([own.cost, own.squared_error])
    )
    return Point(basis, float(cost), float(squared_error), slope, gram)


def descend_together(
    problem: TwiceDifferentiable, start: Array, divider: Divider, rules: Rules
) -> Descending:
    """Minimise the sum of all agents' costs from a common start."""
    point = yield from evaluate(problem, start, Standing(start))
    towards = last_gradient = None
    first = last_product = 1.0
    slow = 0
    for iteration in range(rules.max_iterations):
        gradient = point.gradient
        yield from divider.prepare(point, iteration)
        scaled = _GRASSMANN.project(point.basis, divider.divide(point, gradient))
        product = float(np.sum(scaled * gradient))
        first = first if iteration else product
        if product <= rules.tolerance**2 * first:
            reason = f"the gradient fell to {rules.tolerance:g} of its first length"
            return Descent(point, iteration, reason)
        direction = -scaled
        if towards is not None and last_gradient is not None:
            carried = _GRASSMANN.project(point.basis, last_gradient)
            beta = max(0.0, (product - float(np.sum(scaled * carried))) / last_product)
            mixed = direction + beta * _GRASSMANN.project(point.basis, towards)
            if float(np.sum(mixed * gradient)) < 0.0:
                direction = mixed
        there = yield from _search(problem, point, gradient, direction)
        if there is None:
            return Descent(point, iteration, "no step improves the cost any more")
        gained = (point.cost - there.cost) / abs(point.cost) if point.cost else 0.0
        slow = slow + 1 if gained < rules.slow else 0
        point, towards, last_gradient, last_product = there, direction, gradient, product
        if rules.patience and slow >= rules.patience:
            reason = f"the cost fell by less than {rules.slow:.0%} {slow} times running"
            return Descent(point, iteration + 1, reason)
    return Descent(point, rules.max_iterations, f"{rules.max_iterations} iterations were done")


def _search(
    problem: TwiceDifferentiable, point: Point, gradient: Array, direction: Array
) -> Generator[Part, Array, Point | None]:
    """Go to the minimiser of the second-order model, or less far while the cost rises."""
    own = float(np.sum(direction * problem.hessian_product(point.basis, direction)))
    (bend,) = yield from add_up(point.standing, own)
    curved = float(bend) - float(np.sum(direction * (direction @ (point.basis.T @ point.slope))))
    descent = -float(np.sum(gradient * direction))
    step = descent / curved if curved > 0.0 else 1.0
    length = float(np.linalg.norm(direction, 2))
    step = min(step, LONGEST / length) if length else step
    for _ in range(MOST_HALVINGS):
        basis = _GRASSMANN.exp(point.basis, step * direction)
        there = yield from evaluate(problem, basis, point.standing)
        if there.cost <= point.cost:
            return there
        # Where the model promises no more than rounding, costs cannot tell better from worse.
        rounding = ROUNDING * abs(point.cost)
        if step * descent <= rounding:
            return there if there.cost <= point.cost + rounding else None
        step *= 0.5
    return None
