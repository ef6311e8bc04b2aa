"""Ratings with offsets, held against a dense reference written here user by user."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings, scarce_ratings

import grassvine as gv
from grassvine.checks.derivatives import taylor_slope
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.seeds import stream
from grassvine.problems.biased_ratings import BiasedRatings
from grassvine.problems.blocks import LEAST_VALUES_IN_BLOCK


def somewhere(rank: int, seed: int = 0, n_items: int = N_ITEMS) -> tuple[Array, Array, float]:
    rng = stream(seed, "start")
    return rng.standard_normal((n_items, rank)), rng.standard_normal(n_items), 0.7


def by_the_book(
    table: gv.Ratings,
    factors: Array,
    item_biases: Array,
    centre: float,
    regularization: float,
    bias_regularization: float,
) -> dict[str, Any]:
    """Everything straight from the definition: a ridge regression of each user, stacked."""
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
    rank=st.integers(1, 7),
    regularization=st.sampled_from([0.01, 1.0, 30.0]),
    bias_regularization=st.sampled_from([0.1, 3.0]),
    seed=st.integers(0, 2**32),
    scarce=st.booleans(),
)
def test_the_kernel_does_what_the_definition_says(
    rank: int, regularization: float, bias_regularization: float, seed: int, scarce: bool
) -> None:
    table = scarce_ratings(seed) if scarce else ratings(seed)
    point = somewhere(rank, seed)
    problem = BiasedRatings(table, regularization, bias_regularization)
    book = by_the_book(table, *point, regularization, bias_regularization)
    found = problem.evaluate(*point)
    weights, biases = problem.solve(*point)
    # The systems have condition numbers up to about 1e4, and the solve squares none of them.
    for name in ("cost", "factor_gradient", "bias_gradient", "gram", "squared_error"):
        size = float(np.linalg.norm(book[name]))
        np.testing.assert_allclose(getattr(found, name), book[name], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(weights, book["weights"], atol=1e-9 * (1 + np.abs(weights).max()))
    np.testing.assert_allclose(biases, book["biases"], atol=1e-9 * (1 + np.abs(biases).max()))


@pytest.mark.parametrize("rank", [1, 2, 5, 9])
@pytest.mark.parametrize("table", [ratings(), scarce_ratings()], ids=["plain", "scarce"])
def test_the_gradient_is_that_of_the_cost(rank: int, table: gv.Ratings) -> None:
    problem = BiasedRatings(table, 0.5, 2.0)
    factors, item_biases, centre = somewhere(rank)
    here = problem.evaluate(factors, item_biases, centre)
    by_factors, by_biases, _ = somewhere(rank, seed=1)
    size = np.sqrt(np.sum(by_factors**2) + np.sum(by_biases**2))
    by_factors, by_biases = by_factors / size, by_biases / size
    slope = np.vdot(here.factor_gradient, by_factors) + here.bias_gradient @ by_biases

    def error(step: float) -> tuple[float, float]:
        moved = problem.evaluate(
            factors + step * by_factors, item_biases + step * by_biases, centre
        )
        return abs(moved.cost - here.cost - step * slope), here.cost

    assert 1.9 <= taylor_slope(error) <= 2.1


def test_users_and_items_without_ratings_have_nothing_of_their_own() -> None:
    table = scarce_ratings()  # user 0 rates nothing, nobody rates item 0
    problem = BiasedRatings(table, 1.0, 1.0)
    factors, item_biases, centre = somewhere(4)
    found = problem.evaluate(factors, item_biases, centre)
    weights, biases = problem.solve(factors, item_biases, centre)
    assert not weights[0].any() and biases[0] == 0.0
    assert not found.factor_gradient[0].any() and found.bias_gradient[0] == 0.0
    guess = problem.predict(factors, item_biases, centre, [0, 0], [3, 0])
    np.testing.assert_array_equal(guess, centre + item_biases[[3, 0]])


def test_an_agent_without_any_rating_adds_nothing() -> None:
    whole = ratings()
    problem = BiasedRatings(whole.take_values(np.zeros(whole.n_values, dtype=bool)), 1.0, 1.0)
    found = problem.evaluate(*somewhere(3))
    assert found.cost == found.squared_error == 0.0 and not found.factor_gradient.any()


def test_predictions_have_the_squared_error_of_the_evaluation() -> None:
    table, point = ratings(), somewhere(3)
    problem = BiasedRatings(table, 1.0, 2.0)
    guess = problem.predict(*point, table.users_of_values(), table.items)
    squares = np.sum((guess - table.values) ** 2)
    np.testing.assert_allclose(squares, problem.evaluate(*point).squared_error, rtol=1e-12)


def test_threads_do_not_change_bits() -> None:
    rng = stream(0, "data", "many ratings")
    known = rng.random((9000, 40)) < 0.75
    users, items = np.nonzero(known)
    table = gv.Ratings.from_arrays(users, items, rng.standard_normal(len(users)))
    assert table.n_values > 2 * LEAST_VALUES_IN_BLOCK  # two blocks at least
    point = somewhere(4, n_items=40)
    one, two = (BiasedRatings(table, 1.0, 1.0, threads) for threads in (1, 2))
    assert len(one._blocks) > 1
    for first, second in zip(one.solve(*point), two.solve(*point), strict=True):
        np.testing.assert_array_equal(first, second)
    found, again = one.evaluate(*point), two.evaluate(*point)
    for name in found.__slots__:
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


@pytest.mark.parametrize(
    "options", [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (np.nan, 1.0), (1.0, np.inf), (1.0, 1.0, 0)]
)
def test_wrong_options_are_refused(options: Any) -> None:
    with pytest.raises(DataError, match=r"choose|pass|give"):
        BiasedRatings(ratings(), *options)


def test_wrong_arguments_are_refused() -> None:
    problem = BiasedRatings(ratings(), 1.0, 1.0)
    factors, item_biases, centre = somewhere(3)
    holed = item_biases.copy()
    holed[2] = np.nan
    for wrong in (
        (factors[1:], item_biases, centre),
        (factors, item_biases[1:], centre),
        (factors, holed, centre),
        (factors, item_biases, np.nan),
    ):
        with pytest.raises(BasisError):
            problem.evaluate(*wrong)
    for users, items in (([0], [N_ITEMS]), ([-1], [0]), ([60], [0]), ([0, 1], [0]), ([0.5], [0])):
        with pytest.raises(DataError):
            problem.predict(factors, item_biases, centre, users, items)
