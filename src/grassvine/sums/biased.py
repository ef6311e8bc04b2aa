"""The model for ratings that generalises, as a method: every agent ends with the pooled model."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import rank_within, real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import CompletesRatings, LocalProblem
from grassvine.problems.biased_ratings import BiasedRatings
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.biased_fit import StoppingCriteria, fit_biased
from grassvine.sums.biased_selection import BIAS_REGULARIZATIONS, choose_biased, most_sums
from grassvine.sums.program import Program


@dataclass(frozen=True, slots=True)
class BiasedFactorization:
    """Ratings with item and user biases, fitted exactly by sums along a tree.

    Parameters
    ----------
    regularization : float or "auto"
        Regularisation strength μ > 0 of factors and weights; ``"auto"`` chooses it and the other on
        held-out entries.
    bias_regularization : float
        Regularisation strength μ_b > 0 of the biases; ``"auto"`` has its own candidates.
    max_iter : int
        Maximum number of iterations of one fit; each is one pass of every agent over its data.
    tol : float
        Stop when five iterations lower the cost by less than this fraction.
    share : float
        Which share of its entries each agent holds out under ``"auto"``.
    ranks : tuple of int
        Which ranks ``"auto"`` tries, none above the plan's; by default the plan's alone.
    """

    works_alone: ClassVar[bool] = True

    regularization: float | Literal["auto"] = "auto"
    bias_regularization: float = BIAS_REGULARIZATIONS[0]
    max_iter: int = 100
    tol: float = 5e-5
    share: float = 0.1
    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the options."""
        regularization = (
            {"bias_regularization": self.bias_regularization}
            if self.regularization == "auto"
            else {
                "regularization": self.regularization,
                "bias_regularization": self.bias_regularization,
            }
        )
        for name, value in regularization.items():
            if real_number(name, value, least=0.0) == 0.0:
                raise PlanError(f"{name} is 0; choose a positive number.")
        if real_number("share", self.share, least=0.0, below=1.0) == 0.0:
            raise PlanError("share is 0 and nothing would be held out; choose for instance 0.1.")
        for rank in self.ranks:
            whole_number("ranks", rank, least=1)
        object.__setattr__(self, "ranks", tuple(self.ranks))
        self._effort()

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Leave time for as many sums as there may be."""
        criteria, n_ranks = self._effort(), len(self.ranks) or 1
        n_sums = (
            most_sums(criteria, n_ranks) if self.regularization == "auto" else 1 + criteria.max_iter
        )
        return network.tree.rounds(n_sums)

    def agent(self, plan: Setup, number: int, problem: LocalProblem) -> SumAgent:
        """Make the agent that holds a problem."""
        if not isinstance(problem, CompletesRatings) or problem.alpha:
            raise PlanError(
                f"agent {number} holds no plain completion problem, and this method has a "
                "regularization of its own; give CompletionProblem(ratings) without regularisation."
            )
        for rank in self.ranks:
            rank_within(rank, plan.rank)
        return SumAgent(number, problem, self._program(plan, problem), plan.network.tree)

    def _program(self, plan: Setup, problem: CompletesRatings) -> Program:
        start, criteria = plan.start(0), self._effort()
        if self.regularization != "auto":
            own = BiasedRatings(
                problem.ratings, self.regularization, self.bias_regularization, problem.threads
            )
            return fit_biased(own, start, criteria)
        return choose_biased(
            problem.ratings,
            start,
            ranks=self.ranks,
            share=self.share,
            seed=plan.seed,
            threads=problem.threads,
            criteria=criteria,
        )

    def _effort(self) -> StoppingCriteria:
        return StoppingCriteria(self.max_iter, self.tol)
