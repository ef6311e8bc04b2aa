"""Protocols of local problems, such as f(U) = min over W of a cost of one agent's data."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import PlanError

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Cost and derivatives at U, from one inner least-squares solve.

    Attributes
    ----------
    cost : float
        f(U).
    gradient : array of shape (n_items, rank)
        The Euclidean gradient of f.
    gram : array of shape (rank, rank)
        WᵀW of the inner solution, the paper's preconditioner. Empty (0×0) if there is none.
    curvature : array of shape (rank, rank)
        K such that the Hessian of f is at most about ξ ↦ diag(s)·ξ·K: the Gram matrix on the scale
        of the data, with which a step of length 1 is right. Empty if it is not known.
    item_scales : array of shape (n_items,)
        s: the weight of the data of each item.
    squared_error : float
        The sum of squared residuals at the known values; NaN if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> problem = gv.PCAProblem(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    >>> evaluation = problem.evaluate(np.array([[1.0], [0.0]]))
    >>> float(evaluation.squared_error)  # what the first axis leaves
    2.0
    >>> evaluation.gradient.shape
    (2, 1)
    """

    cost: float
    gradient: Array
    gram: Array
    curvature: Array
    item_scales: Array
    squared_error: float = math.nan


@runtime_checkable
class Problem(Protocol):
    """One agent's data and the cost that they define: what every run needs.

    Methods that need more ask for a narrower protocol, such as :class:`LocalProblem`.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.problems import Problem
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0)
    >>> isinstance(gv.sums.BayesianCompletionProblem(data.ratings), Problem)
    True
    """

    @property
    def n_items(self) -> int:
        """The number of items, which all agents share."""
        ...

    @property
    def n_values(self) -> int:
        """The number of known values, by which a squared error becomes a mean."""
        ...

    def evaluate(self, point: Any, /) -> Any:
        """Return the cost and its derivatives at a point of the model: a basis, or more."""
        ...


@runtime_checkable
class LocalProblem(Problem, Protocol):
    """A cost f(U) of a subspace.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.problems import LocalProblem
    >>> isinstance(gv.PCAProblem([[1.0, 0.0], [-1.0, 0.0]]), LocalProblem)
    True
    """

    def evaluate(self, basis: Array, /) -> Evaluation:
        """Return cost, gradient and Gram matrices at U."""
        ...

    def weights(self, basis: Array) -> Array:
        """Return the inner solution W at U, one row per user, task or sample."""
        ...


@runtime_checkable
class TwiceDifferentiable(LocalProblem, Protocol):
    """A problem with Hessian–vector products.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.problems import TwiceDifferentiable
    >>> isinstance(gv.PCAProblem([[1.0, 0.0], [-1.0, 0.0]]), TwiceDifferentiable)
    True
    >>> isinstance(gv.CustomProblem(2, lambda U: (0.0, np.zeros_like(U))), TwiceDifferentiable)
    False
    """

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return the derivative of the Euclidean gradient along a direction."""
        ...


@runtime_checkable
class ModelsHessian(TwiceDifferentiable, Protocol):
    """A problem with a model of the pooled Hessian, ξ ↦ (S/n + λI)·ξ·WᵀW.

    S and n are sums over the data: agents add or average their own once, and share the
    preconditioner made of them. S is a matrix, or a vector where it is diagonal.
    """

    @property
    def alpha(self) -> float:
        """λ: the weight of regularisation; 0 without."""
        ...

    def hessian_statistics(self) -> tuple[Array, float]:
        """Return this agent's part of S, and of n, the number of users or tasks."""
        ...


@runtime_checkable
class Eigenproblem(TwiceDifferentiable, Protocol):
    """A problem that the leading eigenspace of ΣC_i solves; C_i is of items×items."""

    @property
    def n_samples(self) -> int:
        """The number of samples; the rank of C_i is at most that."""
        ...

    @property
    def trace(self) -> float:
        """The trace of C_i."""
        ...

    @property
    def keeps_matrix(self) -> bool:
        """Whether C_i is computed once and kept, because it is small beside the samples."""
        ...

    def matrix(self) -> Array:
        """Return C_i."""
        ...

    def matrix_product(self, block: Array) -> Array:
        """Return C_i·block."""
        ...


@runtime_checkable
class CompletesRatings(ModelsHessian, Protocol):
    """Matrix completion: residuals and blocks of the Hessian are known entry by entry."""

    @property
    def ratings(self) -> Ratings:
        """The known entries."""
        ...

    @property
    def threads(self) -> int:
        """The number of threads of a pass."""
        ...

    def with_ratings(
        self, ratings: Ratings, *, unobserved: float | None = None
    ) -> "CompletesRatings":
        """Return the same problem of other entries, with another λ where one is given."""
        ...

    def residuals(self, basis: Array, entries: Ratings | None = None) -> Array:
        """Return y − u·w at the known entries, or at others of the same users."""
        ...

    def item_blocks(self, basis: Array) -> Array:
        """Return blocks of the Hessian without residuals, as packed lower triangles."""
        ...


def plain_ratings(problem: Problem) -> Ratings | None:
    """Return the ratings of a completion problem without regularisation, None of all others."""
    if isinstance(problem, CompletesRatings) and not problem.alpha:
        return problem.ratings
    return None


def as_local_problem(problem: Problem) -> LocalProblem:
    """Return a problem whose cost is a function of a subspace; another one is refused."""
    if not isinstance(problem, LocalProblem):
        raise PlanError(
            f"the method learns a subspace, and {type(problem).__name__} defines another model; "
            "pass a problem such as CompletionProblem(ratings) for each agent."
        )
    return problem


def as_problem_of(kind: type[Kind], problem: Problem, task: str, data: str) -> Kind:
    """Return the problem of a model that is more than a subspace; another one is refused.

    Parameters
    ----------
    kind : class
        The class of the problem that the method needs.
    problem : Problem
    task : str
        What the method does, for the error: ``"fits biases and factors"``.
    data : str
        What the class takes: ``"ratings"``.
    """
    if not isinstance(problem, kind):
        raise PlanError(
            f"the method {task}, and {type(problem).__name__} defines another model; "
            f"pass {kind.__name__}({data}) for each agent."
        )
    return problem


def as_argument(problem: LocalProblem, basis: Array, name: str = "basis") -> Array:
    """Return the basis in the layout that kernels rely on, refused where its shape is wrong."""
    return as_matrix(basis, n_items=problem.n_items, name=name)
