"""The paper's completion with λ and rank chosen on held-out entries, and early stopping."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import CompletesRatings, Problem
from grassvine.protocol.method import Setup
from grassvine.sums.agent import SumAgent
from grassvine.sums.exact import with_full_rank
from grassvine.sums.program import Program
from grassvine.sums.progress import descent_share, with_share
from grassvine.sums.validation import choose_and_fit


@dataclass(frozen=True, slots=True)
class Validated:
    """Exact method for completion whose λ, rank and stopping point are chosen on held-out entries.

    The entries are centred by their mean over all agents. An agent's state contains the basis, the
    ``centre`` and λ (``unobserved``) of the paper's formulation. ``Exact`` fits the same
    formulation to convergence for a given λ.

    Parameters
    ----------
    unobserved : float or "auto", default="auto"
        λ in [0, 1); ``"auto"`` chooses it on held-out entries.
    any_rank : bool, default=False
        Whether to choose the rank, up to that of the plan, on the same entries.
    share : float, default=0.1
        Fraction of its entries that each agent holds out.
    n_iter_no_change : int, default=5
        Stop a descent after this many consecutive iterations without a lower held-out error.
    tol : float, default=1e-6
        Stop a descent when the gradient norm has fallen to this fraction of its initial value.
    max_descent_iter : int, default=100
        Maximum number of iterations of one descent.
    max_iter : int, default=5000
        Maximum number of iterations; each is one sum over all agents.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import Validated
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0, noise=0.1)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 4, gv.networks.ring(4), Validated(any_rank=True))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> result.mean.shape[1]  # the rank that was chosen
    2
    """

    works_alone: ClassVar[bool] = True

    unobserved: float | Literal["auto"] = "auto"
    any_rank: bool = False
    share: float = 0.1
    n_iter_no_change: int = 5
    tol: float = 1e-6
    max_descent_iter: int = 100
    max_iter: int = 5000

    def __post_init__(self) -> None:
        """Check the options."""
        if self.unobserved != "auto":
            real_number("unobserved", self.unobserved, least=0.0, below=1.0)
        if not isinstance(self.any_rank, bool):
            raise PlanError(f"any_rank is {self.any_rank!r}; pass True or False.")
        if real_number("share", self.share, least=0.0, below=1.0) == 0.0:
            raise PlanError("share is 0, so nothing is held out; choose a fraction such as 0.1.")
        real_number("tol", self.tol, least=0.0)
        for name in ("n_iter_no_change", "max_descent_iter", "max_iter"):
            whole_number(name, getattr(self, name), least=1)

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        check_rounds(network.n_agents, self.max_iter)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree; nothing is random."""
        return network.tree.rounds(self.max_iter)

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent for a problem."""
        if not isinstance(plan.geometry, Grassmann):
            raise PlanError("Validated needs the Grassmann geometry; omit geometry.")
        if not isinstance(problem, CompletesRatings) or problem.alpha:
            raise PlanError(
                f"the problem of agent {number} is not plain completion, and this method chooses λ "
                "itself; pass CompletionProblem(ratings) without regularisation."
            )
        program = self.program(problem, plan.start(0), plan.seed)
        return SumAgent(number, problem, program, plan.network.tree)

    def program(self, problem: CompletesRatings, start: Array, seed: int) -> Program:
        """Return the program for agents with problems of this kind.

        :func:`grassvine.sums.program.run_pooled` runs the same program on pooled data.
        """
        chosen = choose_and_fit(self, problem, start, seed=seed)
        shared = with_share(chosen, descent_share(start.shape[1], self.tol))
        return with_full_rank(shared, start)
