"""Completion with biases, held against a dense reference written here user by user."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings, scarce_ratings

import grassvine as gv
from grassvine.checks.derivatives import taylor_slope
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.seeds import stream
from grassvine.problems.blocks import LEAST_VALUES_IN_BLOCK
from grassvine.sums.biased.problem import BiasedCompletionProblem, BiasedModel


def somewhere(
    rank: int, seed: int = 0, n_items: int = N_ITEMS, mu: float = 1.0, mu_b: float = 1.0
) -> BiasedModel:
    rng = stream(seed, "start")
    factors, biases = rng.standard_normal((n_items, rank)), rng.standard_normal(n_items)
    return BiasedModel(factors, biases, 0.7, mu, mu_b)


def by_the_book(table: gv.Ratings, model: BiasedModel) -> dict[str, Any]:
    """Everything straight from the definition: a ridge regression of each user, stacked."""
    factors, item_biases, centre = model.factors, model.item_biases, model.centre
    regularization, bias_regularization = model.regularization, model.bias_regularization
    rank = factors.shape[1]
    weights, biases = np.zeros((table.n_users, rank)), np.zeros(table.n_users)
    errors = np.zeros((table.n_items, table.n_users))
    for user in range(table.n_users):
        mine = slice(table.starts[user], table.starts[user + 1])
        items = table.items[mine]
        design = np.column_stack([factors[items], np.ones(len(items))])
        wanted = table.values[mine] - centre - item_biases[items]
        pull = np.diag(np.sqrt([regularization] * rank + [bias_regularization]))
        stacked = np.vstack([design, pull]), np.append(wanted, np.zeros(rank + 1))
        solution = np.linalg.lstsq(*stacked)[0]
        weights[user], biases[user] = solution[:rank], solution[rank]
        errors[items, user] = design @ solution - wanted
    squares = np.sum(errors**2)
    return {
        "cost": 0.5
        * (squares + regularization * np.sum(weights**2) + bias_regularization * np.sum(biases**2)),
        "factor_gradient": errors @ weights,
        "bias_gradient": errors.sum(axis=1),
        "gram": weights.T @ weights,
        "squared_error": squares,
        "weights": weights,
        "biases": biases,
    }


@given(
    rank=st.integers(0, 7),
    regularization=st.sampled_from([0.01, 1.0, 30.0]),
    bias_regularization=st.sampled_from([0.1, 3.0]),
    seed=st.integers(0, 2**32),
    scarce=st.booleans(),
)
def test_the_kernel_follows_the_definition(
    rank: int, regularization: float, bias_regularization: float, seed: int, scarce: bool
) -> None:
    table = scarce_ratings(seed) if scarce else ratings(seed)
    model = somewhere(rank, seed, mu=regularization, mu_b=bias_regularization)
    problem = BiasedCompletionProblem(table)
    book = by_the_book(table, model)
    found = problem.evaluate(model)
    weights, biases = problem.solve(model)
    # The systems have condition numbers up to about 1e4, and the solve squares none of them.
    for name in ("cost", "factor_gradient", "bias_gradient", "gram", "squared_error"):
        size = float(np.linalg.norm(book[name]))
        np.testing.assert_allclose(getattr(found, name), book[name], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(
        weights, book["weights"], atol=1e-9 * (1 + np.abs(weights).max(initial=0))
    )
    np.testing.assert_allclose(biases, book["biases"], atol=1e-9 * (1 + np.abs(biases).max()))


@pytest.mark.parametrize("rank", [1, 2, 5, 9])
@pytest.mark.parametrize("table", [ratings(), scarce_ratings()], ids=["plain", "scarce"])
def test_the_gradient_is_that_of_the_cost(rank: int, table: gv.Ratings) -> None:
    problem = BiasedCompletionProblem(table)
    model, direction = somewhere(rank, mu=0.5, mu_b=2.0), somewhere(rank, seed=1)
    here = problem.evaluate(model)
    by_factors, by_biases = direction.factors, direction.item_biases
    size = np.sqrt(np.sum(by_factors**2) + np.sum(by_biases**2))
    by_factors, by_biases = by_factors / size, by_biases / size
    slope = np.vdot(here.factor_gradient, by_factors) + here.bias_gradient @ by_biases

    def error(step: float) -> tuple[float, float]:
        moved = replace(
            model,
            factors=model.factors + step * by_factors,
            item_biases=model.item_biases + step * by_biases,
        )
        return abs(problem.evaluate(moved).cost - here.cost - step * slope), here.cost

    assert 1.9 <= taylor_slope(error) <= 2.1


def test_users_and_items_without_ratings_have_nothing_of_their_own() -> None:
    table = scarce_ratings()  # user 0 rates nothing, nobody rates item 0
    problem, model = BiasedCompletionProblem(table), somewhere(4)
    found = problem.evaluate(model)
    weights, biases = problem.solve(model)
    assert not weights[0].any() and biases[0] == 0.0
    assert not found.factor_gradient[0].any() and found.bias_gradient[0] == 0.0
    asked = gv.Ratings.from_arrays([0, 0], [0, 3], [1.0, 1.0], n_users=60, n_items=N_ITEMS)
    guess = problem.predict(model, asked)
    np.testing.assert_array_equal(guess, model.centre + model.item_biases[[0, 3]])


def test_an_agent_without_any_rating_adds_nothing() -> None:
    whole = ratings()
    problem = BiasedCompletionProblem(whole.take_values(np.zeros(whole.n_values, dtype=bool)))
    found = problem.evaluate(somewhere(3))
    assert found.cost == found.squared_error == 0.0 and not found.factor_gradient.any()


def test_predictions_have_the_squared_error_of_the_evaluation() -> None:
    table, model = ratings(), somewhere(3, mu_b=2.0)
    problem = BiasedCompletionProblem(table)
    squares = np.sum((problem.predict(model, table) - table.values) ** 2)
    np.testing.assert_allclose(squares, problem.evaluate(model).squared_error, rtol=1e-12)


def test_a_model_survives_as_arrays() -> None:
    model = somewhere(3, mu=0.25, mu_b=2.0)
    again = BiasedModel.from_arrays(model.arrays())
    for field in fields(model):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(model, field.name))


def test_threads_do_not_change_bits() -> None:
    rng = stream(0, "data", "many ratings")
    known = rng.random((9000, 40)) < 0.75
    users, items = np.nonzero(known)
    table = gv.Ratings.from_arrays(users, items, rng.standard_normal(len(users)))
    assert table.n_values > 2 * LEAST_VALUES_IN_BLOCK  # two blocks at least
    model = somewhere(4, n_items=40)
    one, two = (BiasedCompletionProblem(table, threads) for threads in (1, 2))
    assert len(one._blocks) > 1
    for first, second in zip(one.solve(model), two.solve(model), strict=True):
        np.testing.assert_array_equal(first, second)
    found, again = one.evaluate(model), two.evaluate(model)
    for name in found.__slots__:
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


@pytest.mark.parametrize(
    "options", [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (np.nan, 1.0), (1.0, np.inf)]
)
def test_wrong_options_are_refused(options: Any) -> None:
    with pytest.raises(DataError, match="choose"):
        BiasedModel(np.ones((3, 1)), np.ones(3), 0.0, *options)
    with pytest.raises(DataError, match="choose"):
        BiasedCompletionProblem(ratings(), 0)


def test_wrong_arguments_are_refused() -> None:
    model = somewhere(3)
    holed = model.item_biases.copy()
    holed[2] = np.nan
    for wrong in (
        {"factors": model.factors[1:]},
        {"item_biases": model.item_biases[1:]},
        {"item_biases": holed},
        {"centre": np.nan},
    ):
        with pytest.raises(BasisError):
            replace(model, **wrong)
    problem = BiasedCompletionProblem(ratings())
    with pytest.raises(BasisError, match="the model has 3 items"):
        problem.evaluate(somewhere(2, n_items=3))
    with pytest.raises(DataError, match="pass entries of the same table"):
        problem.predict(model, ratings().take_users(0, 5))
