r"""Riemannian trust region with truncated conjugate gradients: the method inside RTRMC.

At U the model m(ξ) = f + ⟨g, ξ⟩ + ½⟨ξ, Hess f[ξ]⟩ is minimised over tangents of length at most Δ by
preconditioned conjugate gradients that stop at negative curvature, at the boundary, or when
‖residual‖ ≤ ‖r₀‖·min(‖r₀‖^θ, κ) with θ = 1 and κ = 0.03, which converges quadratically. Δ shrinks
where the model errs and grows where it does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Geometry

Operator = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class LocalModel:
    """All that is known of a function at a point: value, gradient, Hessian and preconditioner.

    ``gradient``, ``hessian(ξ)`` and ``precondition(ξ)`` are tangents at the point.
    """

    cost: float
    gradient: Array
    hessian: Operator
    precondition: Operator


@dataclass(frozen=True, slots=True)
class Iteration:
    """One outer iteration: where it stood, and what it did."""

    cost: float
    gradient_norm: float
    radius: float
    inner: int
    accepted: bool


@dataclass(frozen=True, slots=True, eq=False)
class BatchResult:
    """Where a batch method ended."""

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
    """Minimise from a starting point until ‖grad‖ ≤ tolerance·‖grad at the start‖.

    It also ends where a step can no longer be told from rounding.
    """
    point, model = start, model_at(start)
    largest = float(np.sqrt(point.shape[1])) * np.pi / 2  # the diameter of the manifold
    radius = largest / 8
    first_norm = float(np.linalg.norm(model.gradient))
    iterations: list[Iteration] = []
    reason = f"{max_outer} iterations were done"
    for _ in range(max_outer):
        norm = float(np.linalg.norm(model.gradient))
        if norm <= tol * first_norm:
            reason = f"the gradient fell to {tol:g} of its first length"
            break
        step, image, inner, at_boundary = _truncated_cg(model, radius, max_inner)
        promised = -float(np.sum(model.gradient * step) + 0.5 * np.sum(step * image))
        there = geometry.exp(point, step)
        candidate = model_at(there)
        gained = model.cost - candidate.cost
        # Near the end both are rounding; a little of it on each side keeps their ratio near one.
        rounding = 1e3 * float(np.finfo(float).eps) * max(1.0, abs(model.cost))
        ratio = (gained + rounding) / (promised + rounding)
        accepted = ratio > 0.1
        iterations.append(Iteration(model.cost, norm, radius, inner, accepted))
        if ratio < 0.25:
            radius /= 4
        elif ratio > 0.75 and at_boundary:
            radius = min(2 * radius, largest)
        if accepted:
            point, model = there, candidate
        # Where costs cannot tell a step from rounding the gradient must fall, or is rounding too.
        told = promised > rounding or np.linalg.norm(model.gradient) <= 0.5 * norm
        if radius < 1e-14 * largest or not told:
            reason = "no step improves the cost any more"
            break
    return BatchResult(point, model.cost, tuple(iterations), reason)


def _truncated_cg(
    model: LocalModel, radius: float, max_inner: int
) -> tuple[Array, Array, int, bool]:
    """Return a step, its image under the Hessian, the inner iterations, and if it hit the edge."""
    step = np.zeros_like(model.gradient)
    image = np.zeros_like(step)
    residual = model.gradient
    scaled = model.precondition(residual)
    towards = -scaled
    product = float(np.sum(residual * scaled))
    first = float(np.linalg.norm(residual))
    goal = first * min(first, 0.03)
    for inner in range(1, max_inner + 1):
        bent = model.hessian(towards)
        bend = float(np.sum(towards * bent))
        length = product / bend if bend > 0.0 else np.inf
        edge = _to_edge(step, towards, radius)
        if length >= edge:
            return step + edge * towards, image + edge * bent, inner, True
        step = step + length * towards
        image = image + length * bent
        residual = residual + length * bent
        if float(np.linalg.norm(residual)) <= goal:
            return step, image, inner, False
        scaled = model.precondition(residual)
        product, before = float(np.sum(residual * scaled)), product
        if product == 0.0:  # from a start that is the minimum up to rounding
            return step, image, inner, False
        towards = -scaled + (product / before) * towards
    return step, image, max_inner, False


def _to_edge(step: Array, towards: Array, radius: float) -> float:
    """Return the t ≥ 0 at which ‖step + t·towards‖ is the radius."""
    a = float(np.sum(towards * towards))
    b = float(np.sum(step * towards))
    c = float(np.sum(step * step)) - radius**2
    return (-b + float(np.sqrt(max(b * b - a * c, 0.0)))) / a
