r"""The gossip step: the one place where a space, a task and neighbours meet.

An agent of degree deg that meets the neighbours V_1 … V_n moves by

.. math::

    ξ &= α·\mathrm{grad} f(U) − ρ Σ_j \mathrm{Log}_U(V_j), \qquad α = n/\deg \\
    U_+ &= \mathrm{Exp}_U(−γ_k ξ M^{-1})

With α = n/deg the costs of all links add up to the whole objective on any graph; on a path it is
the paper's {1, ½, …, ½, 1}.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.geometry import Geometry
from grassvine.gossip.method import Gossip
from grassvine.problems.base import Evaluation


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where a step led, and what it learned on the way."""

    point: Array
    step: float
    gradient_norm: float
    distances: tuple[float, ...]


def gossip_step(
    geometry: Geometry,
    method: Gossip,
    point: Array,
    evaluation: Evaluation,
    neighbours: Sequence[Array],
    *,
    degree: int,
    slot: int,
) -> Move:
    """Move a point by its task and its neighbours; without neighbours, by its task alone."""
    share = len(neighbours) / degree if neighbours else 1.0
    pulls = [geometry.log(point, other) for other in neighbours]
    gradient = geometry.project(point, evaluation.gradient)
    direction = share * gradient
    for pull in pulls:
        direction -= method.rho * pull
    # Both sides of a meeting move: the second derivative of ½ρd² along the pair is 2ρ.
    stiffness = 2.0 * method.rho * len(neighbours)
    metric = _metric(method, evaluation, share, stiffness, len(neighbours))
    values, vectors = np.linalg.eigh(metric)
    values = np.maximum(values, 1e-14 * values[-1])
    towards = -(direction @ ((vectors / values) @ vectors.T))
    step = method.step.at(
        slot, _linearised(method, evaluation, share, stiffness, direction, towards)
    )
    if stiffness:
        # A pull of more than half the way makes a pair cross over, and swap places for ever.
        step = min(step, float(values[0]) / stiffness)
    return Move(
        point=geometry.exp(point, step * towards),
        step=step,
        gradient_norm=float(np.linalg.norm(gradient)),
        distances=tuple(float(np.linalg.norm(pull)) for pull in pulls),
    )


def _metric(
    method: Gossip, evaluation: Evaluation, share: float, stiffness: float, meetings: int
) -> Array:
    identity = np.eye(evaluation.gradient.shape[1])
    if method.preconditioner == "none":
        return identity
    if method.preconditioner == "gram":
        return _known(evaluation.gram, "gram") + method.rho * max(meetings, 1) * identity
    return share * _known(evaluation.curvature, "curvature") + stiffness * identity


def _linearised(
    method: Gossip,
    evaluation: Evaluation,
    share: float,
    stiffness: float,
    direction: Array,
    towards: Array,
) -> float:
    """Return the minimiser along ``towards`` of the cost linearised at this meeting."""
    if method.step.a is not None:
        return 1.0
    curvature = share * _known(evaluation.curvature, "curvature")
    bend = float(np.sum(towards * (towards @ curvature))) + stiffness * float(np.sum(towards**2))
    return -float(np.sum(direction * towards)) / bend if bend > 0.0 else 0.0


def _known(matrix: Array, what: str) -> Array:
    if matrix.size == 0:
        raise PlanError(
            f"the problem states no {what}; let its function return one, or choose "
            "preconditioner='none' with a step size StepSize(a, b)."
        )
    return matrix
