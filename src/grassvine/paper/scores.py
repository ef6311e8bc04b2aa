"""Test errors, as measured in the paper."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from grassvine.data import Ratings, Tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.problems import CompletionProblem, MultitaskProblem
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianModel,
    BiasedCompletionProblem,
    BiasedModel,
)


def squared_errors(
    problem: CompletionProblem,
    basis: Array,
    test: Ratings,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Sum (u_i·w_j − y_ij)² over test entries, with w_j fitted to the training entries of user j.

    For a user without training entries the prediction is 0, the mean of centred ratings.
    Predictions are clipped to the bounds, if given.
    """
    with one_blas_thread():
        weights = problem.weights(basis)
    return _squares(_products(basis, weights, test), test, bounds)


def squared_errors_with_biases(
    train: Ratings, model: BiasedModel, test: Ratings, bounds: tuple[float, float]
) -> float:
    """Sum (μ₀ + c_i + a_j + A_i·w_j − y_ij)² over test entries, with a_j, w_j fitted to user j.

    For a user without training entries the prediction is μ₀ plus the item bias.
    """
    with one_blas_thread():
        weights, biases = BiasedCompletionProblem(train).solve(model)
    predictions = _products(model.factors, weights, test)
    predictions += model.centre + model.item_biases[test.items] + biases[test.users_of_values()]
    return _squares(predictions, test, bounds)


def squared_errors_by_bayes(
    train: Ratings, model: BayesianModel, test: Ratings, bounds: tuple[float, float]
) -> float:
    """Sum the squared errors of the posterior means at test entries.

    A user without training entries is predicted as the mean user.
    """
    with one_blas_thread():
        predictions = BayesianCompletionProblem(train).predict(model, test)
    return _squares(predictions, test, bounds)


def mean_squared_error(
    problems: Sequence[CompletionProblem], bases: Sequence[Array], tests: Sequence[Ratings]
) -> float:
    """Return the MSE over the test entries of all agents, each of which predicts its own."""
    errors = map(squared_errors, problems, bases, tests, repeat(None))
    return sum(errors) / sum(test.n_values for test in tests)


def normalised_errors(problem: MultitaskProblem, basis: Array, test: Tasks) -> Array:
    """Return the NMSE of each task: test MSE over the variance of the training labels."""
    with one_blas_thread():
        weights = problem.weights(basis) @ basis.T
    return nmse_of_weights(weights, problem.tasks, test)


def nmse_of_weights(weights: Array, train: Tasks, test: Tasks) -> Array:
    """Return the NMSE of each task with test samples, for weights of shape (n_tasks, n_items)."""
    return np.array(
        [
            np.mean((x @ w - y) ** 2) / np.var(known, ddof=1)
            for x, y, w, known in zip(
                test.features, test.targets, weights, train.targets, strict=True
            )
            if len(y)
        ]
    )


def _products(of_items: Array, of_users: Array, test: Ratings) -> Array:
    users, items = test.users_of_values(), test.items
    products = np.zeros(test.n_values)
    # One rank at a time, because n_values×rank products would not fit into memory for Netflix.
    for of_item, of_user in zip(of_items.T, of_users.T, strict=True):
        products += of_item[items] * of_user[users]
    return products


def _squares(predictions: Array, test: Ratings, bounds: tuple[float, float] | None) -> float:
    if bounds is not None:
        predictions = np.clip(predictions, *bounds)
    return float(np.sum((predictions - test.values) ** 2))
