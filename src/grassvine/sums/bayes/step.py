r"""One step of the fit: what everybody computes from the sums over all users.

The evidence lower bound is a sum over users, whose posteriors are functions of the shared model,
and terms of the items and of the prior. Given the sums, the variances, precisions and regressions
have closed forms, and the factors of the items move along the negative gradient, with momentum; the
length of the step of each number is about its own posterior variance.

The model does not change if the users' weights are multiplied by a matrix and the items' factors by
the transposed inverse. The *gauge* fixes it so that the second moment of the weights is the
identity and the covariance of the items' factors is diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.sums.bayes.features import RIDGE, ItemFeatures, TableStatistics
from grassvine.sums.bayes.model import PRECISION_COUNT, BayesianModel

MOMENTUM = 0.5
EVENING = 0.03  # how far the variances of the factors are drawn to their mean
STABLE = 2.0  # how far the curvature may exceed its mean before steps are shortened
LEAST_NOISE = 1e-4  # a table without noise would make the users' posteriors singular

# The first guesses of variances, relative to that of the ratings.
FIRST_NOISE, FIRST_BIAS_VARIANCE, FIRST_USER_BIAS_VARIANCE = 0.65, 0.3, 0.2
FIRST_COUNT = 5.0  # ratings at the mean, added to those of an item


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """The model, what is expected of its items from their features, and the last move.

    Attributes
    ----------
    model : BayesianModel
    expected : array of shape (n_items, rank + 1)
        (B, b), the prior means of factors and bias of each item.
    move : array of shape (n_items, rank + 1)
        The last change of (A, c).
    """

    model: BayesianModel
    expected: Array
    move: Array


def first_state(start: Array, table: TableStatistics) -> FitState:
    """Return the first model: small random factors from an orthonormal start, and item means."""
    n_items, rank = start.shape
    variances = np.full(rank, 1.0 / max(rank, 1))
    factors = np.sqrt(n_items * variances) * start
    covariance = np.eye(rank + 1)
    covariance[rank, rank] = FIRST_USER_BIAS_VARIANCE
    model = BayesianModel(
        factors=factors,
        item_biases=table.item_sums / (table.counts + FIRST_COUNT),
        centre=table.centre,
        scale=table.scale,
        noise=FIRST_NOISE,
        factor_variances=variances,
        bias_variance=FIRST_BIAS_VARIANCE,
        item_precisions=np.ones(n_items),
        item_weights=table.counts,
        user_covariance=covariance,
        user_coefficients=np.zeros((rank + 1, rank + 1)),
        mean_factors=table.counts @ factors / table.n_ratings,
        mean_user=np.zeros(rank + 1),
        new_item=np.zeros(rank + 1),
    )
    nothing = np.zeros((n_items, rank + 1))
    return FitState(model, nothing, nothing)


def cost(state: FitState, table: TableStatistics, users: float) -> float:
    """Return the negative lower bound, up to a constant; ``users`` is the sum over all users."""
    model, rated = state.model, table.counts > 0
    total = users + 0.5 * table.n_ratings * np.log(model.noise)
    away = (_points(model) - state.expected)[rated] ** 2
    spread, prior = _variances(model), _priors(model)
    ratio = (away + spread[rated]) / prior
    total += 0.5 * np.sum(ratio - np.log(spread[rated] / prior))
    kappa, counts = model.item_precisions[rated], table.counts[rated]
    total += 0.5 * np.sum(PRECISION_COUNT * kappa - (PRECISION_COUNT + counts) * np.log(kappa))
    return float(total)


def next_state(
    state: FitState,
    sums: Sequence[Array],
    table: TableStatistics,
    features: ItemFeatures,
    momentum: float,
) -> FitState:
    """Return the model after a step.

    Parameters
    ----------
    state : FitState
        The state that the sums belong to.
    sums : sequence of arrays
        ``BayesianEvaluation.sums``, over all agents.
    momentum : float
        The share of the last move that is repeated; 0 after the cost rose.
    """
    by_factors, of_items, second, deviations, gram, product, (_, expected_error, n_users) = sums
    model, rank = state.model, state.model.rank
    points, rated = _points(model), table.counts > 0
    n_users = max(float(n_users), 1.0)

    noise = max(float(expected_error) / table.n_ratings, LEAST_NOISE)
    own_errors = of_items[:, 2] / model.noise
    precisions = (PRECISION_COUNT + table.counts) / (PRECISION_COUNT + own_errors)
    *_, new_item = fitted = features.fitted(points)
    expected = fitted[:-1]
    away, spread = points - expected, _variances(model)
    bias_variance = float(np.mean(away[rated, rank] ** 2 + spread[rated, rank]))
    coefficients, mean_user = _user_regression(gram, product, n_users)
    weight_moment, item_moment = second[:rank, :rank] / n_users, away[rated, :rank]
    item_moment = item_moment.T @ item_moment + np.diag(spread[rated, :rank].sum(axis=0))
    change, variances = gauge(weight_moment, item_moment / max(int(rated.sum()), 1))
    back = np.linalg.inv(change).astype(np.float64)
    moving = _extended(change)  # of rows of items
    of_user = _extended(back).T  # of rows of users: J'
    coefficients = _extended(back) @ coefficients @ of_user
    covariance = of_user.T @ (deviations / n_users) @ of_user

    points, expected, move = points @ moving, expected @ moving, state.move @ moving
    gradient = np.column_stack([by_factors @ back.T, of_items[:, 0]])
    gradient *= (precisions / model.item_precisions)[:, None]  # as if summed with these
    mean_variance = float(variances.mean()) if rank else 0.0
    changed = replace(
        model,
        noise=noise,
        factor_variances=(1.0 - EVENING) * variances + EVENING * mean_variance,
        bias_variance=bias_variance,
        item_precisions=precisions,
        item_weights=of_items[:, 1],
        user_covariance=0.5 * (covariance + covariance.T),
        user_coefficients=coefficients,
        mean_user=mean_user @ of_user,
        new_item=new_item @ moving,
    )
    gradient = gradient / noise + (points - expected) / _priors(changed)
    move = momentum * move - _step_lengths(changed, table) * gradient
    points = np.where(rated[:, None], points + move, expected)
    factors = np.ascontiguousarray(points[:, :rank])
    moved = replace(
        changed,
        factors=factors,
        item_biases=points[:, rank],
        mean_factors=table.counts @ factors / table.n_ratings,
    )
    return FitState(moved, expected, move)


def gauge(weight_moment: Array, item_moment: Array) -> tuple[Array, Array]:
    """Return the change of the items' factors, and their variances after it.

    With the first moment LLᵀ, and LᵀML = QTQᵀ for the second, the change is LQ.
    """
    if not len(weight_moment):
        return weight_moment, np.zeros(0)
    lower = np.asarray(np.linalg.cholesky(weight_moment), np.float64)
    variances, axes = np.linalg.eigh(lower.T @ item_moment @ lower)
    # Signs that do not depend on the library, in descending order of the variances.
    variances, axes = variances[::-1], axes[:, ::-1]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(len(largest))])
    return lower @ axes, np.maximum(variances, 0.0)


def _user_regression(gram: Array, product: Array, n_users: float) -> tuple[Array, Array]:
    """Regress users on their features, from moments; return coefficients and the mean user."""
    means, mean_user = gram[-1, :-1] / n_users, product[-1] / n_users
    centred = gram[:-1, :-1] - n_users * np.outer(means, means)
    together = product[:-1] - n_users * np.outer(means, mean_user)
    squares = np.diag(gram)[:-1]
    varies = np.diag(centred) > 1e-12 * np.maximum(squares, 1e-300)
    deviations = np.where(varies, np.sqrt(np.maximum(np.diag(centred), 0.0) / n_users), 1.0)
    centred = np.where(np.outer(varies, varies), centred, 0.0) / np.outer(deviations, deviations)
    together = np.where(varies[:, None], together, 0.0) / deviations[:, None]
    found = np.linalg.solve(centred + RIDGE * np.eye(len(centred)), together) / deviations[:, None]
    return np.vstack([found, mean_user - means @ found]), mean_user


def _extended(matrix: Array) -> Array:
    """Return a block-diagonal matrix with a further 1 on the diagonal."""
    size = len(matrix)
    whole = np.eye(size + 1)
    whole[:size, :size] = matrix
    return whole


def _step_lengths(model: BayesianModel, table: TableStatistics) -> Array:
    """Return the posterior variances, or less for items with few ratings and little noise.

    With n users whose weights have the second moment I, the largest eigenvalue of their sum of
    squares is about (√n + √r)², and steps are stable up to about three times its inverse.
    """
    spread = (1.0 + np.sqrt(model.rank / np.maximum(table.counts, 1.0))) ** 2
    weights = model.item_precisions * model.item_weights * np.maximum(spread / STABLE, 1.0)
    lengths: Array = model.noise / (weights[:, None] + model.noise / _priors(model))
    return lengths


def _points(model: BayesianModel) -> Array:
    return np.column_stack([model.factors, model.item_biases])


def _variances(model: BayesianModel) -> Array:
    return np.column_stack(model.posterior_variances)


def _priors(model: BayesianModel) -> Array:
    return np.append(model.factor_variances, model.bias_variance)
