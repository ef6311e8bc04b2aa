"""The Bayesian model of ratings: the problem of one agent, whose users are integrated out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.data.split import hold_out_of_users
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch
from grassvine.problems.base import Problem, as_problem_of
from grassvine.problems.blocks import Block, add_blocks, entries_of_block, user_blocks
from grassvine.sums.bayes.model import BayesianModel


@dataclass(frozen=True, slots=True, eq=False)
class BayesianEvaluation:
    """Sums over one agent's users at a model, from their posteriors.

    Attributes
    ----------
    sums : tuple of arrays
        What is added over all agents:

        - σ² times the derivative of the cost with respect to A, n_items×rank;
        - n_items×3: σ² times the derivative with respect to c; Στ; and the expected squared error
          Στ E[e²], which leaves κ out;
        - Σ τ E[uuᵀ], Σ E[(u − h)(u − h)ᵀ], FᵀF and Fᵀu, all of rank + 1;
        - the part of the cost, Σ τκ E[e²], and the number of users with ratings.
    squared_error : float
        The sum of squared residuals at the known entries, on the scale of the ratings; not sent.
    """

    sums: tuple[Array, ...]
    squared_error: float

    @property
    def cost(self) -> float:
        """The part of the cost."""
        return float(self.sums[-1][0])


@dataclass(frozen=True)
class BayesianCompletionProblem:
    """Matrix completion by :class:`BayesianModel` from the ratings of one agent's users.

    Parameters
    ----------
    ratings : Ratings
        The known entries.
    threads : int
        Number of blocks of users processed in parallel. It does not affect the bits of a result.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.sums import BayesianCompletionProblem
    >>> ratings = gv.Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5.0, 3.0, 4.0])
    >>> problem = BayesianCompletionProblem(ratings)
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

    def hold_out(self, share: float, seed: int) -> "tuple[BayesianCompletionProblem, Ratings]":
        """Return the problem without a random share of its entries, and those entries."""
        rest, held = hold_out_of_users(self.ratings, share, seed)
        return BayesianCompletionProblem(rest, self.threads), held

    def evaluate(self, model: BayesianModel) -> BayesianEvaluation:
        """Return the sums over the users of a pass over the ratings."""
        rank = model.rank
        shapes = (
            (self.n_items, rank),
            (self.n_items, 3),
            (rank + 1, rank + 1),
            (rank + 1, rank + 1),
            (rank + 1, rank + 1),
            (rank + 1, rank + 1),
            (4,),
        )
        factors, items, second, deviations, gram, product, totals = self._sum_over_users(
            _kernels().evaluate_users, model, (), shapes
        )
        sums = factors, items, second, deviations, gram, product, totals[:3]
        return BayesianEvaluation(sums, float(totals[3]) * model.scale**2)

    def solve(self, model: BayesianModel, watch: Watch | None = None) -> Array:
        """Return the posterior means of the users (users×(rank + 1)); zero without ratings.

        ``watch`` is called with the completed fraction as it grows.
        """
        means = np.zeros((self.ratings.n_users, model.rank + 1))
        self._sum_over_users(_kernels().solve_users, model, (means,), (), watch)
        return means

    def predict(self, model: BayesianModel, entries: Ratings) -> Array:
        """Return the means of the predictions of entries of this agent's users."""
        if (entries.n_users, entries.n_items) != (self.ratings.n_users, self.n_items):
            raise DataError(
                f"the entries belong to {entries.n_users} users and {entries.n_items} items, the "
                f"problem has {self.ratings.n_users} and {self.n_items}; pass entries of the same "
                "table."
            )
        means, users, items = self.solve(model), entries.users_of_values(), entries.items
        means[np.diff(self.ratings.starts) == 0] = model.mean_user
        found = model.item_biases[items] + means[users, -1]
        for of_item, of_user in zip(model.factors.T, means.T, strict=False):
            found += of_item[items] * of_user[users]
        return model.centre + model.scale * found

    def variances(
        self,
        model: BayesianModel,
        users: Indices,
        items: NDArray[np.integer],
        watch: Watch | None = None,
    ) -> Array:
        """Return the variance of the prediction of each pair of a user and an item, by number.

        It is that of a new rating: of the noise, and of what is not known of user and item. The
        number −1 stands for any item that is not in the table.
        """
        return self.variances_and_noise(model, users, items, watch)[0]

    def variances_and_noise(
        self,
        model: BayesianModel,
        users: Indices,
        items: NDArray[np.integer],
        watch: Watch | None = None,
    ) -> tuple[Array, Array]:
        """Return the same, and σ²/τ of each user who has a pair."""
        if self.ratings.n_users == 1:
            order, starts = np.arange(len(users)), np.array([0, len(users)])
        else:
            order = np.argsort(users, kind="stable")
            starts = np.searchsorted(users[order], np.arange(self.ratings.n_users + 1))
        places = np.where(items < 0, self.n_items, items).astype(np.int64)[order]
        found, noises = np.zeros(len(users)), np.zeros(self.ratings.n_users)
        arguments = (model.mean_user, starts, places, found, noises)
        self._sum_over_users(_kernels().variances_of_users, model, arguments, (), watch)
        variances = np.empty(len(users))
        variances[order] = model.scale**2 * found
        return variances, noises

    @cached_property
    def _blocks(self) -> list[Block]:
        return user_blocks(self.ratings)

    def _sum_over_users(
        self,
        kernel: Callable[..., None],
        model: BayesianModel,
        arguments: tuple[NDArray[Any], ...],
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
            starts, items, values = entries_of_block(self.ratings, users)
            values = (values - model.centre) / model.scale
            kernel(*users, starts, items, values, *model.kernel_arguments, *arguments, *sums)

        return add_blocks(run, self._blocks, shapes, self.threads, watch)


def as_bayesian_problem(problem: Problem) -> BayesianCompletionProblem:
    """Return a problem of this kind; another one is refused."""
    return as_problem_of(
        BayesianCompletionProblem, problem, "fits a Bayesian model of ratings", "ratings"
    )


def _kernels() -> ModuleType:
    # Importing numba takes most of a second; only fits of ratings need it.
    from grassvine.sums.bayes import _kernels

    return _kernels
