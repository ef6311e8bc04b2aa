r"""Matrix completion: fit known entries of an items×users table by UWᵀ.

.. math::

    f(U) = \min_W ½‖P_Ω(UWᵀ − Y)‖² + ½λ‖UWᵀ − P_Ω(UWᵀ)‖² + ½μ‖UWᵀ‖²

λ (``unobserved``) weights the unknown entries, μ (``tikhonov``) all entries. The inner problem
separates over users: with A_j = Σ u uᵀ and b_j = Σ y u over the rows u of U at the items of user j,

.. math::

    S_j w_j = b_j, \quad S_j = (1−λ)A_j + (λ+μ)UᵀU

and by the envelope theorem the Euclidean gradient is
((1−λ)P_Ω(UWᵀ) − P_Ω(Y))W + (λ+μ)U WᵀW. At λ = μ = 0 the system of a user with fewer entries
than the rank is singular; 1e-13·tr(A_j) on its diagonal then selects nearly the minimum-norm
solution.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import real_number, whole_number
from grassvine.foundations.watch import Watch
from grassvine.problems.base import Evaluation, as_argument
from grassvine.problems.blocks import Block, add_blocks, entries_of_block, user_blocks


@dataclass(frozen=True)
class CompletionProblem:
    """Matrix completion from the ratings of one agent's users.

    Parameters
    ----------
    ratings : Ratings
        Known entries.
    unobserved : float, default=0.0
        λ in [0, 1): strength with which predictions at unknown entries are shrunk towards 0.
    tikhonov : float, default=0.0
        μ ≥ 0: strength with which all predictions are shrunk towards 0.
    threads : int, default=1
        Number of blocks of users processed in parallel. It does not affect the bits of a result.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0)
    >>> problem = gv.CompletionProblem(data.ratings)
    >>> bool(problem.evaluate(data.subspace).cost < 1e-6)  # nothing but the noise
    True
    """

    ratings: Ratings
    unobserved: float = 0.0
    tikhonov: float = 0.0
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("unobserved", self.unobserved, least=0.0, below=1.0, error=DataError)
        real_number("tikhonov", self.tikhonov, least=0.0, error=DataError)
        whole_number("threads", self.threads, least=1, error=DataError)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.ratings.n_items

    @property
    def n_values(self) -> int:
        """The number of ratings."""
        return self.ratings.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Return cost, gradient and Gram matrices in one pass over the ratings."""
        basis = as_argument(self, basis)
        rank = basis.shape[1]
        gradient, energies, gram, totals = self._sum_over_users(
            _kernels().evaluate_users, basis, (), (basis.shape, (self.n_items,), (rank, rank), (3,))
        )
        if self.alpha:
            gradient += self.alpha * (basis @ gram)
        return Evaluation(
            cost=float(totals[0]),
            gradient=gradient,
            gram=gram,
            curvature=gram,
            item_scales=self._item_scales(rank, energies, float(totals[2])),
            squared_error=float(totals[1]),
        )

    def weights(self, basis: Array, watch: Watch | None = None) -> Array:
        """Return the users' weights W, users×rank; zero for a user without ratings.

        ``watch`` is called with the completed fraction as it grows.
        """
        basis = as_argument(self, basis)
        weights = np.zeros((self.ratings.n_users, basis.shape[1]))
        self._sum_over_users(_kernels().solve_users, basis, (weights,), (), watch)
        return weights

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return the derivative of the Euclidean gradient along a direction."""
        basis = as_argument(self, basis)
        direction = as_argument(self, direction, "direction")
        rank = basis.shape[1]
        cross = direction.T @ basis
        product, gram, gram_change = self._sum_over_users(
            _kernels().hessian_users,
            basis,
            (direction, self.alpha * (cross + cross.T)),
            (basis.shape, (rank, rank), (rank, rank)),
        )
        if self.alpha:
            product += self.alpha * (direction @ gram + basis @ gram_change)
        return product

    def residuals(self, basis: Array, entries: Ratings | None = None) -> Array:
        """Return the residuals y − u·w, in the order of the ratings.

        If ``entries`` are given, return the residuals at these entries of the same users instead.
        """
        basis, weights = as_argument(self, basis), self.weights(basis)
        entries = entries or self.ratings
        users, items = entries.users_of_values(), entries.items
        residuals = entries.values.copy()
        for of_item, of_user in zip(basis.T, weights.T, strict=True):
            residuals -= of_item[items] * of_user[users]
        return residuals

    @property
    def alpha(self) -> float:
        """λ + μ, the weight on all entries."""
        return self.unobserved + self.tikhonov

    def with_ratings(
        self, ratings: Ratings, *, unobserved: float | None = None
    ) -> "CompletionProblem":
        """Return the same problem with other entries and, if given, another λ."""
        lam = self.unobserved if unobserved is None else unobserved
        return CompletionProblem(ratings, lam, self.tikhonov, self.threads)

    def hessian_statistics(self) -> tuple[Array, float]:
        """Return the number of ratings of each item, and the number of users."""
        counts = self.ratings.item_counts()
        return counts.astype(np.float64), float(self.ratings.n_users)

    def item_blocks(self, basis: Array) -> Array:
        """Return the item blocks of the Hessian, with users eliminated and residuals neglected.

        Row i is the lower triangle of Σ_j (1−λ)(1 − (1−λ)u_iᵀS_j⁻¹u_i) w_jw_jᵀ over its users.
        """
        basis = as_argument(self, basis)
        rank = basis.shape[1]
        shape = (self.n_items, rank * (rank + 1) // 2)
        return self._sum_over_users(_kernels().block_users, basis, (), (shape,))[0]

    def _item_scales(self, rank: int, energies: Array, total: float) -> Array:
        """Return the item scales s, by which WᵀW approximates the Hessian at each item.

        With W fixed, the Hessian at item i is Σ w_j w_jᵀ over its c_i users. This is about
        s_i·WᵀW, where s_i is their share of the energy of all users, and in some direction larger
        by (1 + √(r/c_i))². An unrated item counts as rated once, so that rounding does not move
        its row.
        """
        rated = energies > 0.0
        shares = np.where(rated, energies / (total or 1.0), 1.0 / self.ratings.n_users)
        spread = (1.0 + np.sqrt(rank / self._item_counts)) ** 2
        return (1.0 - self.unobserved) * shares * spread + self.alpha

    @cached_property
    def _item_counts(self) -> Array:
        counts = self.ratings.item_counts()
        return np.maximum(counts, 1).astype(np.float64)

    @cached_property
    def _blocks(self) -> list[Block]:
        return user_blocks(self.ratings)

    def _sum_over_users(
        self,
        kernel: Callable[..., None],
        basis: Array,
        arguments: tuple[Array, ...],
        shapes: tuple[tuple[int, ...], ...],
        watch: Watch | None = None,
    ) -> list[Array]:
        """Run a kernel over all blocks and add up its sums."""
        ridge = self.alpha * (basis.T @ basis)

        def run(users: Block, sums: list[Array]) -> None:
            table = entries_of_block(self.ratings, users)
            kernel(*users, *table, basis, self.unobserved, ridge, *arguments, *sums)

        return add_blocks(run, self._blocks, shapes, self.threads, watch)


def _kernels() -> ModuleType:
    # Imported on first use: numba takes most of a second to import.
    from grassvine.problems import _kernels

    return _kernels
