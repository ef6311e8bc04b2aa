"""The two parts of a ratings model: the shared item part and the private user part.

The model predicts the rating of item i by user j as

    μ₀ + c_i + a_j + A_i·w_j

with centre μ₀, item biases c and factors A (shared), weights w_j and bias a_j (private). In the
paper's formulation A is an orthonormal basis and the biases are zero. The private part of a user is
a function of the shared part and the user's own ratings, in a fit and for new users alike.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices, as_basis, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
from grassvine.foundations.watch import Watch
from grassvine.problems.completion import CompletionProblem
from grassvine.sums.biased.problem import BiasedCompletionProblem, BiasedModel


@dataclass(frozen=True, slots=True)
class BiasedSolver:
    """Solves users with regularisation μ on weights and μ_b on biases; both positive."""

    regularization: float
    bias_regularization: float

    def solve(
        self, shared: "ItemPart", ratings: Ratings, watch: Watch | None = None
    ) -> tuple[Array, Array]:
        """Return weights and biases of the users."""
        return BiasedCompletionProblem(ratings).solve(self.model(shared), watch)

    def model(self, shared: "ItemPart") -> BiasedModel:
        """Return the model that users are solved with."""
        return BiasedModel(
            shared.factors,
            shared.item_biases,
            shared.centre,
            self.regularization,
            self.bias_regularization,
        )


@dataclass(frozen=True, slots=True)
class SubspaceSolver:
    """Solves users as in the paper: λ in [0, 1) on unknown entries, μ ≥ 0 on all."""

    unobserved: float = 0.0
    tikhonov: float = 0.0

    def solve(
        self, shared: "ItemPart", ratings: Ratings, watch: Watch | None = None
    ) -> tuple[Array, Array]:
        """Return weights of the users, and no biases."""
        centred = ratings.shifted(-shared.centre)
        problem = CompletionProblem(centred, self.unobserved, self.tikhonov)
        return problem.weights(shared.factors, watch), np.zeros(ratings.n_users)


UserSolver: TypeAlias = BiasedSolver | SubspaceSolver


@dataclass(frozen=True, slots=True, eq=False)
class ItemPart:
    """The shared part: it contains nothing of a single user and may be passed on.

    Parameters
    ----------
    items : Ids
        The catalogue.
    factors : array of shape (n_items, rank)
        A; an orthonormal basis in the paper's formulation.
    item_biases : array of shape (n_items,)
        c; zeros in the paper's formulation.
    centre : float
        μ₀.
    solver : BiasedSolver or SubspaceSolver
        How users are solved from their ratings.
    lowest, highest : float
        The range of the ratings, to which predictions are clipped.
    counts : int array of shape (n_items,)
        The number of ratings per item. An item without ratings counts as unknown.
    """

    items: Ids
    factors: Array
    item_biases: Array
    centre: float
    solver: UserSolver
    lowest: float
    highest: float
    counts: Indices

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        n_items, paper = len(self.items), isinstance(self.solver, SubspaceSolver)
        if not n_items:
            raise BasisError("the model has no items; pass at least one.")
        factors = (
            as_basis(self.factors, n_items=n_items, name="factors")
            if paper
            else as_matrix(self.factors, n_items=n_items, name="factors", allow_empty=True)
        )
        item_biases = _vector("item_biases", self.item_biases, n_items)
        if paper and item_biases.any():
            raise BasisError("the paper's formulation has no item biases; pass zeros.")
        counts = np.asarray(self.counts)
        if counts.shape != (n_items,) or counts.dtype.kind != "i" or (counts < 0).any():
            raise BasisError(f"counts are not non-negative integers; pass {n_items}, one per item.")
        for name in ("centre", "lowest", "highest"):
            object.__setattr__(self, name, real_number(name, getattr(self, name), error=BasisError))
        if not self.lowest <= self.highest:
            raise BasisError(
                f"the lowest rating, {self.lowest:g}, is above the highest, {self.highest:g}; "
                "swap them."
            )
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "item_biases", item_biases)
        object.__setattr__(self, "counts", counts.astype(np.int64))
        self.solve(Ratings(n_items, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)))

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return self.factors.shape[1]

    def solve(self, ratings: Ratings, watch: Watch | None = None) -> tuple[Array, Array]:
        """Return weights (users×rank) and biases of users from their ratings of these items.

        ``watch`` is called with the completed fraction as it grows.
        """
        return self.solver.solve(self, ratings, watch)

    def users_from(self, users: Ids, ratings: Ratings, watch: Watch | None = None) -> "UserPart":
        """Solve users and keep them with their ratings."""
        return UserPart(users, *self.solve(ratings, watch), ratings)


@dataclass(frozen=True, slots=True, eq=False)
class UserPart:
    """The private part: weights, biases and ratings of single users."""

    users: Ids
    weights: Array
    biases: Array
    seen: Ratings

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        n_users = len(self.users)
        if not n_users:
            raise DataError("the private part has no users; omit it.")
        weights = as_matrix(self.weights, n_items=n_users, name="weights", allow_empty=True)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", _vector("biases", self.biases, n_users))
        if self.seen.n_users != n_users:
            raise DataError(
                f"got ratings of {self.seen.n_users} users and ids of {n_users}; "
                "pass one id per user."
            )

    @property
    def counts(self) -> Indices:
        """The number of ratings per user; a user without ratings counts as unknown."""
        return np.diff(self.seen.starts)


def _vector(name: str, given: Array, count: int) -> Array:
    numbers = as_numbers(given, name=name, error=BasisError)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise BasisError(
            f"{name} has shape {numbers.shape} or is not finite; pass {count} finite numbers."
        )
    return numbers
