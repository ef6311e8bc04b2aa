r"""Add items to the catalogue of a model of ratings.

The factors and the bias of a new item are solved with all users fixed: with x_j = (w_j, 1) and the
residuals z_j = y_j − μ₀ − a_j of its ratings,

.. math::

    (Σ_j x_jx_jᵀ/σ² + P)\,(A_i, c_i) = Σ_j z_jx_j/σ² + P p,

where P and p are the precision and the mean of the prior of items: in a Bayesian model what is
expected of an item without ratings, otherwise μ, μ_b and 0 with σ = 1. All that it needs is a sum
over agents, a matrix and a vector per new item.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.models.longer_catalogue import LongerCatalogue, longer_catalogue
from grassvine.models.ranking.new_items import longer_scorer
from grassvine.models.ranking.parts import RankedUsers
from grassvine.models.ratings.parts import BayesianSolver, BiasedSolver, ItemPart, UserPart

if TYPE_CHECKING:
    from grassvine.models.ratings.model import RatingsModel


@dataclass(frozen=True, slots=True, eq=False)
class ItemPrior:
    """The prior of (A_i, c_i) and the variance of ratings, on the scale of the ratings."""

    mean: Array
    precisions: Array
    noise: float


def with_new_rated_items(
    model: "RatingsModel", users: Ids, items: Ids, ratings: Ratings
) -> "RatingsModel":
    """Return the model with the items of these ratings that nobody had rated before.

    The ratings are not added to the private part. A subspace cannot be extended by rows, so a model
    of the paper's formulation is returned as it is.

    Parameters
    ----------
    users, items : Ids
    ratings : Ratings
        Indexed by position in ``users`` and ``items``.
    """
    shared = model.shared
    longer = longer_catalogue(shared, items, ratings)
    prior = _prior(shared)
    if not longer.n_new or prior is None:
        return model
    _, fresh = longer.divided(longer.given(ratings))
    weights, biases = _users_solved(model, users, items, ratings)
    rows = _rows(fresh, weights, biases, shared.centre, prior)
    counts: Indices = np.zeros(len(longer.items), dtype=np.int64)
    counts[longer.of_old] = shared.counts
    counts[longer.new] = np.bincount(fresh.items, minlength=longer.n_new)
    private = model.private
    if private is not None:
        private = replace(private, seen=longer.renumbered(private.seen))
    choices = model.choices
    if choices is not None:
        everybody = RankedUsers(users, _as_events(longer.given(ratings)))
        if private is not None:
            everybody = RankedUsers(private.users, _as_events(private.seen)).joined(
                users, everybody.seen
            )
        choices, _ = longer_scorer(choices, longer, _as_events(everybody.seen))
    return replace(
        model, shared=_part(shared, longer, rows, counts), private=private, choices=choices
    )


def _as_events(ratings: Ratings) -> Ratings:
    return ratings.with_values(np.ones(ratings.n_values))


def _prior(shared: ItemPart) -> ItemPrior | None:
    if isinstance(shared.solver, BayesianSolver):
        model = shared.solver.bayesian_model
        mean = np.append(model.new_item[:-1], model.scale * model.new_item[-1])
        bias_variance = model.scale**2 * model.bias_variance
        precisions = 1.0 / np.append(model.factor_variances, bias_variance)
        return ItemPrior(mean, precisions, model.scale**2 * model.noise)
    if isinstance(shared.solver, BiasedSolver):
        solver = shared.solver
        precisions = np.full(shared.rank + 1, solver.regularization)
        precisions[-1] = solver.bias_regularization
        return ItemPrior(np.zeros(shared.rank + 1), precisions, 1.0)
    return None


def _users_solved(
    model: "RatingsModel", users: Ids, items: Ids, ratings: Ratings
) -> tuple[Array, Array]:
    """Return weights and biases of users from their old ratings and those of known items."""
    shared = model.shared
    number = shared.items.numbers(items.series, "item")
    is_known = (number != UNKNOWN) & (shared.counts[number] > 0)
    new_weights, new_bias = shared.unknown_user
    weights = np.tile(new_weights, (len(users), 1))
    biases = np.full(len(users), new_bias)
    with_known = model
    if is_known[ratings.items].any():
        with_known = model.with_users(users, items, ratings, unknown_items="drop").model
    part: UserPart | None = with_known.private
    if part is None:
        return weights, biases
    place = part.users.numbers(users.series, "user", users.owners)
    there = (place != UNKNOWN) & (part.counts[place] > 0)
    weights[there], biases[there] = part.weights[place[there]], part.biases[place[there]]
    return weights, biases


def _rows(fresh: Ratings, weights: Array, biases: Array, centre: float, prior: ItemPrior) -> Array:
    """Return (A_i, c_i) of each new item."""
    matrices = np.tile(np.diag(prior.precisions), (fresh.n_items, 1, 1))
    vectors = np.tile(prior.precisions * prior.mean, (fresh.n_items, 1))
    x = np.column_stack([weights, np.ones(len(weights))])
    users = fresh.users_of_values()
    residuals = fresh.values - centre - biases[users]
    for item, user, residual in zip(fresh.items, users, residuals, strict=True):
        matrices[item] += np.outer(x[user], x[user]) / prior.noise
        vectors[item] += residual * x[user] / prior.noise
    return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=np.float64)


def _part(shared: ItemPart, longer: LongerCatalogue, rows: Array, counts: Indices) -> ItemPart:
    """Return the item part with the rows of new items."""

    def grown(values: Array, new: Array | float) -> Array:
        found: Array = np.zeros((len(longer.items), *values.shape[1:]), dtype=np.float64)
        found[longer.of_old] = values
        found[longer.new] = new
        return found

    if isinstance(shared.solver, BayesianSolver):
        model = shared.solver.bayesian_model
        bayesian = replace(
            model,
            factors=grown(model.factors, rows[:, :-1]),
            item_biases=grown(model.item_biases, rows[:, -1] / model.scale),
            item_precisions=grown(model.item_precisions, 1.0),
            item_weights=grown(model.item_weights, counts[longer.new].astype(np.float64)),
        )
        return ItemPart.bayesian(bayesian, longer.items, shared.lowest, shared.highest, counts)
    return replace(
        shared,
        items=longer.items,
        factors=grown(shared.factors, rows[:, :-1]),
        item_biases=grown(shared.item_biases, rows[:, -1]),
        counts=counts,
    )
