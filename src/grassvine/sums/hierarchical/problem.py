"""Related regressions of one agent, whose coefficients come from one normal distribution."""

from dataclasses import dataclass
from functools import cached_property

from grassvine.data.tasks import Tasks
from grassvine.foundations.errors import BasisError
from grassvine.problems.base import Problem, as_problem_of
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.prior import CoefficientPrior


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalEvaluation:
    """−log p(y | m, S, σ²), and the squared error of the posterior means."""

    cost: float
    squared_error: float


@dataclass(frozen=True)
class HierarchicalProblem:
    """Regression tasks of one agent, for :class:`EmpiricalBayes`.

    Parameters
    ----------
    tasks : Tasks
        Features and targets of each task.
    intercepts : bool, default=True
        Whether each task has an intercept. It is a coefficient like the others, the last one.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import HierarchicalProblem
    >>> problem = HierarchicalProblem(gv.datasets.subspace_tasks(6, 10, rank=2).tasks)
    >>> problem.n_items
    6
    """

    tasks: Tasks
    intercepts: bool = True

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.tasks.n_items

    @property
    def n_coefficients(self) -> int:
        """The number of coefficients of a task."""
        return self.tasks.n_items + self.intercepts

    @property
    def n_values(self) -> int:
        """The number of samples."""
        return self.tasks.n_values

    @cached_property
    def designs(self) -> Designs:
        """The tasks as triangular systems."""
        return Designs.of(self.tasks, intercepts=self.intercepts)

    def evaluate(self, prior: CoefficientPrior) -> HierarchicalEvaluation:
        """Return cost and squared error of the tasks."""
        if len(prior.mean) != self.n_coefficients:
            raise BasisError(
                f"the prior has {len(prior.mean)} coefficients and the tasks have "
                f"{self.n_coefficients}; pass one of the same features."
            )
        return HierarchicalEvaluation(*prior.fit(self.designs))


def as_hierarchical(problem: Problem) -> HierarchicalProblem:
    """Return a problem of this kind; another one is refused."""
    return as_problem_of(
        HierarchicalProblem, problem, "learns the distribution of regression coefficients", "tasks"
    )
