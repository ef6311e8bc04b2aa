"""Factors of implicit feedback as a method: every agent ends with the pooled model."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.descent.rows import Stopping
from grassvine.sums.implicit.descent import fit_implicit
from grassvine.sums.implicit.problem import ImplicitProblem, as_implicit_problem
from grassvine.sums.program import Program

Strength = float | Literal["auto"]


@dataclass(frozen=True, slots=True)
class ImplicitFactorization:
    """Exact method for implicit feedback with item factors and popularity, by sums along a tree.

    Parameters
    ----------
    unobserved : float or "auto", default="auto"
        The weight a₀ > 0 of a pair without an event, in units of the density of the table.
    regularization : float or "auto", default="auto"
        Regularisation strength > 0, in units of the largest singular value of a random table of
        the same size and density. ``"auto"`` takes both from the size and density.
    max_iter : int, default=19
        Maximum number of iterations; each is one pass of every agent over its data.
    tol : float, default=1e-3
        Stop when five iterations reduce the cost by less than this fraction.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.sums import ImplicitFactorization, ImplicitModel
    >>> rng = np.random.default_rng(0)
    >>> user, item = np.nonzero(rng.random((60, 20)) < 0.3)
    >>> events = gv.Ratings.from_arrays(user, item, np.ones(len(user)))
    >>> problems = [gv.ImplicitProblem(part) for part in gv.datasets.split_users(events, 3)]
    >>> result = gv.run(gv.Plan(20, 2, gv.networks.ring(3), ImplicitFactorization()), problems)
    >>> ImplicitModel.from_arrays(result.states[0]).factors.shape
    (20, 2)
    """

    works_alone: ClassVar[bool] = True
    has_stopping_rule: ClassVar[bool] = False  # a fit that ends at max_iter ranks as well

    unobserved: Strength = "auto"
    regularization: Strength = "auto"
    max_iter: int = 19
    tol: float = 1e-3

    def __post_init__(self) -> None:
        """Check the options."""
        for name in ("unobserved", "regularization"):
            value = getattr(self, name)
            if value != "auto" and real_number(name, value, least=0.0) == 0.0:
                raise PlanError(f"{name} is 0; choose a positive number.")
        self._stopping()

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, 1 + self.max_iter)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree, enough for the largest number of sums."""
        return network.tree.rounds(1 + self.max_iter)

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        program = self.program(as_implicit_problem(problem), plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: ImplicitProblem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind.

        :func:`grassvine.sums.program.run_pooled` runs the same program on pooled data.
        """
        return fit_implicit(
            problem,
            start,
            None if self.unobserved == "auto" else self.unobserved,
            None if self.regularization == "auto" else self.regularization,
            self._stopping(),
            seed,
        )

    def _stopping(self) -> Stopping:
        return Stopping(self.max_iter, self.tol)
