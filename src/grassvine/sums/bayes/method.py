"""Ratings by variational Bayes, as a method: every agent ends with the pooled model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from numpy.random import Generator

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.bayes.fit import SET_UP_SUMS, fit, initial_iterate, set_up
from grassvine.sums.bayes.problem import BayesianCompletionProblem, as_bayesian_problem
from grassvine.sums.bayes.selection import choose, held_out
from grassvine.sums.own import Own, own_problem
from grassvine.sums.program import Program, ProgramOutcome, decide
from grassvine.sums.progress import CandidateLog, with_candidates, with_share

# With fewer ratings for each user and item, intervals depend on the prior and are calibrated.
SPARSE = 5.0
# Ratings for each user and item that one more factor needs, and the largest rank that pays.
RATINGS_PER_FACTOR, LARGEST_RANK = 2.0, 40


def usual_rank(n_items: int, n_users: int, n_ratings: int) -> int:
    """Return the rank for a table of this size; 0, the biases alone, for a very sparse one."""
    rank = round(n_ratings / (RATINGS_PER_FACTOR * max(n_items + n_users, 1)))
    return max(min(rank, LARGEST_RANK, n_items - 1, n_users - 1), 0)


@dataclass(frozen=True, slots=True)
class BayesianFactorization:
    """Exact method for ratings by variational Bayes, with sums along a tree.

    Nothing but the rank has to be chosen: variances, precisions and regressions are learned from
    the same sums. The model is :class:`grassvine.sums.BayesianModel`.

    Parameters
    ----------
    ranks : tuple of int, optional
        Candidate ranks, none above the rank of the plan, which is the default. Rank 0 is the model
        of the biases alone, which is a candidate if there are several.
    max_iter : int, default=20
        Number of iterations of one fit; each is one pass of every agent over its data.
    share : float, default=0.1
        Fraction of its entries that each agent holds out to choose among several ranks, and to
        calibrate intervals where the table has fewer than five ratings for each user and item.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import BayesianCompletionProblem, BayesianFactorization, BayesianModel
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0, noise=0.1)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), BayesianFactorization())
    >>> result = gv.run(plan, [BayesianCompletionProblem(part) for part in parts])
    >>> model = BayesianModel.from_arrays(result.states[0])
    >>> 0.05 < model.scale * model.noise**0.5 < 0.2  # the noise, learned from the ratings
    True
    """

    works_alone: ClassVar[bool] = True

    ranks: tuple[int, ...] = ()
    max_iter: int = 20
    share: float = 0.1

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=1)
        if real_number("share", self.share, least=0.0, below=1.0) == 0.0:
            raise PlanError("share is 0, so nothing is held out; choose a fraction such as 0.1.")
        if not isinstance(self.ranks, Sequence):
            raise PlanError(f"ranks is {self.ranks!r}; choose a list of integers.")
        for rank in self.ranks:
            whole_number("ranks", rank, least=0)
        object.__setattr__(self, "ranks", tuple(self.ranks))

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
        program = self.program(as_bayesian_problem(problem), plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: BayesianCompletionProblem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind.

        :func:`grassvine.sums.program.run_pooled` runs the same program on pooled data.
        """
        start = as_matrix(start, n_items=problem.n_items, name="start", allow_empty=True)
        log, most = CandidateLog(), self._most_sums()
        fitting = self._fit(own_problem(problem), start, seed, log)
        if len(self.ranks) < 2:
            sums = count()
            usual = SET_UP_SUMS + self.max_iter
            return with_share(fitting, lambda _: next(sums) / usual)
        return with_candidates(with_share(fitting, lambda _: log.n_sums / most), log)

    def _fit(
        self, problem: Own[BayesianCompletionProblem], start: Array, seed: int, log: CandidateLog
    ) -> Program:
        ranks = self.ranks or (start.shape[1],)
        seen, scale, rank = initial_iterate(start[:, : max(ranks)]), 1.0, ranks[0]
        if len(ranks) > 1:
            data = yield from held_out(problem, self.share, seed, seen)
            best = yield from choose(data, start, ranks, self.max_iter, log)
            scale = yield from data.interval_scale(best)
            seen, rank = best.iterate, best.model.rank
        table = yield from set_up(problem, seed, seen)
        sparse = yield from decide(table.statistics.density < SPARSE)
        if len(ranks) == 1 and sparse:
            data = yield from held_out(problem, self.share, seed, seen)
            alone = CandidateLog()  # nothing is chosen
            tried = yield from data.fit(start, rank, self.max_iter, alone)
            scale = yield from data.interval_scale(tried)
        iterate = yield from fit(problem, table, start[:, :rank], self.max_iter)
        iterate = replace(iterate, model=replace(iterate.model, interval_scale=scale))
        return ProgramOutcome(iterate, f"made {self.max_iter} iterations at rank {rank}")

    def _most_sums(self) -> int:
        n_ranks = len({*self.ranks, 0}) if len(self.ranks) > 1 else 1
        held_out = SET_UP_SUMS + n_ranks * (self.max_iter + 2) + 1
        return held_out + SET_UP_SUMS + self.max_iter
