"""The exact method: N agents learn what one agent would learn from the pooled data."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator as RandomGenerator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import (
    CompletesRatings,
    Eigenproblem,
    LocalProblem,
    ModelsHessian,
    Problem,
    as_local_problem,
)
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.components.eigenspace import principal_components
from grassvine.sums.descent.conjugate_gradient import (
    Preconditioner,
    StoppingRule,
    conjugate_gradient,
)
from grassvine.sums.descent.continuation import complete_by_rank
from grassvine.sums.descent.preconditioners import (
    IdentityPreconditioner,
    ItemScaling,
    KroneckerPreconditioner,
)
from grassvine.sums.own import own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    all_reduce,
    map_iterates,
)
from grassvine.sums.progress import descent_share, with_share

ROUNDING = 1e-14  # about how far a gradient norm can fall


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact method: batch optimisation over sums along a spanning tree, without tuning.

    Completion and multitask regression use conjugate gradients. A completion without regularisation
    says whether the table is certified to be recovered (``Run.recovered``). PCA sums the covariance
    matrix itself or uses a block Krylov method, whichever sends less.

    Parameters
    ----------
    tol : float, default=1e-8
        Stop when the gradient norm has fallen to this fraction of its initial value. Principal
        components are always computed to rounding error, which takes hardly longer.
    by_rank : bool, default=True
        Whether to complete a table by rank continuation, starting from the data, instead of from a
        random start.
    max_iter : int, default=5000
        Maximum number of iterations; each is one sum over all agents. Completions of few entries
        without regularisation, with all their restarts, took up to 3000.
    explained_variance_ratio : float, default=0.0
        If positive, compute as many principal components as explain more than this fraction of the
        variance; the rank of the plan is then only an initial guess.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> result = gv.run(
    ...     gv.Plan(30, 2, gv.networks.ring(4), gv.Exact()),
    ...     [gv.CompletionProblem(part) for part in parts],
    ... )
    >>> bool(gv.geometry.Grassmann().distance(result.mean, data.subspace) < 1e-5)
    True
    """

    works_alone: ClassVar[bool] = True

    tol: float = 1e-8
    by_rank: bool = True
    max_iter: int = 5000
    explained_variance_ratio: float = 0.0

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("tol", self.tol, least=0.0)
        if not isinstance(self.by_rank, bool):
            raise PlanError(f"by_rank is {self.by_rank!r}; choose True or False.")
        whole_number("max_iter", self.max_iter, least=1)
        ratio = self.explained_variance_ratio
        real_number("explained_variance_ratio", ratio, least=0.0, below=1.0)

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, self.max_iter)

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Return rounds up and down the spanning tree; nothing is random."""
        return network.tree.rounds(self.max_iter)

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        if not isinstance(plan.geometry, Grassmann):
            raise PlanError("the exact method needs the Grassmann geometry; omit geometry.")
        program = self.program(problem, plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: Problem, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind.

        :func:`grassvine.sums.program.run_pooled` runs the same program on pooled data.
        """
        problem = as_local_problem(problem)
        tol = max(self.tol, ROUNDING)
        program = with_share(
            self._program(problem, start, seed), descent_share(start.shape[1], tol)
        )
        return with_full_rank(program, start)

    def _program(self, problem: LocalProblem, start: Array, seed: int) -> Program:
        if isinstance(problem, Eigenproblem):
            share, samples = self.explained_variance_ratio, own_problem(problem)
            return (yield from principal_components(samples, start, seed, self.max_iter, share))
        if self.explained_variance_ratio:
            raise PlanError(
                f"explained_variance_ratio is for principal components, not for "
                f"{type(problem).__name__}; omit it."
            )
        if self.by_rank and isinstance(problem, CompletesRatings):
            return (yield from complete_by_rank(problem, start.shape[1], seed, self.tol))
        preconditioner = yield from _preconditioner(problem)
        stopping, own = StoppingRule(self.tol, self.max_iter), own_problem(problem)
        descent = yield from conjugate_gradient(own, start, preconditioner, stopping)
        return ProgramOutcome(descent.point.iterate, descent.reason)


def with_full_rank(program: Program, start: Array) -> Program:
    """Pad the iterates of a program to the rank of the start, for observers and early stops."""
    rank = start.shape[1]

    def whole(iterate: Iterate) -> Iterate:
        if iterate.basis.shape[1] >= rank:
            return iterate
        both = np.column_stack([iterate.basis, start])
        return replace(iterate, basis=np.ascontiguousarray(np.linalg.qr(both)[0][:, :rank]))

    return map_iterates(program, whole)


def _preconditioner(problem: LocalProblem) -> Subprogram[Preconditioner]:
    if not isinstance(problem, ModelsHessian):
        return IdentityPreconditioner()
    start, own = Iterate(np.zeros((problem.n_items, 0))), own_problem(problem)
    statistics, count = yield from all_reduce(start, lambda data: data[own].hessian_statistics())
    if statistics.ndim == 1:
        # Count an unrated item as rated once, so that rounding errors do not move its row.
        return ItemScaling(np.maximum(statistics, 1.0) / float(count) + problem.alpha)
    regularised = statistics / float(count) + problem.alpha * np.eye(problem.n_items)
    return KroneckerPreconditioner(regularised)
