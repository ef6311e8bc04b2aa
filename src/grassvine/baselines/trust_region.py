r"""Riemannian trust-region method with truncated conjugate gradients, as used by RTRMC.

At U the model m(ξ) = f + ⟨g, ξ⟩ + ½⟨ξ, Hess f[ξ]⟩ is minimised over tangent vectors of norm at most
Δ by preconditioned conjugate gradients, which stop at negative curvature, at the boundary, or when
‖residual‖ ≤ ‖r₀‖·min(‖r₀‖^θ, κ) with θ = 1 and κ = 0.03, for quadratic convergence. Δ shrinks when
the model is inaccurate and grows when it is accurate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Geometry

Operator = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class LocalModel:
    """Second-order model of a function at a point: value, gradient, Hessian and preconditioner.

    ``gradient``, ``hessian(ξ)`` and ``precondition(ξ)`` are tangent vectors at the point.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.baselines import LocalModel, trust_region
    >>> from grassvine.geometry import Euclidean
    >>> def at(x):  # ½‖x − 1‖²
    ...     cost = 0.5 * float(np.sum((x - 1.0) ** 2))
    ...     return LocalModel(cost, x - 1.0, hessian=lambda v: v, precondition=lambda v: v)
    >>> limits = {"tol": 1e-8, "max_outer": 20, "max_inner": 20}
    >>> trust_region(at, Euclidean(), np.zeros((3, 1)), **limits).basis.ravel().tolist()
    [1.0, 1.0, 1.0]
    """

    cost: float
    gradient: Array
    hessian: Operator
    precondition: Operator


@dataclass(frozen=True, slots=True)
class Iteration:
    """One outer iteration: cost and gradient norm at its start, and what it did.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.baselines import rtrmc, spectral_start
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=5.0).ratings
    >>> first = rtrmc(gv.CompletionProblem(ratings), spectral_start(ratings, 2)).iterations[0]
    >>> first.accepted, first.cost > 0.0
    (True, True)
    """

    cost: float
    gradient_norm: float
    radius: float
    inner: int
    accepted: bool


@dataclass(frozen=True, slots=True, eq=False)
class BatchResult:
    """Result of a batch method.

    Attributes
    ----------
    basis : array of shape (n_items, rank)
        Final basis.
    cost : float
        Final cost.
    iterations : tuple of Iteration
        The outer iterations.
    stop_reason : str
        Why the iteration stopped.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.baselines import rtrmc, spectral_start
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=5.0).ratings
    >>> result = rtrmc(gv.CompletionProblem(ratings), spectral_start(ratings, 2))
    >>> result.basis.shape, result.stop_reason
    ((30, 2), 'the gradient norm fell to 1e-08 of its initial value')
    """

    basis: Array
    cost: float
    iterations: tuple[Iteration, ...]
    stop_reason: str


def trust_region(
    model_at: Callable[[Array], LocalModel],
    geometry: Geometry,
    start: Array,
    *,
    tol: float,
    max_outer: int,
    max_inner: int,
) -> BatchResult:
    """Minimise from a starting point until ‖grad‖ ≤ tol·‖grad at the start‖.

    Also stop when the effect of a step can no longer be distinguished from rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.baselines import LocalModel, trust_region
    >>> from grassvine.geometry import Euclidean
    >>> curvatures = np.array([[1.0], [10.0]])
    >>> def at(x):
    ...     gradient = curvatures * (x - 3.0)
    ...     cost = 0.5 * float(np.sum(gradient * (x - 3.0)))
    ...     return LocalModel(cost, gradient, lambda v: curvatures * v, lambda v: v / curvatures)
    >>> limits = {"tol": 1e-8, "max_outer": 20, "max_inner": 20}
    >>> np.allclose(trust_region(at, Euclidean(), np.zeros((2, 1)), **limits).basis, 3.0)
    True
    """
    point, model = start, model_at(start)
    largest = float(np.sqrt(point.shape[1])) * np.pi / 2  # the diameter of the manifold
    radius = largest / 8
    first_norm = float(np.linalg.norm(model.gradient))
    iterations: list[Iteration] = []
    reason = f"reached the limit of {max_outer} iterations"
    for _ in range(max_outer):
        norm = float(np.linalg.norm(model.gradient))
        if norm <= tol * first_norm:
            reason = f"the gradient norm fell to {tol:g} of its initial value"
            break
        step, image, inner, at_boundary = _truncated_cg(model, radius, max_inner)
        predicted = -float(np.sum(model.gradient * step) + 0.5 * np.sum(step * image))
        there = geometry.exp(point, step)
        candidate = model_at(there)
        actual = model.cost - candidate.cost
        # Near the minimum both are rounding errors; adding some to each keeps their ratio near 1.
        rounding = 1e3 * float(np.finfo(float).eps) * max(1.0, abs(model.cost))
        ratio = (actual + rounding) / (predicted + rounding)
        accepted = ratio > 0.1
        iterations.append(Iteration(model.cost, norm, radius, inner, accepted))
        if ratio < 0.25:
            radius /= 4
        elif ratio > 0.75 and at_boundary:
            radius = min(2 * radius, largest)
        if accepted:
            point, model = there, candidate
        # If the predicted decrease is rounding, the gradient must fall, or it is rounding too.
        progress = predicted > rounding or np.linalg.norm(model.gradient) <= 0.5 * norm
        if radius < 1e-14 * largest or not progress:
            reason = "no step reduces the cost any further"
            break
    return BatchResult(point, model.cost, tuple(iterations), reason)


def _truncated_cg(
    model: LocalModel, radius: float, max_inner: int
) -> tuple[Array, Array, int, bool]:
    """Return a step, its image under the Hessian, its iterations, and if it hit the boundary."""
    step = np.zeros_like(model.gradient)
    image = np.zeros_like(step)
    residual = model.gradient
    scaled = model.precondition(residual)
    direction = -scaled
    product = float(np.sum(residual * scaled))
    first = float(np.linalg.norm(residual))
    goal = first * min(first, 0.03)
    for inner in range(1, max_inner + 1):
        curved = model.hessian(direction)
        curvature = float(np.sum(direction * curved))
        length = product / curvature if curvature > 0.0 else np.inf
        limit = _length_to_boundary(step, direction, radius)
        if length >= limit:
            return step + limit * direction, image + limit * curved, inner, True
        step = step + length * direction
        image = image + length * curved
        residual = residual + length * curved
        if float(np.linalg.norm(residual)) <= goal:
            return step, image, inner, False
        scaled = model.precondition(residual)
        product, before = float(np.sum(residual * scaled)), product
        if product == 0.0:  # the start is the minimum up to rounding
            return step, image, inner, False
        direction = -scaled + (product / before) * direction
    return step, image, max_inner, False


def _length_to_boundary(step: Array, direction: Array, radius: float) -> float:
    """Return the t ≥ 0 at which ‖step + t·direction‖ equals the radius."""
    a = float(np.sum(direction * direction))
    b = float(np.sum(step * direction))
    c = float(np.sum(step * step)) - radius**2
    return (-b + float(np.sqrt(max(b * b - a * c, 0.0)))) / a
