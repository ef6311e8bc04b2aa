r"""Preconditioned conjugate gradients on the Grassmann manifold, over sums of all agents.

.. math::

    G, C, f &= Σ\,\text{oracle}, \qquad g = \mathrm{Proj}\,G, \qquad z = \mathrm{Proj}(M^{-1}g) \\
    d &= −z + β\,\mathrm{Proj}\,d_{old}, \qquad
        β = \max(0, ⟨z, g − \mathrm{Proj}\,g_{old}⟩ / ⟨z_{old}, g_{old}⟩)

and then the minimum along d (:mod:`grassvine.sums.descent.line_search`); there is no step size to
choose. Most iterations take one sum, of m·r + r² + 2 numbers.

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
from grassvine.problems.base import LocalProblem
from grassvine.sums.descent.line_search import ROUNDING, Base, line_search
from grassvine.sums.descent.points import Monitor, Point, evaluate
from grassvine.sums.descent.reasons import no_step_reason
from grassvine.sums.own import Own
from grassvine.sums.program import Iterate, Subprogram, agree, decide

# A projected gradient below this fraction of the Euclidean gradient is rounding.
ZERO_GRADIENT = 1e-14

_GRASSMANN = Grassmann()


class Preconditioner(Protocol):
    """A preconditioner M, which may need sums of its own."""

    def prepare(self, point: Point, iteration: int) -> Subprogram[None]:
        """Sum the quantities that it needs at a point."""
        ...

    def apply_inverse(self, point: Point, tangent: Array) -> Array:
        """Return M⁻¹ξ."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Last:
    """The last direction, and the gradient and its preconditioned length where it began."""

    direction: Array
    gradient: Array
    product: float


def conjugate_gradient(
    problem: Own[LocalProblem],
    start: Array,
    preconditioner: Preconditioner,
    stopping: StoppingRule,
    monitor: Monitor | None = None,
) -> Descent:
    """Minimise the sum of all agents' costs from a common start."""
    point = yield from evaluate(problem, start, Iterate(start), monitor)
    if monitor:
        yield from monitor.check(point)
    here, step, last = Base.at(point), 1.0, None
    norms: list[float] = []  # of the preconditioned gradients
    slow = 0
    for iteration in range(stopping.max_iter):
        yield from preconditioner.prepare(point, iteration)
        scaled, reason = _scaled(preconditioner, point, here), ""
        product = float(np.sum(scaled * here.gradient))
        norms.append(math.sqrt(max(product, 0.0)))
        zero = ZERO_GRADIENT * float(np.linalg.norm(point.euclidean_gradient))
        if (yield from decide(float(np.linalg.norm(here.gradient)) <= zero)):
            reason = "the gradient is zero up to rounding"
        elif (yield from decide(norms[-1] <= stopping.tol * norms[0])):
            reason = f"the gradient norm fell to {stopping.tol:g} of its initial value"
        if reason and here.basis is point.basis:
            return DescentResult(point, iteration, reason, converged=True)
        if reason:  # so it seems
            there = yield from evaluate(problem, here.basis, point.iterate, monitor)
            if (yield from decide(there.cost <= point.cost + ROUNDING * abs(point.cost))):
                point = there
            here, last = Base.at(point), None
            continue
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
        if last is not None:
            beta = yield from agree(_beta(here, scaled, product, last))
            mixed = direction + beta * _GRASSMANN.project(here.basis, last.direction)
            if (yield from decide(float(np.sum(mixed * here.gradient)) < 0.0)):
                direction = mixed
        found = yield from line_search(problem, point, here, direction, step, monitor)
        if found is None:
            if here.basis is not point.basis:
                here, step, last = Base.at(point), 1.0, None
                continue
            reason = yield from no_step_reason(0.5 * product, point.cost)
            return DescentResult(point, iteration, reason, converged=True)
        last = _Last(direction, here.gradient, product)
        decrease = (point.cost - found.point.cost) / abs(point.cost) if point.cost else 0.0
        slow = slow + 1 if (yield from decide(decrease < stopping.slow)) else 0
        point, here, step = found.point, found.minimum, found.step
        if monitor and (reason := (yield from monitor.check(point))):
            return DescentResult(point, iteration + 1, reason, converged=False)
    reason = f"reached the limit of {stopping.max_iter} iterations"
    return DescentResult(point, stopping.max_iter, reason, converged=False)


def _scaled(preconditioner: Preconditioner, point: Point, here: Base) -> Array:
    return _GRASSMANN.project(here.basis, preconditioner.apply_inverse(point, here.gradient))


def _beta(here: Base, scaled: Array, product: float, last: _Last) -> float:
    transported = _GRASSMANN.project(here.basis, last.gradient)
    return max(0.0, (product - float(np.sum(scaled * transported))) / last.product)
