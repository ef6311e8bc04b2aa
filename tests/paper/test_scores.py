"""Errors on test data against loops over every entry."""

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings, scarce_ratings, tasks
from tests.sums.bayes.test_problem import somewhere

import grassvine as gv
from grassvine.data import hold_out_ratings, hold_out_samples
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.paper.scores import (
    mean_squared_error,
    nmse_of_weights,
    normalised_errors,
    squared_errors,
    squared_errors_by_bayes,
    squared_errors_with_biases,
)
from grassvine.sums import BayesianCompletionProblem, BiasedModel

# Least squares of a dozen equations in three unknowns keep all but a few of sixteen digits.
DIGITS = 1e-9


def basis(seed: int = 0) -> Array:
    return gv.geometry.Grassmann().random_point(N_ITEMS, 3, stream(seed, "test", "basis"))


def naive_errors(
    train: gv.Ratings,
    test: gv.Ratings,
    u: Array,
    unobserved: float,
    bounds: tuple[float, float] | None = None,
) -> list[float]:
    """Fit each user to its training entries by plain linear algebra; one error a test entry."""
    errors = []
    for j in range(train.n_users):
        mine = slice(train.starts[j], train.starts[j + 1])
        rows, y = u[train.items[mine]], train.values[mine]
        system = (1 - unobserved) * rows.T @ rows + unobserved * np.eye(3)
        weights = np.linalg.lstsq(system, rows.T @ y, rcond=None)[0]
        for place in range(test.starts[j], test.starts[j + 1]):
            guess = float(u[test.items[place]] @ weights)
            if bounds is not None:
                guess = min(max(guess, bounds[0]), bounds[1])
            errors.append((guess - float(test.values[place])) ** 2)
    return errors


@pytest.mark.parametrize("unobserved", [0.0, 0.02])
@pytest.mark.parametrize("bounds", [None, (-0.3, 0.2)])
def test_squared_errors_are_those_of_a_loop(
    unobserved: float, bounds: tuple[float, float] | None
) -> None:
    train, test = hold_out_ratings(ratings(), 0.2, seed=1)
    problem = gv.CompletionProblem(train, unobserved=unobserved)
    found = squared_errors(problem, basis(), test, bounds)
    wanted = sum(naive_errors(train, test, basis(), unobserved, bounds))
    assert found == pytest.approx(wanted, rel=DIGITS)


def test_clipping_brings_wild_predictions_to_the_bounds() -> None:
    train, test = hold_out_ratings(ratings().shifted(100.0), 0.3, seed=1)
    problem = gv.CompletionProblem(train)
    nearest = float(np.sum((np.clip(0.0, 5.0, 5.0) - test.values) ** 2))
    assert squared_errors(problem, basis(), test, (5.0, 5.0)) == pytest.approx(nearest, rel=1e-12)


def test_a_user_without_training_entries_is_predicted_as_the_centre() -> None:
    train = scarce_ratings()  # user 0 has no rating
    test = gv.Ratings.from_arrays([0, 0], [3, 7], [2.0, -1.0], n_users=60, n_items=N_ITEMS)
    problem = gv.CompletionProblem(train, unobserved=0.1)
    assert squared_errors(problem, basis(), test) == 5.0


@pytest.mark.parametrize("bounds", [(-9.0, 9.0), (-0.3, 0.2)])
def test_squared_errors_with_biases_are_those_of_a_loop(bounds: tuple[float, float]) -> None:
    train, test = hold_out_ratings(ratings(), 0.2, seed=1)
    regularization, bias_regularization, centre = 0.7, 2.0, 0.4
    rng = stream(0, "test", "model")
    a, c = rng.standard_normal((N_ITEMS, 3)), rng.standard_normal(N_ITEMS)
    wanted = 0.0
    for j in range(train.n_users):
        mine = slice(train.starts[j], train.starts[j + 1])
        items = train.items[mine]
        rows = np.column_stack([a[items], np.ones(len(items))])
        system = rows.T @ rows + np.diag(
            [regularization, regularization, regularization, bias_regularization]
        )
        fitted = np.linalg.solve(system, rows.T @ (train.values[mine] - centre - c[items]))
        for place in range(test.starts[j], test.starts[j + 1]):
            i = test.items[place]
            guess = centre + c[i] + fitted[3] + float(a[i] @ fitted[:3])
            wanted += (min(max(guess, bounds[0]), bounds[1]) - float(test.values[place])) ** 2
    model = BiasedModel(a, c, centre, regularization, bias_regularization)
    found = squared_errors_with_biases(train, model, test, bounds)
    assert found == pytest.approx(wanted, rel=DIGITS)


def test_squared_errors_by_bayes_are_those_of_clipped_posterior_means() -> None:
    train, test = hold_out_ratings(ratings(), 0.2, seed=1)
    model = somewhere(3)
    means = BayesianCompletionProblem(train).solve(model)
    users, items = test.users_of_values(), test.items
    guess = model.item_biases[items] + means[users, 3]
    guess += np.sum(model.factors[items] * means[users, :3], axis=1)
    wrong = np.clip(model.centre + model.scale * guess, -0.3, 0.2) - test.values
    found = squared_errors_by_bayes(train, model, test, (-0.3, 0.2))
    assert found == pytest.approx(float(wrong @ wrong), rel=DIGITS)


def test_the_mean_is_over_entries_and_each_agent_predicts_its_own_users() -> None:
    whole = hold_out_ratings(ratings(), 0.2, seed=2)
    trains, tests = (gv.datasets.split_users(part, 3) for part in whole)
    bases = [basis(seed) for seed in range(3)]
    problems = [gv.CompletionProblem(part) for part in trains]
    each = [naive_errors(*part, 0.0) for part in zip(trains, tests, bases, strict=True)]
    wanted = np.mean(np.concatenate(each))
    assert mean_squared_error(problems, bases, tests) == pytest.approx(wanted, rel=DIGITS)
    swapped = mean_squared_error(problems, bases[::-1], tests)
    assert swapped != pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_the_nmse_of_a_task_is_its_test_error_over_the_variance_of_its_training_labels(
    alpha: float,
) -> None:
    train, test = hold_out_samples(tasks(), 0.4, seed=3)
    u = basis()
    wanted = []
    for x, y, x_test, y_test in zip(
        train.features, train.targets, test.features, test.targets, strict=True
    ):
        reduced = x @ u
        w = u @ np.linalg.solve(reduced.T @ reduced + alpha * np.eye(3), reduced.T @ y)
        errors = [float(row @ w - label) ** 2 for row, label in zip(x_test, y_test, strict=True)]
        centre = sum(y) / len(y)
        variance = sum((label - centre) ** 2 for label in y) / (len(y) - 1)
        wanted.append(sum(errors) / len(errors) / variance)
    found = normalised_errors(gv.MultitaskProblem(train, alpha=alpha), u, test)
    np.testing.assert_allclose(found, wanted, rtol=DIGITS)


def test_predicting_the_mean_of_the_labels_has_an_nmse_near_one() -> None:
    """With the mean as the only feature, up to n/(n − 1) between the two variances."""
    rng = stream(0, "test", "labels")
    labels = rng.standard_normal(500) * 7.0 + 3.0
    whole = gv.Tasks.from_arrays([np.ones((500, 1))], [labels])
    weights = np.array([[labels.mean()]])
    assert nmse_of_weights(weights, whole, whole)[0] == pytest.approx(499 / 500, rel=1e-12)
