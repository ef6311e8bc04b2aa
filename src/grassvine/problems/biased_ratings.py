r"""Ratings with offsets: what a user gives an item is a common level, two biases and a product.

.. math::

    f(A, c) = Σ_j \min_{w, a} ½Σ_i (μ₀ + c_i + a + A_i·w − y_{ij})² + ½μ‖w‖² + ½μ_b a²

over the known entries of each user j. The item factors A (items×rank, not orthonormal: their length
counts) and item offsets c are what agents share; weights w_j and bias a_j of a user are eliminated
exactly and stay. With e_ij the residual of the solution, the envelope theorem gives the gradient
Σ_j e_ij w_j by A_i and Σ_j e_ij by c_i. The penalties of the items, ½μ‖A‖² + ½μ_b‖c‖², belong to
nobody's users; who adds up the users' parts adds them once.

At full rank, minimising over the scale of A and W makes μ‖A‖²/2 + μ‖W‖²/2 the nuclear norm of AWᵀ,
times μ: so μ has the unit of the ratings, and μ_b has none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number, whole_number
from grassvine.problems.blocks import Block, add_blocks, user_blocks


@dataclass(frozen=True, slots=True, eq=False)
class BiasedRatingsEvaluation:
    """All that one solution for the users reveals.

    Attributes
    ----------
    cost : float
        f(A, c): data and penalties of the users, without those of the items.
    factor_gradient : items×rank array
        Its gradient by A.
    bias_gradient : array, one an item
        Its gradient by c.
    gram : rank×rank array
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
class BiasedRatings:
    """The ratings of one agent's users.

    Parameters
    ----------
    ratings : Ratings
        The known entries.
    regularization : float
        μ > 0: how strongly factors and weights are pulled to 0.
    bias_regularization : float
        μ_b > 0: how strongly offsets and biases are pulled to 0.
    threads : int
        How many blocks of users are worked on at once. The bits of a result do not depend on it.
    """

    ratings: Ratings
    regularization: float
    bias_regularization: float
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        for name in ("regularization", "bias_regularization"):
            if real_number(name, getattr(self, name), least=0.0, error=DataError) == 0.0:
                raise DataError(
                    f"{name} is 0, and a user with few ratings would have no one solution; "
                    "choose a positive number."
                )
        whole_number("threads", self.threads, least=1, error=DataError)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.ratings.n_items

    @property
    def n_values(self) -> int:
        """The number of ratings."""
        return self.ratings.n_values

    def evaluate(
        self, factors: Array, item_biases: Array, centre: float
    ) -> BiasedRatingsEvaluation:
        """Return cost, gradients and Gram matrix in one pass over the ratings."""
        rows, common = self._arguments(factors, item_biases, centre)
        rank = rows.shape[1] - 1
        gradient, gram, totals = self._sum_over_users(
            _kernels().evaluate_users, rows, common, (), (rows.shape, (rank, rank), (2,))
        )
        return BiasedRatingsEvaluation(
            cost=float(totals[0]),
            factor_gradient=np.ascontiguousarray(gradient[:, :rank]),
            bias_gradient=np.ascontiguousarray(gradient[:, rank]),
            gram=gram,
            squared_error=float(totals[1]),
        )

    def solve(self, factors: Array, item_biases: Array, centre: float) -> tuple[Array, Array]:
        """Return weights (users×rank) and biases of the users; zero for one without ratings."""
        rows, common = self._arguments(factors, item_biases, centre)
        solutions = np.zeros((self.ratings.n_users, rows.shape[1]))
        self._sum_over_users(_kernels().solve_users, rows, common, (solutions,), ())
        return np.ascontiguousarray(solutions[:, :-1]), np.ascontiguousarray(solutions[:, -1])

    def predict(
        self, factors: Array, item_biases: Array, centre: float, users: ArrayLike, items: ArrayLike
    ) -> Array:
        """Return μ₀ + c_i + a_j + A_i·w_j for pairs of a user j of this agent and an item i."""
        user = _within("user", users, self.ratings.n_users)
        item = _within("item", items, self.n_items)
        if user.shape != item.shape:
            raise DataError(
                f"there are {user.size} users and {item.size} items; give one of each per pair."
            )
        weights, biases = self.solve(factors, item_biases, centre)
        products = np.einsum("kr,kr->k", factors[item], weights[user])
        return centre + item_biases[item] + biases[user] + products

    def _arguments(self, factors: Array, item_biases: Array, centre: float) -> tuple[Array, Array]:
        """Return the rows (A_i, 1) and what is common to all users, μ₀ + c_i."""
        factors = as_matrix(factors, n_items=self.n_items, name="factors")
        item_biases = as_numbers(item_biases, name="item_biases", error=BasisError)
        if item_biases.shape != (self.n_items,) or not np.isfinite(item_biases).all():
            raise BasisError(
                f"item_biases have shape {item_biases.shape} or are not all finite; "
                f"give {self.n_items} finite numbers, one an item."
            )
        real_number("centre", centre, error=BasisError)
        return np.hstack([factors, np.ones((self.n_items, 1))]), centre + item_biases

    @cached_property
    def _blocks(self) -> list[Block]:
        return user_blocks(self.ratings)

    def _sum_over_users(
        self,
        kernel: Callable[..., None],
        rows: Array,
        common: Array,
        arguments: tuple[Array, ...],
        shapes: tuple[tuple[int, ...], ...],
    ) -> list[Array]:
        """Run a kernel over all blocks and add up the sums that it makes."""
        table = (self.ratings.starts, self.ratings.items, self.ratings.values)
        alpha = np.diag([self.regularization] * (rows.shape[1] - 1) + [self.bias_regularization])

        def run(users: Block, sums: list[Array]) -> None:
            kernel(*users, *table, rows, common, alpha, *arguments, *sums)

        return add_blocks(run, self._blocks, shapes, self.threads)


def _within(axis: str, given: ArrayLike, count: int) -> Indices:
    numbers = np.asarray(given)
    if numbers.ndim != 1 or not (numbers.size == 0 or np.issubdtype(numbers.dtype, np.integer)):
        raise DataError(f"the {axis} numbers are no list of whole numbers; give a 1-d array.")
    numbers = numbers.astype(np.int64)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        raise DataError(f"a {axis} number is out of range; they run from 0 to {count - 1}.")
    return numbers


def _kernels() -> ModuleType:
    # numba takes most of a second to import; only those who fit ratings pay for it.
    from grassvine.problems import _biased_kernels

    return _biased_kernels
