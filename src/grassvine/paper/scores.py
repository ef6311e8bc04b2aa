"""Errors on test data, as the paper measures them."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from grassvine.data import Ratings, Tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.problems import (
    BiasedCompletionProblem,
    BiasedModel,
    CompletionProblem,
    MultitaskProblem,
)


def squared_errors(
    problem: CompletionProblem,
    basis: Array,
    test: Ratings,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Sum (u_i·w_j − y_ij)² over test entries, w_j being fitted to the training entries of user j.

    A user without training entries is predicted as 0, the centre; predictions are clipped to the
    bounds where there are any.
    """
    with one_blas_thread():
        weights = problem.weights(basis)
    return _squares(_products(basis, weights, test), test, bounds)


def squared_errors_with_biases(
    train: Ratings, model: BiasedModel, test: Ratings, bounds: tuple[float, float]
) -> float:
    """Sum (μ₀ + c_i + a_j + A_i·w_j − y_ij)² over test entries, a_j and w_j fitted to user j.

    A user without training entries is predicted by the centre and the item biases.
    """
    with one_blas_thread():
        weights, biases = BiasedCompletionProblem(train).solve(model)
    predictions = _products(model.factors, weights, test)
    predictions += model.centre + model.item_biases[test.items] + biases[test.users_of_values()]
    return _squares(predictions, test, bounds)


def mean_squared_error(
    problems: Sequence[CompletionProblem], bases: Sequence[Array], tests: Sequence[Ratings]
) -> float:
    """The error over the test entries of all agents, each predicting its own."""
    errors = map(squared_errors, problems, bases, tests, repeat(None))
    return sum(errors) / sum(test.n_values for test in tests)


def normalised_errors(problem: MultitaskProblem, basis: Array, test: Tasks) -> Array:
    """The NMSE of each task: test MSE over the variance of the training labels."""
    with one_blas_thread():
        weights = problem.weights(basis) @ basis.T
    return nmse_of_weights(weights, problem.tasks, test)


def nmse_of_weights(weights: Array, train: Tasks, test: Tasks) -> Array:
    """The NMSE of each task that has test samples, for weights in the features (tasks×items)."""
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
    # Column by column: items×rank numbers for every test entry at once would not fit for Netflix.
    for of_item, of_user in zip(of_items.T, of_users.T, strict=True):
        products += of_item[items] * of_user[users]
    return products


def _squares(predictions: Array, test: Ratings, bounds: tuple[float, float] | None) -> float:
    if bounds is not None:
        predictions = np.clip(predictions, *bounds)
    return float(np.sum((predictions - test.values) ** 2))
