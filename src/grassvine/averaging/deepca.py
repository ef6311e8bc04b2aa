r"""DeEPCA: orthogonal iteration on the samples of all agents, by averaging with neighbours.

H. Ye, T. Zhang: DeEPCA (2021), with polar instead of QR factors. Agent i tracks S_i, its estimate
of the average of C_jU_j over all agents j, where C_j = X_jᵀX_j:

.. math::

    S_i ← \mathrm{mix}(S_i + C_iU_i − C_iU_i^{old}), \qquad U_i ← \mathrm{polar}(S_i)

Mixing takes a few FastMix rounds (``networks/mixing.py``) and is linear, so ΣS = ΣCU at all times.
The polar factor changes no more than the subspace does, whereas the paper's QR factor may flip
columns, which would break the averaging of bases. All agents start from the same basis. Each
iteration reduces the distance to the leading eigenspace by the factor λ_{r+1}/λ_r of the pooled
samples, whatever the network.

An agent is ready to stop (``content``) when its basis moved by at most ``tol`` and no neighbour's
basis differs by more; all agents stop together, as in ``tracking.py``.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.random import Generator as RandomGenerator

from grassvine.averaging.agent import NeighbourAgent
from grassvine.averaging.program import (
    FRAME,
    Iterate,
    Program,
    ProgramOutcome,
    mix,
    polar,
    require_subspaces,
)
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.mixing import Mixing, fast_mixing
from grassvine.networks.schedule import AllEdges
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Eigenproblem, Problem
from grassvine.protocol.method import Setup


@dataclass(frozen=True, slots=True)
class DeEPCA:
    """Options of DeEPCA.

    Parameters
    ----------
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-12
        Tolerance of the stopping rule; with 0, all iterations are run.
    contraction : float, default=0.03
        Upper bound on the factor by which one mixing reduces differences between agents.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.averaging import DeEPCA
    >>> samples = np.random.default_rng(0).normal(size=(80, 5)) * [5, 4, 1, 1, 1]
    >>> problems = [gv.PCAProblem(part) for part in gv.datasets.split_samples(samples, 4)]
    >>> result = gv.run(gv.Plan(5, 2, gv.networks.ring(4), DeEPCA()), problems)
    >>> exact = gv.run(gv.Plan(5, 2, gv.networks.ring(4)), problems)
    >>> bool(gv.geometry.Grassmann().distance(result.mean, exact.mean) < 1e-8)
    True
    """

    max_iter: int = 300
    tol: float = 1e-12
    contraction: float = 0.03

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=0)
        real_number("tol", self.tol, least=0.0)
        if real_number("contraction", self.contraction, least=0.0, below=1.0) == 0.0:
            raise PlanError("contraction is 0, which no mixing reaches; choose a positive number.")

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        AllEdges().check(network, self._n_slots(network))

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Schedule exchanges over all links at every slot; each mixing takes several slots."""
        return AllEdges().draw(network, self._n_slots(network), rng)

    def _n_slots(self, network: Network) -> int:
        return self.max_iter * fast_mixing(network, self.contraction).n_rounds

    def agent(self, plan: Setup, number: int, problem: Problem) -> NeighbourAgent:
        """Return the agent for a PCA problem."""
        require_subspaces(plan, "DeEPCA")
        if not isinstance(problem, Eigenproblem):
            raise PlanError(
                f"agent {number} has no PCA problem, and DeEPCA finds only principal components; "
                "pass PCAProblem(samples), or use Tracked."
            )
        mixing = fast_mixing(plan.network, self.contraction)
        program = _deepca(number, problem, plan.start(0), mixing, self.tol)
        return NeighbourAgent(number, problem, program)


def _deepca(
    number: int, problem: Eigenproblem, basis: Array, mixing: Mixing, tol: float
) -> Program:
    evaluation = problem.evaluate(basis)
    tracked = product = -evaluation.gradient  # C_iU_i
    content = False
    for updates in count():
        gradient = Grassmann().project(basis, evaluation.gradient)
        norm = float(np.linalg.norm(gradient))
        iterate = Iterate(basis, evaluation, norm, 1.0, updates)
        mixed = yield from mix(mixing, number, {FRAME: tracked}, iterate, content)
        before, basis = basis, polar(mixed.arrays[FRAME])
        evaluation = problem.evaluate(basis)
        if mixed.all_content:
            break
        content = max(float(np.linalg.norm(basis - before)), mixed.distance) <= tol
        old, product = product, -evaluation.gradient
        tracked = mixed.arrays[FRAME] + product - old
    return ProgramOutcome(
        Iterate(basis, evaluation, norm, 0.0, updates + 1),
        f"no basis moved by more than {tol:g}, and all agents agree",
    )
