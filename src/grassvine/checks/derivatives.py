"""Taylor checks: a derivative is correct if and only if the Taylor error decreases like t².

With a wrong gradient the error is proportional to t: its slope in a log–log plot is 1, not 2.
"""

from collections.abc import Callable, Mapping

import numpy as np

from grassvine.checks.assertions import require_double
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import CheckFailed
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry, Grassmann
from grassvine.problems.base import LocalProblem, TwiceDifferentiable

TOLERANCE = 0.1


def check_gradient(
    problem: LocalProblem, rank: int, *, geometry: Geometry | None = None, seed: int = 0
) -> float:
    """Check the gradient along a random geodesic and return the Taylor slope.

    The error ``|f(Exp_U(tξ)) − f(U) − t⟨grad f(U), ξ⟩|`` must decrease like t², with slope 2 ± 0.1;
    otherwise :class:`CheckFailed` is raised.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> problem = gv.PCAProblem(np.random.default_rng(0).normal(size=(20, 6)))
    >>> round(gv.checks.check_gradient(problem, rank=2))
    2
    """
    geometry = geometry or Grassmann()
    point, tangent = _random_tangent(geometry, problem.n_items, rank, seed)
    with one_blas_thread():
        here = problem.evaluate(point)
        derivative = float(np.sum(geometry.project(point, here.gradient) * tangent))

        def error(step: float) -> tuple[float, float]:
            cost = problem.evaluate(geometry.exp(point, step * tangent)).cost
            return abs(cost - here.cost - step * derivative), abs(cost) + abs(here.cost)

        return _require_slope(
            error,
            "the gradient must be the derivative of the cost",
            {"cost": here.cost, "gradient": here.gradient},
        )


def check_hessian(
    problem: LocalProblem, rank: int, *, geometry: Geometry | None = None, seed: int = 0
) -> float:
    """Check the Hessian products along a random geodesic and return the Taylor slope.

    The error ‖grad f(Exp_U(tξ)), transported to U, − grad f(U) − t Hess f(U)[ξ]‖ must decrease
    like t², with slope 2 ± 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> problem = gv.PCAProblem(np.random.default_rng(0).normal(size=(20, 6)))
    >>> round(gv.checks.check_hessian(problem, rank=2))
    2
    """
    if not isinstance(problem, TwiceDifferentiable):
        raise CheckFailed(f"{type(problem).__name__} has no hessian_product to check; add one.")
    geometry = geometry or Grassmann()
    point, tangent = _random_tangent(geometry, problem.n_items, rank, seed)
    with one_blas_thread():
        here = problem.evaluate(point).gradient
        product = problem.hessian_product(point, tangent)
        gradient = geometry.project(point, here)
        change = geometry.hessian(point, here, tangent, product)

        def error(step: float) -> tuple[float, float]:
            there = geometry.exp(point, step * tangent)
            moved = geometry.project(there, problem.evaluate(there).gradient)
            transported = geometry.transport(point, moved)
            size = float(np.linalg.norm(transported) + np.linalg.norm(here))
            return float(np.linalg.norm(transported - gradient - step * change)), size

        return _require_slope(
            error,
            "the Hessian product must be the derivative of the gradient",
            {"gradient": here, "Hessian product": product},
        )


def _require_slope(
    error: Callable[[float], tuple[float, float]],
    requirement: str,
    results: Mapping[str, Array | float],
) -> float:
    slope = taylor_slope(error)
    if abs(slope - 2.0) > TOLERANCE:
        for name, result in results.items():
            require_double(result, name)
        details = f"the Taylor slope is {slope:.3f}, not 2 ± {TOLERANCE}"
        raise CheckFailed(f"{requirement}: {details}.")
    return slope


def taylor_slope(error: Callable[[float], tuple[float, float]]) -> float:
    """Return the slope of log error against log step over the smallest usable steps.

    ``error(step)`` returns the error and the magnitude of the numbers it was computed from. The
    slope is fitted over the first decade of steps whose errors exceed rounding, 10⁴ε times that
    magnitude: larger steps could hide a wrong derivative. If no error does so up to a step of
    1/10, the model is exact to rounding, and 2 is returned.
    """
    steps = np.logspace(-9, 0, 91)
    for first, step in enumerate(steps[:-10]):
        value, size = error(step)
        if value > 1e4 * np.finfo(float).eps * size:
            decade = steps[first : first + 11]
            values = [error(step)[0] for step in decade]
            return float(np.polyfit(np.log(decade), np.log(values), 1)[0])
    return 2.0


def _random_tangent(geometry: Geometry, n_items: int, rank: int, seed: int) -> tuple[Array, Array]:
    rng = stream(seed, "check", "derivatives")
    point = geometry.random_point(n_items, rank, rng)
    tangent = geometry.project(point, rng.standard_normal((n_items, rank)))
    return point, tangent / np.linalg.norm(tangent)
