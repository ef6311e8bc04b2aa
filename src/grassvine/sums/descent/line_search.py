r"""The minimum of a cost along a geodesic, from one evaluation if the cost is nearly a parabola.

With the slopes φ'(0) and φ'(t) at both ends of a trial step, the parabola through them has its
minimum at

.. math:: t^* = −t φ'(0) / (φ'(t) − φ'(0)), \qquad g(t^*) ≈ (1 − t^*/t) g(0) + (t^*/t) g(t)

which for a quadratic cost is exact. So the descent goes on from t* without an evaluation there, if
the costs at both ends agree with the parabola and t* is not far from t. Otherwise the cost at t* is
evaluated, and the better of both points is taken. The first trial step is the last t*. Steps are
limited to 0.8/‖d‖₂, and shortened while the cost is higher than at the last point evaluated.
"""

from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.problems.base import LocalProblem
from grassvine.sums.descent.points import Monitor, Point, evaluate
from grassvine.sums.own import Own
from grassvine.sums.program import Subprogram, agree, decide

LONGEST = 0.8  # radians: the largest principal angle of a step
MAX_SHORTER = 30
# Relative accuracy of costs, which are sums of many squares.
ROUNDING = 1e-10
# Between which multiples of the trial step the gradient is interpolated, and by how much the change
# of the cost may differ from that of the parabola. At the trial step itself no evaluation is saved.
INTERPOLATED, PARABOLIC, HERE = (0.2, 1.8), 0.1, 0.1
LARGEST_RATIO = 3.0  # of the next trial step to a step along which the cost is not convex

_GRASSMANN = Grassmann()


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """Where a line begins: a basis, with cost and gradient that are evaluated or interpolated."""

    basis: Array
    cost: float
    gradient: Array

    @classmethod
    def at(cls, point: Point) -> "Base":
        """Return a point that was evaluated."""
        return cls(point.basis, point.cost, point.gradient)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best point that was evaluated, the minimum of the line, and the step to it."""

    point: Point
    minimum: Base
    step: float


def line_search(
    problem: Own[LocalProblem],
    last: Point,
    here: Base,
    direction: Array,
    step: float,
    monitor: Monitor | None = None,
) -> Subprogram[Found | None]:
    """Return the minimum along a direction, or None if no step reduces the cost.

    Parameters
    ----------
    last : Point
        The last point that was evaluated.
    here : Base
        Where the line begins.
    direction : array
        A tangent along which the cost falls.
    step : float
        The first trial step.
    """
    slope, length = float(np.sum(here.gradient * direction)), float(np.linalg.norm(direction, 2))
    longest = LONGEST / length if length else step
    step = yield from agree(min(step, longest))
    rounding = ROUNDING * abs(last.cost)
    for _ in range(MAX_SHORTER):
        moved = _GRASSMANN.exp(here.basis, step * direction)
        there = yield from evaluate(problem, moved, last.iterate, monitor)
        # If the predicted decrease is rounding, comparing costs is meaningless.
        slack = rounding if -step * slope <= rounding else 0.0
        slope_there = float(np.sum(there.gradient * _velocity(here.basis, direction, step)))
        curvature = (slope_there - slope) / step
        if (yield from decide(there.cost <= last.cost + slack)):
            break
        if (yield from decide(slack > 0.0)):
            return None
        shorter = -slope / (step * curvature) if curvature > 0.0 else 0.5
        step = yield from agree(step * min(max(shorter, 0.1), 0.5))
    else:
        return None
    best = (
        min(-slope / curvature, longest) if curvature > 0.0 else min(LARGEST_RATIO * step, longest)
    )
    ratio = yield from agree(best / step)
    parabola = here.cost + 0.5 * step * (slope + slope_there)
    difference = abs(there.cost - parabola)
    parabolic = curvature > 0.0 and difference <= PARABOLIC * 0.5 * step * -slope + rounding
    if (yield from decide(parabolic and INTERPOLATED[0] <= ratio <= INTERPOLATED[1])):
        basis = _GRASSMANN.exp(here.basis, ratio * step * direction)
        gradient = (1.0 - ratio) * here.gradient + ratio * there.gradient
        minimum = Base(
            basis, here.cost + 0.5 * ratio * step * slope, _GRASSMANN.project(basis, gradient)
        )
        return Found(there, minimum, ratio * step)
    if (yield from decide(abs(ratio - 1.0) <= HERE)):
        return Found(there, Base.at(there), step)
    moved = _GRASSMANN.exp(here.basis, ratio * step * direction)
    other = yield from evaluate(problem, moved, last.iterate, monitor)
    if (yield from decide(other.cost <= there.cost + slack)):
        return Found(other, Base.at(other), ratio * step)
    return Found(there, Base.at(there), step)


def _velocity(point: Array, tangent: Array, step: float) -> Array:
    """Return the derivative of Exp_U(tξ) at a step t: −U·S sin(tS) + ξ cos(tS), S = (ξᵀξ)^½."""
    squares, directions = np.linalg.eigh(tangent.T @ tangent)
    angles = np.sqrt(np.maximum(squares, 0.0))
    sines = (directions * (angles * np.sin(step * angles))) @ directions.T
    cosines = (directions * np.cos(step * angles)) @ directions.T
    return tangent @ cosines - point @ sines
