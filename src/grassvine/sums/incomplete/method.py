"""Principal components of samples with missing values, as a method."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.exact import with_full_rank
from grassvine.sums.incomplete.fit import MAX_FACTORS, components_of_incomplete
from grassvine.sums.incomplete.problem import as_incomplete
from grassvine.sums.program import Program

# Sums besides those of descents and components: statistics, held-out errors, centre, moments.
OTHER_SUMS = 16


@dataclass(frozen=True, slots=True)
class IncompletePCA:
    """Exact method for the principal components of samples with missing values.

    A factor model says what missing values are to be expected; the number of its factors is chosen
    on values that are held out. The components are those of the second moments expected under the
    model, which are those of the samples where nothing is missing.

    Parameters
    ----------
    center : bool, default=True
        Whether to subtract the mean of all samples.
    explained_variance_ratio : float, default=0.0
        If positive, compute as many components as explain more than this fraction of the variance;
        the rank of the plan is then only an initial guess.
    max_descent_iter : int, default=100
        Maximum number of iterations of one fit of a factor model; each is one sum.
    max_iter : int, default=500
        Maximum number of sums to compute the components.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.sums import IncompletePCA, IncompleteSamples
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    >>> samples += rng.normal(0.0, 0.1, samples.shape)
    >>> samples[rng.random(samples.shape) < 0.2] = np.nan
    >>> problems = [IncompleteSamples(part) for part in gv.datasets.split_samples(samples, 4)]
    >>> result = gv.run(gv.Plan(6, 2, gv.networks.ring(4), IncompletePCA()), problems)
    >>> result.mean.shape
    (6, 2)
    """

    works_alone: ClassVar[bool] = True

    center: bool = True
    explained_variance_ratio: float = 0.0
    max_descent_iter: int = 100
    max_iter: int = 500

    def __post_init__(self) -> None:
        """Check the options."""
        if not isinstance(self.center, bool):
            raise PlanError(f"center is {self.center!r}; choose True or False.")
        ratio = self.explained_variance_ratio
        real_number("explained_variance_ratio", ratio, least=0.0, below=1.0)
        for name in ("max_descent_iter", "max_iter"):
            whole_number(name, getattr(self, name), least=1)

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, self._most_sums)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree; nothing is random."""
        return network.tree.rounds(self._most_sums)

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        if not isinstance(plan.geometry, Grassmann):
            raise PlanError("IncompletePCA needs the Grassmann geometry; omit geometry.")
        program = self.program(problem, plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: Problem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind."""
        program = components_of_incomplete(
            as_incomplete(problem),
            start,
            seed,
            share=self.explained_variance_ratio,
            center=self.center,
            max_descent_iter=self.max_descent_iter,
            max_iter=self.max_iter,
        )
        return with_full_rank(program, start)

    @property
    def _most_sums(self) -> int:
        n_fits = MAX_FACTORS.bit_length() + 1
        return OTHER_SUMS + n_fits * self.max_descent_iter + self.max_iter
