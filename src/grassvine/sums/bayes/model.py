r"""The shared part of the Bayesian model of ratings, on which all agents agree.

Ratings are standardised by the mean and standard deviation of all of them. With m items, r factors
and :math:`X_i = (A_i, 1)`, the rating of item i by user j is

.. math::

    y_{ij} = c_i + X_i·u_j + e_{ij}, \qquad u_j = (w_j, a_j) ∼ N(F_j K, S), \qquad
    \operatorname{var} e_{ij} = \frac{σ²}{τ_j κ_i}

where :math:`F_j = (\bar A_j, 1)` tells which items the user chose to rate: :math:`\bar A_j` is the
mean of their factors, less that over all ratings, and shrunk where they are few. The posterior of
the factors and of the bias of an item is normal with mean :math:`A_i, c_i` and independent
variances :math:`D_{ik}, d_i`, which follow from those of their prior, T and t, and from the
precision of the item's ratings, :math:`κ_i Σ_j τ_j`.

A user's posterior is a function of this model and of the user's own ratings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import BasisError
from grassvine.foundations.options import real_number

# Pseudo-counts of the gamma priors of τ and κ, whose mean is 1.
PRECISION_COUNT = 60.0
# Ratings of average items, added to those of a user before their mean tells what the user likes:
# without them, the choice of a single item would say more than the rating.
CHOICE_COUNT = 60.0


@dataclass(frozen=True, eq=False)
class BayesianModel:
    """The shared part of the model; the users are a function of it and of their ratings.

    Parameters
    ----------
    factors : array of shape (n_items, rank)
        A, posterior means. Rank 0 is the model of the biases alone.
    item_biases : array of shape (n_items,)
        c, posterior means, of standardised ratings.
    centre, scale : float
        Mean and standard deviation of all ratings.
    noise : float
        σ² > 0, relative to the variance of all ratings.
    factor_variances : array of shape (rank,)
        T, of the prior of the items' factors.
    bias_variance : float
        t, of the prior of the items' biases.
    item_precisions : array of shape (n_items,)
        κ, relative precision of the ratings of each item.
    item_weights : array of shape (n_items,)
        Στ_j over the users who rated each item; 0 for an item without ratings.
    user_covariance : array of shape (rank + 1, rank + 1)
        S, of the prior of the users.
    user_coefficients : array of shape (rank + 1, rank + 1)
        K.
    mean_factors : array of shape (rank,)
        Ā, the mean of A over all ratings.
    mean_user : array of shape (rank + 1,)
        The mean of the posterior means of all users: what is expected of one without ratings.
    new_item : array of shape (rank + 1,)
        What is expected of the factors and the bias of an item without ratings.
    interval_scale : float, default=1.0
        By how much intervals are wider than the posterior says, as held-out ratings showed.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.sums import BayesianCompletionProblem, BayesianFactorization, BayesianModel
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> plan = gv.Plan(30, 2, gv.networks.complete(1), BayesianFactorization(max_iter=3))
    >>> result = gv.run(plan, [BayesianCompletionProblem(data.ratings)])
    >>> model = BayesianModel.from_arrays(result.states[0])
    >>> model.factors.shape, model.user_covariance.shape
    ((30, 2), (3, 3))
    """

    factors: Array
    item_biases: Array
    centre: float
    scale: float
    noise: float
    factor_variances: Array
    bias_variance: float
    item_precisions: Array
    item_weights: Array
    user_covariance: Array
    user_coefficients: Array
    mean_factors: Array
    mean_user: Array
    new_item: Array
    interval_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check shapes and signs."""
        n_items, rank = np.shape(self.factors)
        shapes = {
            "factors": (n_items, rank),
            "item_biases": (n_items,),
            "factor_variances": (rank,),
            "item_precisions": (n_items,),
            "item_weights": (n_items,),
            "user_covariance": (rank + 1, rank + 1),
            "user_coefficients": (rank + 1, rank + 1),
            "mean_factors": (rank,),
            "mean_user": (rank + 1,),
            "new_item": (rank + 1,),
        }
        for name, shape in shapes.items():
            numbers = as_numbers(getattr(self, name), name=name, error=BasisError)
            if numbers.shape != shape or not np.isfinite(numbers).all():
                raise BasisError(
                    f"{name} has shape {numbers.shape} or is not finite; pass finite numbers of "
                    f"shape {shape}."
                )
            object.__setattr__(self, name, np.ascontiguousarray(numbers))
        for name in ("centre", "scale", "noise", "bias_variance", "interval_scale"):
            number = real_number(name, getattr(self, name), error=BasisError)
            if number <= 0.0 and name != "centre":
                raise BasisError(f"{name} is {number:g}; pass a positive number.")
        for name, least in (("factor_variances", 0.0), ("item_precisions", 0.0)):
            if (getattr(self, name) <= least).any():
                raise BasisError(f"{name} has numbers that are not positive; pass positive ones.")
        if (self.item_weights < 0.0).any():
            raise BasisError("item_weights has negative numbers; pass numbers of at least 0.")
        try:
            np.linalg.cholesky(self.user_covariance)
        except np.linalg.LinAlgError:
            raise BasisError(
                "user_covariance is not positive definite; pass a covariance matrix."
            ) from None

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.factors)

    @property
    def rank(self) -> int:
        """The number of factors."""
        return self.factors.shape[1]

    @cached_property
    def posterior_variances(self) -> tuple[Array, Array]:
        """The variances of the items' factors (n_items×rank) and biases: D and d."""
        weights = self.item_precisions * self.item_weights
        of_factors = self.noise / (weights[:, None] + self.noise / self.factor_variances)
        of_biases = self.noise / (weights + self.noise / self.bias_variance)
        return of_factors, of_biases

    @cached_property
    def kernel_arguments(self) -> tuple[Any, ...]:
        """What the kernels need of the model.

        Per item, and last for a new one, the rows √κ(A, 1, c) and κ(D, d); then M = σ²S⁻¹, its log
        determinant, K, Ā, its shrinkage, σ² and ν.
        """
        factor_variances, bias_variances = self.posterior_variances
        points = np.vstack([np.column_stack([self.factors, self.item_biases]), self.new_item])
        spread = np.column_stack([factor_variances, bias_variances])
        spread = np.vstack([spread, np.append(self.factor_variances, self.bias_variance)])
        precisions = np.append(self.item_precisions, 1.0)[:, None]
        rows = np.sqrt(precisions) * np.insert(points, self.rank, 1.0, axis=1)
        spread *= precisions
        ridge = self.noise * np.linalg.inv(self.user_covariance)
        ridge = 0.5 * (ridge + ridge.T)
        return (
            np.ascontiguousarray(rows),
            np.ascontiguousarray(spread),
            np.ascontiguousarray(ridge),
            float(np.linalg.slogdet(ridge)[1]),
            self.user_coefficients,
            self.mean_factors,
            CHOICE_COUNT,
            self.noise,
            PRECISION_COUNT,
        )

    @cached_property
    def _item_terms(self) -> tuple[Array, Array]:
        """κd and κ of each item."""
        rows, spread = self.kernel_arguments[:2]
        return spread[:-1, self.rank].copy(), rows[:-1, self.rank] ** 2

    def least_variances(self, noise: float) -> Array:
        """Return what the variance of a prediction of each item is at least, given σ²/τ of a user.

        It is that of the noise and of the item's bias, without what is not known of factors.
        """
        of_biases, precisions = self._item_terms
        least: Array = self.scale**2 * (of_biases + noise) / precisions
        return least

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` is the inverse."""
        return {one.name: np.asarray(getattr(self, one.name), float) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "BayesianModel":
        """Return the model that :meth:`arrays` describes."""
        given: dict[str, Any] = {}
        for one in fields(cls):
            array = arrays[one.name].astype(np.float64)
            given[one.name] = array if array.ndim else float(array)
        return cls(**given)
