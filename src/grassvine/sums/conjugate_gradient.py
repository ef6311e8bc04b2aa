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
from grassvine.sums.program import Iterate, Subprogram, all_reduce

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
    euclidean_gradient: Array  # the Euclidean gradient
    gram: Array
    monitored: float = 0.0  # what a watch counts

    @property
    def gradient(self) -> Array:
        """The Riemannian gradient."""
        return _GRASSMANN.project(self.basis, self.euclidean_gradient)

    @property
    def iterate(self) -> Iterate:
        """What others may see."""
        return Iterate(self.basis, self.cost, float(np.linalg.norm(self.gradient)))


class Preconditioner(Protocol):
    """A preconditioner M; it may need sums of its own before it can divide."""

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Add up what it needs at a point."""
        ...

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        ...


class Monitor(Protocol):
    """Counts something at each point, which is added up beside the cost, and may end a descent."""

    def count(self, basis: Array) -> float:
        """Return this agent's part of the number."""
        ...

    def check(self, point: Point) -> str:
        """Look at a point that was reached; return why to end there, or nothing."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DescentResult:
    """Where a descent ended, why, and whether that is a minimum."""

    point: Point
    iterations: int
    reason: str
    converged: bool


Descent: TypeAlias = Subprogram[DescentResult]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop: at a gradient, after iterations, or when the descent is stuck.

    It is stuck when the cost fell by less than 1 % in each of ``n_iter_no_change`` iterations in a
    row, and the gradient is still longer than the fraction ``steady`` of what it was before them.
    With ``n_iter_no_change=0`` it is never stuck.
    """

    tol: float
    max_iter: int
    n_iter_no_change: int = 0
    steady: float = 0.0
    slow: float = 0.01

    def stuck(self, lengths: Sequence[float]) -> bool:
        """Tell whether the gradient is about as long as it was before those iterations."""
        return lengths[-1] > self.steady * lengths[-1 - self.n_iter_no_change]


def evaluate(
    problem: TwiceDifferentiable, basis: Array, iterate: Iterate, monitor: Monitor | None = None
) -> Subprogram[Point]:
    """Evaluate the problems of all agents at a basis."""

    def own() -> tuple[Array, Array, Array]:
        here = problem.evaluate(basis)
        # It is NaN where it means nothing; a sum is one of numbers.
        error = 0.0 if math.isnan(here.squared_error) else here.squared_error
        numbers = [here.cost, error, *([monitor.count(basis)] if monitor else [])]
        return here.gradient, here.gram, np.array(numbers)

    euclidean_gradient, gram, sums = yield from all_reduce(iterate, own)
    cost, squared_error, *monitored = map(float, sums)
    return Point(basis, cost, squared_error, euclidean_gradient, gram, *monitored)


def conjugate_gradient(
    problem: TwiceDifferentiable,
    start: Array,
    preconditioner: Preconditioner,
    stopping: StoppingRule,
    monitor: Monitor | None = None,
) -> Descent:
    """Minimise the sum of all agents' costs from a common start."""
    point = yield from evaluate(problem, start, Iterate(start), monitor)
    if monitor:
        monitor.check(point)
    lengths: list[float] = []  # of the gradients
    towards = last_gradient = None
    last_product = 1.0
    slow = 0
    for iteration in range(stopping.max_iter):
        gradient = point.gradient
        if float(np.linalg.norm(gradient)) <= NO_SLOPE * float(
            np.linalg.norm(point.euclidean_gradient)
        ):
            reason = "the gradient is zero but for rounding"
            return DescentResult(point, iteration, reason, converged=True)
        yield from preconditioner.prepare(point, iteration)
        scaled = _GRASSMANN.project(point.basis, preconditioner.apply_inverse(point, gradient))
        product = float(np.sum(scaled * gradient))
        lengths.append(math.sqrt(max(product, 0.0)))
        if lengths[-1] <= stopping.tol * lengths[0]:
            reason = f"the gradient fell to {stopping.tol:g} of its first length"
            return DescentResult(point, iteration, reason, converged=True)
        if (
            stopping.n_iter_no_change
            and slow >= stopping.n_iter_no_change
            and stopping.stuck(lengths)
        ):
            reason = f"the cost fell by less than {stopping.slow:.0%} {slow} times running"
            return DescentResult(point, iteration, reason, converged=False)
        direction = -scaled
        if towards is not None and last_gradient is not None:
            carried = _GRASSMANN.project(point.basis, last_gradient)
            beta = max(0.0, (product - float(np.sum(scaled * carried))) / last_product)
            mixed = direction + beta * _GRASSMANN.project(point.basis, towards)
            if float(np.sum(mixed * gradient)) < 0.0:
                direction = mixed
        there = yield from _search(problem, point, gradient, direction, monitor)
        if there is None:
            return DescentResult(
                point, iteration, "no step improves the cost any more", converged=True
            )
        gained = (point.cost - there.cost) / abs(point.cost) if point.cost else 0.0
        slow = slow + 1 if gained < stopping.slow else 0
        point, towards, last_gradient, last_product = there, direction, gradient, product
        if monitor and (reason := monitor.check(point)):
            return DescentResult(point, iteration + 1, reason, converged=False)
    reason = f"{stopping.max_iter} iterations were done"
    return DescentResult(point, stopping.max_iter, reason, converged=False)


def _search(
    problem: TwiceDifferentiable,
    point: Point,
    gradient: Array,
    direction: Array,
    monitor: Monitor | None,
) -> Subprogram[Point | None]:
    """Go to the minimiser of the second-order model, or less far while the cost rises."""

    def own() -> tuple[float]:
        return (float(np.sum(direction * problem.hessian_product(point.basis, direction))),)

    (curvature_along,) = yield from all_reduce(point.iterate, own)
    curved = float(curvature_along) - float(
        np.sum(direction * (direction @ (point.basis.T @ point.euclidean_gradient)))
    )
    descent = -float(np.sum(gradient * direction))
    step = descent / curved if curved > 0.0 else 1.0
    length = float(np.linalg.norm(direction, 2))
    step = min(step, LONGEST / length) if length else step
    for _ in range(MOST_HALVINGS):
        basis = _GRASSMANN.exp(point.basis, step * direction)
        there = yield from evaluate(problem, basis, point.iterate, monitor)
        if there.cost <= point.cost:
            return there
        # Where the model promises no more than rounding, costs cannot tell better from worse.
        rounding = ROUNDING * abs(point.cost)
        if step * descent <= rounding:
            return there if there.cost <= point.cost + rounding else None
        step *= 0.5
    return None
