"""The two parts of a ratings model: the shared item part and the private user part.

The model predicts the rating of item i by user j as

    μ₀ + c_i + a_j + A_i·w_j

with centre μ₀, item biases c and factors A (shared), weights w_j and bias a_j (private). In the
paper's formulation A is an orthonormal basis and the biases are zero. The private part of a user is
a function of the shared part and the user's own ratings, in a fit and for new users alike.
"""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices, as_basis, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
from grassvine.foundations.watch import Watch
from grassvine.models.ranking.best import ItemRows
from grassvine.problems.completion import CompletionProblem
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.bayes.problem import BayesianCompletionProblem
from grassvine.sums.biased.problem import BiasedCompletionProblem, BiasedModel


@dataclass(frozen=True, slots=True)
class BiasedSolver:
    """Solves users with regularisation μ on weights and μ_b on biases; both positive.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1, method="map", regularization=2.0).fit(ratings).model_
    >>> model.shared.solver.regularization
    2.0
    """

    regularization: float
    bias_regularization: float

    def facts(self) -> dict[str, float]:
        """Return the numbers that describe how users are solved."""
        return asdict(self)

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
    """Solves users as in the paper: λ in [0, 1) on unknown entries, μ ≥ 0 on all.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(20, 100, rank=2, oversampling=4.0).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> completer = gv.MatrixCompleter(rank=2, method="exact-subspace", regularization=0.01)
    >>> completer.fit(pl.DataFrame(table)).model_.shared.solver.unobserved
    0.01
    """

    unobserved: float = 0.0
    tikhonov: float = 0.0

    def facts(self) -> dict[str, float]:
        """Return the numbers that describe how users are solved."""
        return asdict(self)

    def solve(
        self, shared: "ItemPart", ratings: Ratings, watch: Watch | None = None
    ) -> tuple[Array, Array]:
        """Return weights of the users, and no biases."""
        centred = ratings.shifted(-shared.centre)
        problem = CompletionProblem(centred, self.unobserved, self.tikhonov)
        return problem.weights(shared.factors, watch), np.zeros(ratings.n_users)


@dataclass(frozen=True, slots=True, eq=False)
class BayesianSolver:
    """Computes the posteriors of users under a Bayesian model, on the scale of the ratings.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings).model_
    >>> sorted(model.shared.solver.facts())
    ['interval_scale', 'noise']
    """

    bayesian_model: BayesianModel

    def facts(self) -> dict[str, float]:
        """Return the standard deviation of the noise, and the scale of intervals."""
        model = self.bayesian_model
        noise = model.scale * math.sqrt(model.noise)
        return {"noise": noise, "interval_scale": model.interval_scale}

    def solve(
        self, shared: "ItemPart", ratings: Ratings, watch: Watch | None = None
    ) -> tuple[Array, Array]:
        """Return the posterior means of weights and biases of the users."""
        model = self.bayesian_model
        means = model.scale * BayesianCompletionProblem(ratings).solve(model, watch)
        return np.ascontiguousarray(means[:, :-1]), np.ascontiguousarray(means[:, -1])

    def deviations(
        self, ratings: Ratings, users: Indices, items: Indices, watch: Watch | None = None
    ) -> Array:
        """Return the standard deviation of the prediction of each pair of numbers.

        They are those of the posterior, scaled as the held-out ratings say. A user without ratings,
        and the item −1, stand for any that is not known.
        """
        problem, model = BayesianCompletionProblem(ratings), self.bayesian_model
        variances = problem.variances(model, users, items, watch)
        return model.interval_scale * np.sqrt(variances)


UserSolver: TypeAlias = BiasedSolver | SubspaceSolver | BayesianSolver


@dataclass(frozen=True, eq=False)
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
    solver : BiasedSolver, SubspaceSolver or BayesianSolver
        How users are solved from their ratings.
    lowest, highest : float
        The range of the ratings, to which predictions are clipped.
    counts : int array of shape (n_items,)
        The number of ratings per item. An item without ratings counts as unknown.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> part = gv.MatrixCompleter(rank=1).fit(ratings).model_.shared
    >>> part.factors.shape, part.counts.tolist(), part.lowest
    ((2, 1), [2, 2], 2.0)
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
        if isinstance(self.solver, BayesianSolver):
            self._check_bayesian(self.solver.bayesian_model)
        self.solve(self.no_ratings)

    @classmethod
    def bayesian(
        cls, model: BayesianModel, items: Ids, lowest: float, highest: float, counts: Indices
    ) -> "ItemPart":
        """Return the item part of a Bayesian model."""
        biases, solver = model.scale * model.item_biases, BayesianSolver(model)
        return cls(items, model.factors, biases, model.centre, solver, lowest, highest, counts)

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return self.factors.shape[1]

    @cached_property
    def rows(self) -> ItemRows:
        """The rows (A_i, c_i)."""
        return ItemRows(np.column_stack([self.factors, self.item_biases]))

    def clipped(self, ratings: Array) -> Array:
        """Return predictions within the range of the ratings."""
        # Like numpy.clip, which takes three times as long for a few.
        return np.minimum(np.maximum(ratings, self.lowest), self.highest)

    @property
    def no_ratings(self) -> Ratings:
        """A table of these items without users."""
        nothing = np.empty(0, np.int32), np.empty(0)
        return Ratings(len(self.items), np.zeros(1, np.int64), *nothing)

    @property
    def unknown_user(self) -> tuple[Array, float]:
        """Weights and bias with which an unknown user is predicted."""
        if not isinstance(self.solver, BayesianSolver):
            return np.zeros(self.rank), 0.0
        model = self.solver.bayesian_model
        return model.scale * model.mean_user[:-1], model.scale * float(model.mean_user[-1])

    @property
    def unknown_item(self) -> tuple[Array, float]:
        """Factors and bias with which an item is predicted that is not in the catalogue."""
        if not isinstance(self.solver, BayesianSolver):
            return np.zeros(self.rank), 0.0
        model = self.solver.bayesian_model
        return model.new_item[:-1], model.scale * float(model.new_item[-1])

    @property
    def expects_unrated(self) -> bool:
        """Whether factors and biases of items without ratings mean anything."""
        return isinstance(self.solver, BayesianSolver)

    def solve(self, ratings: Ratings, watch: Watch | None = None) -> tuple[Array, Array]:
        """Return weights (users×rank) and biases of users from their ratings of these items.

        ``watch`` is called with the completed fraction as it grows.
        """
        return self.solver.solve(self, ratings, watch)

    def _check_bayesian(self, model: BayesianModel) -> None:
        equal = np.array_equal(self.factors, model.factors) and np.array_equal(
            self.item_biases, model.scale * model.item_biases
        )
        if not equal or self.centre != model.centre:
            raise BasisError(
                "factors, biases or centre are not those of the Bayesian model that users are "
                "solved with; pass ItemPart.bayesian(model, …)."
            )

    def users_from(self, users: Ids, ratings: Ratings, watch: Watch | None = None) -> "UserPart":
        """Solve users and keep them with their ratings."""
        return UserPart(users, *self.solve(ratings, watch), ratings)


@dataclass(frozen=True, slots=True, eq=False)
class UserPart:
    """The private part: weights, biases and ratings of single users.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> part = gv.MatrixCompleter(rank=1).fit(ratings).model_.private
    >>> part.users.series.to_list(), part.weights.shape
    ([1, 2], (2, 1))
    """

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
