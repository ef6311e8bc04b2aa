"""Matrix completion with biases, as a method: every agent ends with the pooled model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.biased.descent import StoppingCriteria, fit_biased
from grassvine.sums.biased.problem import BiasedCompletionProblem, as_biased_problem
from grassvine.sums.biased.selection import BIAS_REGULARIZATION, choose_biased, most_sums
from grassvine.sums.program import Program


@dataclass(frozen=True, slots=True)
class BiasedFactorization:
    """Exact method for ratings with item biases, user biases and factors, by sums along a tree.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
        Regularisation strength μ > 0 of factors and weights; ``"auto"`` chooses it, together with
        that of the biases, on held-out entries.
    bias_regularization : float, default=3.0
        Regularisation strength μ_b > 0 of the biases; ignored if ``regularization="auto"``.
    max_iter : int, default=100
        Maximum number of iterations of one fit; each is one pass of every agent over its data.
    tol : float, default=5e-5
        Stop when five iterations reduce the cost by less than this fraction.
    share : float, default=0.1
        Fraction of its entries that each agent holds out if ``regularization="auto"``.
    ranks : tuple of int, optional
        Candidate ranks, none above the rank of the plan, which is the default. Rank 0 is the model
        with biases only. Several candidates require ``regularization="auto"``.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import BiasedFactorization, BiasedModel
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), BiasedFactorization(regularization=1.0))
    >>> result = gv.run(plan, [gv.BiasedCompletionProblem(part) for part in parts])
    >>> BiasedModel.from_arrays(result.states[0]).regularization
    1.0
    """

    works_alone: ClassVar[bool] = True

    regularization: float | Literal["auto"] = "auto"
    bias_regularization: float = BIAS_REGULARIZATION
    max_iter: int = 100
    tol: float = 5e-5
    share: float = 0.1
    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the options."""
        values: dict[str, object] = {"bias_regularization": self.bias_regularization}
        if self.regularization != "auto":
            values["regularization"] = self.regularization
        for name, value in values.items():
            if real_number(name, value, least=0.0) == 0.0:
                raise PlanError(f"{name} is 0; choose a positive number.")
        if real_number("share", self.share, least=0.0, below=1.0) == 0.0:
            raise PlanError("share is 0, so nothing is held out; choose a fraction such as 0.1.")
        if not isinstance(self.ranks, Sequence):
            raise PlanError(f"ranks is {self.ranks!r}; choose a list of integers.")
        for rank in self.ranks:
            whole_number("ranks", rank, least=0)
        if self.regularization != "auto" and len(self.ranks) > 1:
            raise PlanError(
                f"ranks is {self.ranks}, but a rank can only be chosen together with the "
                "regularisation; choose regularization='auto', or one rank."
            )
        object.__setattr__(self, "ranks", tuple(self.ranks))
        self._criteria()

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, self._most_sums())

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree, enough for the largest number of sums."""
        return network.tree.rounds(self._most_sums())

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        for rank in self.ranks:
            whole_number("ranks", rank, least=0, most=plan.rank, why=f"the plan's is {plan.rank}")
        program = self.program(as_biased_problem(problem), plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: BiasedCompletionProblem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind.

        :func:`grassvine.sums.program.run_pooled` runs the same program on pooled data.
        """
        criteria = self._criteria()
        if self.regularization != "auto":
            first = start[:, : self.ranks[0]] if self.ranks else start
            mu, mu_b = self.regularization, self.bias_regularization
            return fit_biased(problem, first, mu, mu_b, criteria)
        return choose_biased(
            problem, start, ranks=self.ranks, share=self.share, seed=seed, criteria=criteria
        )

    def _most_sums(self) -> int:
        criteria, n_ranks = self._criteria(), len(self.ranks) or 1
        return (
            most_sums(criteria, n_ranks) if self.regularization == "auto" else 1 + criteria.max_iter
        )

    def _criteria(self) -> StoppingCriteria:
        return StoppingCriteria(self.max_iter, self.tol)
