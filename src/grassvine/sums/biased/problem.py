r"""Matrix completion with biases: a rating is a common mean, two biases and an inner product.

.. math::

    f(A, c) = Σ_j \min_{w, a} ½Σ_i (μ₀ + c_i + a + A_i·w − y_{ij})² + ½μ‖w‖² + ½μ_b a²

over the known entries of each user j. Agents share the item factors A (items×rank, not orthonormal:
their norms matter) and the item biases c. The weights w_j and the bias a_j of a user are eliminated
exactly and stay private. With e_ij the residual at the solution, the envelope theorem gives the
gradient Σ_j e_ij w_j with respect to A_i and Σ_j e_ij with respect to c_i. The regularisation of
the items, ½μ‖A‖² + ½μ_b‖c‖², is not part of f; it is added once to the sum over all agents.

At full rank, minimising over the scale of A and W turns ½μ‖A‖² + ½μ‖W‖² into μ times the nuclear
norm of AWᵀ. So μ has the unit of the ratings, and μ_b has none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.data.split import hold_out_of_users
from grassvine.foundations.arrays import Array, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number, whole_number
from grassvine.foundations.watch import Watch
from grassvine.problems.base import Problem, as_problem_of
from grassvine.problems.blocks import Block, add_blocks, entries_of_block, user_blocks


@dataclass(frozen=True, eq=False)
class BiasedModel:
    """The shared part of the model; the users are a function of it and of their ratings.

    Parameters
    ----------
    factors : array of shape (n_items, rank)
        A. Rank 0 is the model of the biases alone.
    item_biases : array of shape (n_items,)
        c.
    centre : float
        μ₀.
    regularization : float
        μ > 0, the regularisation strength of factors and weights.
    bias_regularization : float
        μ_b > 0, the regularisation strength of the biases.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.sums import BiasedModel
    >>> model = BiasedModel(np.zeros((3, 1)), np.array([0.5, 0.0, -0.5]), 3.5, 1.0, 3.0)
    >>> (model.centre + model.item_biases).tolist()
    [4.0, 3.5, 3.0]
    """

    factors: Array
    item_biases: Array
    centre: float
    regularization: float
    bias_regularization: float

    def __post_init__(self) -> None:
        """Check the values."""
        factors = as_matrix(self.factors, name="factors", allow_empty=True)
        item_biases = as_numbers(self.item_biases, name="item_biases", error=BasisError)
        if item_biases.shape != factors.shape[:1] or not np.isfinite(item_biases).all():
            raise BasisError(
                f"item_biases has shape {item_biases.shape} or is not finite; "
                f"pass {len(factors)} finite numbers, one per item."
            )
        real_number("centre", self.centre, error=BasisError)
        for name in ("regularization", "bias_regularization"):
            if real_number(name, getattr(self, name), least=0.0, error=DataError) == 0.0:
                raise DataError(
                    f"{name} is 0, so the solution of a user with few ratings is not unique; "
                    "choose a positive number."
                )
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "item_biases", item_biases)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.factors)

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` is the inverse."""
        return {
            "factors": self.factors,
            "item_biases": self.item_biases,
            "centre": np.array([self.centre]),
            "regularization": np.array([self.regularization, self.bias_regularization]),
        }

    @cached_property
    def kernel_arguments(self) -> tuple[Array, Array, Array]:
        """The rows (A_i, 1), the terms μ₀ + c_i, and the diagonal matrix of the penalties."""
        rank = self.factors.shape[1]
        penalties = [self.regularization] * rank + [self.bias_regularization]
        rows = np.hstack([self.factors, np.ones((self.n_items, 1))])
        return rows, self.centre + self.item_biases, np.diag(penalties)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "BiasedModel":
        """Return the model that :meth:`arrays` describes."""
        names = "factors", "item_biases", "centre", "regularization"
        factors, item_biases, (centre,), (regularization, bias_regularization) = (
            arrays[name].astype(np.float64) for name in names
        )
        return cls(
            factors, item_biases, float(centre), float(regularization), float(bias_regularization)
        )


@dataclass(frozen=True, slots=True, eq=False)
class BiasedEvaluation:
    """The cost of one agent's users at a model, and its derivatives.

    Attributes
    ----------
    cost : float
        f(A, c), without the regularisation of the items.
    factor_gradient : array of shape (n_items, rank)
        The gradient with respect to A.
    bias_gradient : array of shape (n_items,)
        The gradient with respect to c.
    gram : array of shape (rank, rank)
        WᵀW.
    squared_error : float
        The sum of squared residuals at the known entries.
    """

    cost: float
    factor_gradient: Array
    bias_gradient: Array
    gram: Array
    squared_error: float


@dataclass(frozen=True)
class BiasedCompletionProblem:
    """Matrix completion with biases (:class:`BiasedModel`) from the ratings of one agent's users.

    Parameters
    ----------
    ratings : Ratings
        The known entries.
    threads : int
        Number of blocks of users processed in parallel. It does not affect the bits of a result.

    Examples
    --------
    >>> import grassvine as gv
    >>> ratings = gv.Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5.0, 3.0, 4.0])
    >>> problem = gv.BiasedCompletionProblem(ratings)
    >>> problem.n_items, problem.n_values
    (2, 3)
    """

    ratings: Ratings
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("threads", self.threads, least=1, error=DataError)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.ratings.n_items

    @property
    def n_values(self) -> int:
        """The number of ratings."""
        return self.ratings.n_values

    def hold_out(self, share: float, seed: int) -> "tuple[BiasedCompletionProblem, Ratings]":
        """Return the problem without a random share of its entries, and those entries."""
        rest, held = hold_out_of_users(self.ratings, share, seed)
        return BiasedCompletionProblem(rest, self.threads), held

    def evaluate(self, model: BiasedModel) -> BiasedEvaluation:
        """Return cost, gradients and Gram matrix in one pass over the ratings."""
        rank = model.factors.shape[1]
        shapes = (self.n_items, rank + 1), (rank, rank), (2,)
        gradient, gram, totals = self._sum_over_users(_kernels().evaluate_users, model, (), shapes)
        return BiasedEvaluation(
            cost=float(totals[0]),
            factor_gradient=np.ascontiguousarray(gradient[:, :rank]),
            bias_gradient=np.ascontiguousarray(gradient[:, rank]),
            gram=gram,
            squared_error=float(totals[1]),
        )

    def solve(self, model: BiasedModel, watch: Watch | None = None) -> tuple[Array, Array]:
        """Return the users' weights (users×rank) and biases; zero for a user without ratings.

        ``watch`` is called with the completed fraction as it grows.
        """
        solutions = np.zeros((self.ratings.n_users, model.factors.shape[1] + 1))
        self._sum_over_users(_kernels().solve_users, model, (solutions,), (), watch)
        return np.ascontiguousarray(solutions[:, :-1]), np.ascontiguousarray(solutions[:, -1])

    def predict(self, model: BiasedModel, entries: Ratings) -> Array:
        """Return μ₀ + c_i + a_j + A_i·w_j at entries of this agent's users."""
        if (entries.n_users, entries.n_items) != (self.ratings.n_users, self.n_items):
            raise DataError(
                f"the entries belong to {entries.n_users} users and {entries.n_items} items, the "
                f"problem has {self.ratings.n_users} and {self.n_items}; pass entries of the same "
                "table."
            )
        weights, biases = self.solve(model)
        users, items = entries.users_of_values(), entries.items
        products = np.einsum("kr,kr->k", model.factors[items], weights[users])
        return model.centre + model.item_biases[items] + biases[users] + products

    @cached_property
    def _blocks(self) -> list[Block]:
        return user_blocks(self.ratings)

    def _sum_over_users(
        self,
        kernel: Callable[..., None],
        model: BiasedModel,
        arguments: tuple[Array, ...],
        shapes: tuple[tuple[int, ...], ...],
        watch: Watch | None = None,
    ) -> list[Array]:
        """Run a kernel over all blocks and add the arrays that it fills."""
        if model.n_items != self.n_items:
            raise BasisError(
                f"the model has {model.n_items} items and the ratings have {self.n_items}; "
                "pass a model of the same items."
            )

        def run(users: Block, sums: list[Array]) -> None:
            table = entries_of_block(self.ratings, users)
            kernel(*users, *table, *model.kernel_arguments, *arguments, *sums)

        return add_blocks(run, self._blocks, shapes, self.threads, watch)


def as_biased_problem(problem: Problem) -> BiasedCompletionProblem:
    """Return a problem of this kind; another one is refused."""
    return as_problem_of(BiasedCompletionProblem, problem, "fits biases and factors", "ratings")


def _kernels() -> ModuleType:
    # Importing numba takes most of a second; only fits of ratings need it.
    from grassvine.sums.biased import _kernels

    return _kernels
