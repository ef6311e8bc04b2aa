"""Related regressions by empirical Bayes, as a method: every agent ends with the pooled result."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.hierarchical.fit import SETUP_SUMS, fit_hierarchical
from grassvine.sums.hierarchical.problem import as_hierarchical
from grassvine.sums.program import Program


@dataclass(frozen=True, slots=True)
class EmpiricalBayes:
    """Exact method for related regressions whose coefficients have a common normal distribution.

    Mean and covariance of the distribution and the variance of the noise are learned by sums along
    a tree. With more than 200 features, the covariance is full in 100 directions of them and the
    same in all others. The rank of the plan only says how many directions of the subspace are read
    off.

    Parameters
    ----------
    max_iter : int, default=300
        Maximum number of iterations; each is one sum over all agents.
    tol : float, default=0.1
        Stop when an iteration raises the bound on the log-likelihood by less than this.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import CoefficientPrior, EmpiricalBayes, HierarchicalProblem
    >>> data = gv.datasets.subspace_tasks(6, 24, rank=2, noise=0.5)
    >>> parts = gv.datasets.split_tasks(data.tasks, 4)
    >>> plan = gv.Plan(6, 2, gv.networks.ring(4), EmpiricalBayes())
    >>> result = gv.run(plan, [HierarchicalProblem(part) for part in parts])
    >>> 0.4 < CoefficientPrior.from_arrays(result.states[0]).noise ** 0.5 < 0.6
    True
    """

    works_alone: ClassVar[bool] = True

    max_iter: int = 300
    tol: float = 0.1

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=1)
        real_number("tol", self.tol, least=0.0)

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, self._most_sums)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree; nothing is random."""
        return network.tree.rounds(self._most_sums)

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        program = self.program(problem, plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: Problem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind."""
        return fit_hierarchical(as_hierarchical(problem), start, seed, self.max_iter, self.tol)

    @property
    def _most_sums(self) -> int:
        return 2 * (SETUP_SUMS + self.max_iter) + 1  # many features are fitted twice
