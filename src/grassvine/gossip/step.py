r"""The gossip step: the one place where a space, a task and neighbours meet.

An agent of degree deg that meets the neighbours V_1 … V_n moves by

.. math::

    ξ &= α·\mathrm{grad} f(U) − ρ Σ_j \mathrm{Log}_U(V_j), \qquad α = n/\deg \\
    U_+ &= \mathrm{Exp}_U(−γ_k \mathrm{Proj}_U(M^{-1} ξ))

where M is the preconditioner (``metric.py``) and k the slot or, on a clock of its own, the number
of the agent's updates so far. With α = n/deg the costs of all links add up to the
whole objective on any graph; on a path it is the paper's {1, ½, …, ½, 1}.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Geometry
from grassvine.gossip.preconditioner import curvature, preconditioner
from grassvine.problems.base import Evaluation

if TYPE_CHECKING:
    from grassvine.gossip.method import Gossip


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where a step led, and what it learned on the way."""

    point: Array
    step: float
    gradient_norm: float
    distances: tuple[float, ...]


def gossip_step(
    geometry: Geometry,
    method: "Gossip",
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
    metric = preconditioner(method, evaluation, share, stiffness)
    towards = -geometry.project(point, metric.apply_inverse(direction))
    step = method.step.at(
        slot, lambda: curvature(evaluation, share, stiffness).minimising_step(direction, towards)
    )
    if stiffness:
        # A pull of more than half the way makes a pair cross over, and swap places for ever.
        step = min(step, metric.least / stiffness)
    return Move(
        point=geometry.exp(point, step * towards),
        step=step,
        gradient_norm=float(np.linalg.norm(gradient)),
        distances=tuple(float(np.linalg.norm(pull)) for pull in pulls),
    )
