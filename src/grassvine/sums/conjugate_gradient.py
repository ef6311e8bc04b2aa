r"""Preconditioned conjugate gradients on the Grassmann manifold, over sums of all agents.

.. math::

    G, C, f &= Σ\,\text{oracle}, \qquad g = \mathrm{Proj}\,G, \qquad z = \mathrm{Proj}(M^{-1}g) \\
    d &= −z + β\,\mathrm{Proj}\,d_{old}, \qquad
        β = \max(0, ⟨z, g − \mathrm{Proj}\,g_{old}⟩ / ⟨z_{old}, g_{old}⟩) \\
    t &= −⟨g, d⟩ / Σ⟨d, \mathrm{Hess} f_i[d]⟩, \qquad U ← \mathrm{Exp}_U(t\,d)

t minimises the second-order model along d, is limited to 0.8/‖d‖₂, and is halved while the cost
rises; there is no step size to choose. An iteration takes one sum of m·r + r² + 2 numbers and one
of a single number.

The descent stops when the gradient norm ⟨z, g⟩^½ has fallen to a tolerance. Since M approximates
the Hessian, ½⟨z, g⟩ approximates the remaining decrease in units of the cost, so the units of raw
features do not matter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.problems.base import TwiceDifferentiable
from grassvine.sums.common import no_step_reason
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce, decide

LONGEST = 0.8  # radians: the largest principal angle of a step
MAX_HALVINGS = 30
# Relative accuracy of costs, which are sums of many squares.
ROUNDING = 1e-10
# A projected gradient below this fraction of the Euclidean gradient is rounding.
ZERO_GRADIENT = 1e-14

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


class Preconditioner(Protocol):
    """A preconditioner M, which may need sums of its own."""

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum the quantities that it needs at a point."""
        ...

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
        ...


class Monitor(Protocol):
    """A number that is computed at each point, summed with the cost, and may stop a descent."""

    def count(self, data: Data, basis: Array) -> float:
        """Return an agent's part of the number."""
        ...

    def check(self, point: Point) -> Subprogram[str]:
        """Inspect an accepted point; return a reason to stop there, or an empty string."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DescentResult:
    """The final point of a descent, why it stopped, and whether it converged."""

    point: Point
    iterations: int
    reason: str
    converged: bool


Descent: TypeAlias = Subprogram[DescentResult]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop: at a tolerance, after ``max_iter`` iterations, or when the descent is stuck.

    It is stuck if the cost fell by less than the fraction ``slow`` in each of ``n_iter_no_change``
    consecutive iterations, and the gradient norm is still above the fraction ``steady`` of its
    value before them. With ``n_iter_no_change=0`` this is not checked.
    """

    tol: float
    max_iter: int
    n_iter_no_change: int = 0
    steady: float = 0.0
    slow: float = 0.01

    def stuck(self, lengths: Sequence[float]) -> bool:
        """Return whether the gradient norm has hardly changed over these iterations."""
        return lengths[-1] > self.steady * lengths[-1 - self.n_iter_no_change]


def evaluate(
    problem: Own[TwiceDifferentiable],
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


def conjugate_gradient(
    problem: Own[TwiceDifferentiable],
    start: Array,
    preconditioner: Preconditioner,
    stopping: StoppingRule,
    monitor: Monitor | None = None,
) -> Descent:
    """Minimise the sum of all agents' costs from a common start."""
    point = yield from evaluate(problem, start, Iterate(start), monitor)
    if monitor:
        yield from monitor.check(point)
    norms: list[float] = []  # of the preconditioned gradients
    last_direction = last_gradient = None
    last_product = 1.0
    slow = 0
    for iteration in range(stopping.max_iter):
        gradient = point.gradient
        zero = ZERO_GRADIENT * float(np.linalg.norm(point.euclidean_gradient))
        if (yield from decide(float(np.linalg.norm(gradient)) <= zero)):
            reason = "the gradient is zero up to rounding"
            return DescentResult(point, iteration, reason, converged=True)
        yield from preconditioner.prepare(point, iteration)
        scaled = _GRASSMANN.project(point.basis, preconditioner.apply_inverse(point, gradient))
        product = float(np.sum(scaled * gradient))
        norms.append(math.sqrt(max(product, 0.0)))
        if (yield from decide(norms[-1] <= stopping.tol * norms[0])):
            reason = f"the gradient norm fell to {stopping.tol:g} of its initial value"
            return DescentResult(point, iteration, reason, converged=True)
        if (
            stopping.n_iter_no_change
            and slow >= stopping.n_iter_no_change
            and (yield from decide(stopping.stuck(norms)))
        ):
            reason = (
                f"the cost fell by less than {stopping.slow:.0%} in {slow} consecutive iterations"
            )
            return DescentResult(point, iteration, reason, converged=False)
        direction = -scaled
        if last_direction is not None and last_gradient is not None:
            transported = _GRASSMANN.project(point.basis, last_gradient)
            beta = max(0.0, (product - float(np.sum(scaled * transported))) / last_product)
            beta = yield from agree(beta)
            mixed = direction + beta * _GRASSMANN.project(point.basis, last_direction)
            if (yield from decide(float(np.sum(mixed * gradient)) < 0.0)):
                direction = mixed
        there = yield from _search(problem, point, gradient, direction, monitor)
        if there is None:
            reason = yield from no_step_reason(0.5 * product, point.cost)
            return DescentResult(point, iteration, reason, converged=True)
        decrease = (point.cost - there.cost) / abs(point.cost) if point.cost else 0.0
        slow = slow + 1 if (yield from decide(decrease < stopping.slow)) else 0
        point, last_direction, last_gradient, last_product = there, direction, gradient, product
        if monitor and (reason := (yield from monitor.check(point))):
            return DescentResult(point, iteration + 1, reason, converged=False)
    reason = f"reached the limit of {stopping.max_iter} iterations"
    return DescentResult(point, stopping.max_iter, reason, converged=False)


def _search(
    problem: Own[TwiceDifferentiable],
    point: Point,
    gradient: Array,
    direction: Array,
    monitor: Monitor | None,
) -> Subprogram[Point | None]:
    """Move to the minimiser of the second-order model, or less far while the cost rises."""

    def own(data: Data) -> tuple[float]:
        product = data[problem].hessian_product(point.basis, direction)
        return (float(np.sum(direction * product)),)

    (curvature_along,) = yield from all_reduce(point.iterate, own)
    curvature = float(curvature_along) - float(
        np.sum(direction * (direction @ (point.basis.T @ point.euclidean_gradient)))
    )
    descent = -float(np.sum(gradient * direction))
    step = descent / curvature if curvature > 0.0 else 1.0
    length = float(np.linalg.norm(direction, 2))
    step = yield from agree(min(step, LONGEST / length) if length else step)
    for _ in range(MAX_HALVINGS):
        basis = _GRASSMANN.exp(point.basis, step * direction)
        there = yield from evaluate(problem, basis, point.iterate, monitor)
        if (yield from decide(there.cost <= point.cost)):
            return there
        # If the predicted decrease is rounding, comparing costs is meaningless.
        rounding = ROUNDING * abs(point.cost)
        if (yield from decide(step * descent <= rounding)):
            same = yield from decide(there.cost <= point.cost + rounding)
            return there if same else None
        step *= 0.5
    return None
