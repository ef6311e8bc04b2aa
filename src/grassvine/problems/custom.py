"""Custom problems, defined by a function of the basis."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.problems.base import Evaluation, as_argument

UserFunction = Callable[[Array], tuple[float, Array] | tuple[float, Array, Array]]


@dataclass(frozen=True)
class CustomProblem:
    """A problem defined by a plain function that returns its cost and gradient.

    Parameters
    ----------
    n_items : int
        Number of rows of the basis.
    function : callable
        ``function(U)`` returns ``(cost, gradient)`` or ``(cost, gradient, curvature)``: the cost,
        its Euclidean gradient (items×rank) and, if known, a rank×rank matrix K such that the
        Hessian is bounded by about ξ ↦ ξK. With K the default step needs no tuning; without it,
        choose a step size. The cost must be the same for U and UQ with any orthogonal Q;
        :func:`grassvine.checks.check_problem` verifies this.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> A = np.diag([3.0, 2.0, 1.0, 0.5])
    >>> def minus_trace(U):  # smallest for the leading eigenvectors of A
    ...     return -0.5 * np.sum(U * (A @ U)), -A @ U
    >>> problem = gv.CustomProblem(4, minus_trace)
    >>> gv.checks.check_problem(problem, rank=2)  # raises CheckFailed if the gradient is wrong
    >>> float(problem.evaluate(np.eye(4)[:, :2]).cost)
    -2.5
    """

    n_items: int
    function: UserFunction

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("n_items", self.n_items, least=1, error=DataError)

    @property
    def n_values(self) -> int:
        """Zero, because the data are not known."""
        return 0

    def evaluate(self, basis: Array) -> Evaluation:
        """Call the function and check its result."""
        basis = as_argument(self, basis)
        rank = basis.shape[1]
        result = self.function(basis)
        if not isinstance(result, tuple) or len(result) not in (2, 3):
            raise DataError(
                f"the function of the problem returned {type(result).__name__}; "
                "return (cost, gradient) or (cost, gradient, curvature)."
            )
        cost = float(result[0])
        if not math.isfinite(cost):
            raise DataError(
                f"the function of the problem returned the cost {cost}; return a finite number."
            )
        gradient = as_matrix(
            result[1], n_items=self.n_items, rank=rank, name="the gradient", error=DataError
        )
        curvature = np.empty((0, 0))
        if len(result) == 3:
            curvature = as_matrix(
                result[2], n_items=rank, rank=rank, name="the curvature", error=DataError
            )
        return Evaluation(cost, gradient, curvature, curvature, np.ones(self.n_items))

    def weights(self, basis: Array) -> Array:
        """Return an empty array: weights are internal to the function."""
        return np.empty((0, basis.shape[1]))
