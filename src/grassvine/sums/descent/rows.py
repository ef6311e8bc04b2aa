r"""Preconditioned nonlinear conjugate gradients over sums, for models of rows of numbers per item.

Hestenes and Stiefel's β, at least 0, with backtracking. One sum yields cost and gradient, so the
first trial step is the secant step: the curvature is read off the gradients at both ends of the
last step.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.options import real_number, whole_number
from grassvine.sums.descent.reasons import no_step_reason
from grassvine.sums.program import Iterate, Subprogram, agree, decide

# The cost has converged when this many iterations together reduce it by less than the tolerance.
N_ITER_NO_CHANGE = 5
CONVERGED = "the cost converged"
ARMIJO = 1e-4
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop a fit.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations; each is one pass of every agent over its data.
    tol : float
        Stop when five iterations reduce the cost by less than this fraction.
    """

    max_iter: int
    tol: float

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=1)
        real_number("tol", self.tol, least=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Rows of numbers per item, with the cost, its gradient and the preconditioned gradient."""

    rows: Array
    cost: float
    gradient: Array
    preconditioned: Array = field(repr=False)

    @property
    def gradient_norm(self) -> float:
        """The norm of the gradient."""
        return float(np.linalg.norm(self.gradient))


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A search direction at a point, and the derivative of the cost along it."""

    direction: Array
    derivative: float


@dataclass(frozen=True, slots=True)
class Secant:
    """The multiple of the last direction in the next one, and by how much steps get longer."""

    beta: float
    lengthening: float


# Evaluates the cost at rows; observers see the iterate given until the sum is there. Returns the
# point and its iterate.
Evaluate: TypeAlias = Callable[[Array, Iterate], Subprogram[tuple[Point, Iterate]]]


def minimise(
    evaluate: Evaluate, rows: Array, initial: Iterate, stopping: Stopping
) -> Subprogram[tuple[Iterate, str]]:
    """Minimise a cost from rows of numbers; return the last iterate and the reason for stopping."""
    here, seen = yield from evaluate(rows, initial)
    line, step, costs = _steepest(here), 1.0, [here.cost]
    for _ in range(stopping.max_iter - 1):
        rounding = float(np.finfo(float).eps) * abs(here.cost)
        if not (yield from decide(-line.derivative * step > rounding)):
            left = 0.5 * abs(float(np.vdot(here.gradient, here.preconditioned)))
            return seen, (yield from no_step_reason(left, here.cost))
        there, seen_there = yield from evaluate(_moved(here, line, step), seen)
        excess = there.cost - here.cost - step * line.derivative
        if (yield from decide(there.cost > here.cost + ARMIJO * step * line.derivative)):
            # The minimum of the parabola, safeguarded.
            shorter = -0.5 * step * line.derivative / max(excess, TINY)
            step = yield from agree(step * min(max(shorter, 0.1), 0.5))
            continue
        costs.append(there.cost)
        before = costs[-1 - N_ITER_NO_CHANGE] if len(costs) > N_ITER_NO_CHANGE else math.inf
        if (yield from decide(before - there.cost <= stopping.tol * there.cost)):
            return seen_there, CONVERGED
        secant = _secant(here, there, line)
        beta = yield from agree(secant.beta)
        step = yield from agree(step * secant.lengthening)
        conjugate = _conjugate(there, line, beta)
        downhill = yield from decide(conjugate.derivative < 0.0)
        here, seen, line = there, seen_there, conjugate if downhill else _steepest(there)
    return seen, f"reached the limit of {stopping.max_iter} iterations"


def _moved(here: Point, line: Line, step: float) -> Array:
    """Return the rows one step along a line."""
    return here.rows + step * line.direction


def _steepest(here: Point) -> Line:
    direction = -here.preconditioned
    return Line(direction, float(np.vdot(here.gradient, direction)))


def _conjugate(there: Point, line: Line, beta: float) -> Line:
    direction = beta * line.direction - there.preconditioned
    return Line(direction, float(np.vdot(there.gradient, direction)))


def _secant(here: Point, there: Point, line: Line) -> Secant:
    """Return the next conjugate direction and first step, from the gradients at both points."""
    curvature = float(np.vdot(there.gradient, line.direction)) - line.derivative
    if curvature <= 0.0:
        return Secant(0.0, 3.0)
    change = float(np.vdot(there.gradient - here.gradient, there.preconditioned))
    return Secant(
        beta=max(change / curvature, 0.0),
        lengthening=min(max(-line.derivative / curvature, 1 / 3), 3.0),
    )
