r"""REXTRA: exact gradient descent with one basis per message (arXiv 2505.15537).

.. math::

    x_+ = P(Wx + s), \qquad s_+ = s + (W−V)x − (α_+\mathrm{grad} f(x_+) − α\,\mathrm{grad} f(x))

with Metropolis weights W, V = (I+W)/2, s₀ = −α grad f(x₀) and P(Z) = Z(ZᵀZ)^{−½}, the polar factor.
Σs = −Σα grad f holds at every slot, so agents that agree and no longer move are where the total
gradient vanishes: there is no consensus term, and no bias. Bases are averaged as matrices, so all
agents start from the same one.

α is a fraction of 1/L, where L is the largest curvature that an agent has computed or received; it
adds one number to each message. After as many slots as the diameter of the network, all have the
same L.

Gradients are not preconditioned, so the number of steps grows with the condition number of the
problem; :class:`grassvine.averaging.tracking.Tracked` is better for ill-conditioned problems.
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
    """Options of REXTRA.

    Parameters
    ----------
    max_iter : int, default=1000
        Number of iterations; every agent moves at every slot.
    step : float, default=0.5
        αL: the step size as a fraction of 1/L, where L is the largest curvature.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.averaging import REXTRA
    >>> samples = np.random.default_rng(0).normal(size=(80, 5)) * [5, 4, 1, 1, 1]
    >>> problems = [gv.PCAProblem(part) for part in gv.datasets.split_samples(samples, 4)]
    >>> result = gv.run(gv.Plan(5, 2, gv.networks.ring(4), REXTRA(max_iter=100)), problems)
    >>> bool(result.agreement_degrees < 1.0)
    True
    """

    max_iter: int = 1000
    step: float = 0.5

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=0)
        if real_number("step", self.step, least=0.0) == 0.0:
            raise PlanError("step is 0, so no basis would move; choose a positive number.")

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        AllEdges().check(network, self.max_iter)

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Schedule exchanges over all links at every slot."""
        return AllEdges().draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> NeighbourAgent:
        """Return the agent for a problem."""
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
    scaled = (share / largest) * gradient  # α grad f(x)
    shift = -scaled
    for updates in count():
        norm = float(np.linalg.norm(gradient))
        iterate = Iterate(basis, evaluation, norm, share / largest, updates)
        arrived = yield Exchange({FRAME: basis, "curvature": np.array([largest])}, iterate)
        average = mixing.average(number, basis, {s: arrays[FRAME] for s, arrays in arrived.items()})
        before, basis = basis, polar(average + shift)
        evaluation = problem.evaluate(basis)
        gradient = Grassmann().project(basis, evaluation.gradient)
        received = [float(arrays["curvature"][0]) for arrays in arrived.values()]
        largest = max(largest, _curvature(evaluation, number), *received)
        old_scaled, scaled = scaled, (share / largest) * gradient
        shift = shift + 0.5 * (average - before) - (scaled - old_scaled)
    raise AssertionError("count() has no end")


def _curvature(evaluation: Evaluation, number: int) -> float:
    """Return the largest eigenvalue of ξ ↦ diag(s)·ξ·K."""
    if not evaluation.curvature.size:
        raise PlanError(
            f"the problem of agent {number} provides no curvature, which the step size needs; "
            "return one in its evaluation, or use Tracked."
        )
    largest = float(np.linalg.eigvalsh(evaluation.curvature)[-1] * evaluation.item_scales.max())
    return largest or math.ulp(1.0)  # no data: the neighbours' L decides
