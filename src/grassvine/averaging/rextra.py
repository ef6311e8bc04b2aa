r"""REXTRA: exact, one basis a message (arXiv 2505.15537).

.. math::

    x_+ = P(Wx + s), \qquad s_+ = s + (W−V)x − (α_+\mathrm{grad} f(x_+) − α\,\mathrm{grad} f(x))

with Metropolis weights W, V = (I+W)/2, s₀ = −α grad f(x₀) and P(Z) = Z(ZᵀZ)^{−½}, the polar factor.
Σs = −Σα grad f is kept at every slot, so agents that agree and stand still stand where the gradient
of all vanishes: there is no penalty, and no bias. Bases are averaged as matrices, so all agents
start from the same one.

α is a share of 1/L, L being the largest curvature that an agent has met or heard of: one number
more in a message. After as many slots as the network is wide all have the same L.

Steps are plain gradients: their number grows with the condition of the task. That suits
well-conditioned ones; :class:`grassvine.averaging.tracking.Tracked` is for the others.
"""

import math
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.random import Generator as RandomGenerator

from grassvine.averaging.agent import NeighbourAgent
from grassvine.averaging.program import (
    FRAME,
    Exchange,
    Iterate,
    Program,
    polar,
    require_subspaces,
)
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.mixing import Mixing, plain_mixing
from grassvine.networks.schedule import AllEdges
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Evaluation, LocalProblem, Problem, as_local_problem
from grassvine.protocol.method import Setup


@dataclass(frozen=True, slots=True)
class REXTRA:
    """The options of REXTRA.

    Parameters
    ----------
    max_iter : int
        How long to run; every agent moves at every slot.
    step : float
        αL, the step as a share of the inverse of the largest curvature.
    """

    max_iter: int = 1000
    step: float = 0.5

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=0)
        if real_number("step", self.step, least=0.0) == 0.0:
            raise PlanError("step is 0 and nothing would move; choose a positive number.")

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Every agent hears all its neighbours at every slot."""
        return AllEdges().draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> NeighbourAgent:
        """Make the agent that holds a problem."""
        require_subspaces(plan, "REXTRA")
        own, start = as_local_problem(problem), plan.start(0)
        program = _rextra(number, own, start, plain_mixing(plan.network), self.step)
        return NeighbourAgent(number, own, program)


def _rextra(
    number: int, problem: LocalProblem, basis: Array, mixing: Mixing, share: float
) -> Program:
    evaluation = problem.evaluate(basis)
    gradient = Grassmann().project(basis, evaluation.gradient)
    largest = _curvature(evaluation, number)
    pull = (share / largest) * gradient  # α grad f(x)
    shift = -pull
    for updates in count():
        norm = float(np.linalg.norm(gradient))
        iterate = Iterate(basis, evaluation, norm, share / largest, updates)
        arrived = yield Exchange({FRAME: basis, "curvature": np.array([largest])}, iterate)
        average = mixing.average(number, basis, {s: arrays[FRAME] for s, arrays in arrived.items()})
        before, basis = basis, polar(average + shift)
        evaluation = problem.evaluate(basis)
        gradient = Grassmann().project(basis, evaluation.gradient)
        heard = [float(arrays["curvature"][0]) for arrays in arrived.values()]
        largest = max(largest, _curvature(evaluation, number), *heard)
        old_pull, pull = pull, (share / largest) * gradient
        shift = shift + 0.5 * (average - before) - (pull - old_pull)
    raise AssertionError("count() has no end")


def _curvature(evaluation: Evaluation, number: int) -> float:
    """Return the largest eigenvalue of ξ ↦ diag(s)·ξ·K."""
    if not evaluation.curvature.size:
        raise PlanError(
            f"the problem of agent {number} does not say how curved it is, and a step needs that; "
            "give its evaluation a curvature, or use Tracked."
        )
    largest = float(np.linalg.eigvalsh(evaluation.curvature)[-1] * evaluation.item_scales.max())
    return largest or math.ulp(1.0)  # an agent without data moves as the others tell
