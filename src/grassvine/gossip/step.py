r"""The gossip step, which combines a geometry, a problem and the neighbours' bases.

An agent of degree deg that meets the neighbours V_1 … V_n moves by

.. math::

    ξ &= α·\mathrm{grad} f(U) − ρ_k Σ_j \mathrm{Log}_U(V_j), \qquad α = n/\deg \\
    U_+ &= \mathrm{Exp}_U(−γ_k \mathrm{Proj}_U(M^{-1} ξ))

where M is the preconditioner (``preconditioner.py``) and k is the slot or, with ``clock="own"``,
the number of the agent's updates so far. With α = n/deg the costs of all links add up to the full
objective on any graph; on a path α is the paper's {1, ½, …, ½, 1}.
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
    """The result of a gossip step, with the distances to the neighbours before it.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.gossip import gossip_step
    >>> geometry, problem = gv.geometry.Grassmann(), gv.PCAProblem([[2.0, 0.1], [-2.0, -0.1]])
    >>> point = np.array([[0.6], [0.8]])
    >>> evaluation = problem.evaluate(point)
    >>> move = gossip_step(geometry, gv.Gossip(), point, evaluation, [], degree=1, slot=0)
    >>> move.point.shape, move.distances
    ((2, 1), ())
    """

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
    """Take one step on the problem and towards the neighbours, if any.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.gossip import gossip_step
    >>> geometry, problem = gv.geometry.Grassmann(), gv.PCAProblem([[2.0, 0.1], [-2.0, -0.1]])
    >>> point, neighbour = np.array([[0.6], [0.8]]), np.array([[1.0], [0.0]])
    >>> evaluation = problem.evaluate(point)
    >>> move = gossip_step(
    ...     geometry, gv.Gossip(rho=1.0), point, evaluation, [neighbour], degree=1, slot=0
    ... )
    >>> geometry.distance(move.point, neighbour) < geometry.distance(point, neighbour)
    True
    """
    share = len(neighbours) / degree if neighbours else 1.0
    rho = method.rho_at(slot)
    pulls = [geometry.log(point, other) for other in neighbours]
    gradient = geometry.project(point, evaluation.gradient)
    total_gradient = share * gradient
    for pull in pulls:
        total_gradient -= rho * pull
    # Both agents of a meeting move, so the second derivative of ½ρd² along the pair is 2ρ.
    stiffness = 2.0 * rho * len(neighbours)
    metric = preconditioner(method, evaluation, share, stiffness)
    direction = -geometry.project(point, metric.apply_inverse(total_gradient))
    step = method.step.at(
        slot,
        lambda: curvature(evaluation, share, stiffness).minimising_step(total_gradient, direction),
    )
    if stiffness:
        # Moving more than halfway would make the pair overshoot and swap positions forever.
        step = min(step, metric.least / stiffness)
    return Move(
        point=geometry.exp(point, step * direction),
        step=step,
        gradient_norm=float(np.linalg.norm(gradient)),
        distances=tuple(float(np.linalg.norm(pull)) for pull in pulls),
    )
