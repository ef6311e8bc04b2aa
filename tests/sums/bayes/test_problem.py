"""The users' posteriors and the sums over them, held against a reference written user by user."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings, scarce_ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.seeds import stream
from grassvine.problems.blocks import LEAST_VALUES_IN_BLOCK
from grassvine.sums import BayesianCompletionProblem, BayesianModel
from grassvine.sums.bayes.model import CHOICE_COUNT, PRECISION_COUNT


def somewhere(rank: int, seed: int = 0, n_items: int = N_ITEMS) -> BayesianModel:
    rng = stream(seed, "start")
    mixing = rng.standard_normal((rank + 1, rank + 1))
    factors = rng.standard_normal((n_items, rank))
    return BayesianModel(
        factors=factors,
        item_biases=rng.standard_normal(n_items),
        centre=0.7,
        scale=1.3,
        noise=0.4,
        factor_variances=0.5 + rng.random(rank),
        bias_variance=0.8,
        item_precisions=0.5 + rng.random(n_items),
        item_weights=np.append(0.0, 4.0 + rng.random(n_items - 1)),
        user_covariance=mixing @ mixing.T + 0.3 * np.eye(rank + 1),
        user_coefficients=0.3 * rng.standard_normal((rank + 1, rank + 1)),
        mean_factors=factors.mean(axis=0),
        mean_user=rng.standard_normal(rank + 1),
        new_item=rng.standard_normal(rank + 1),
    )


def posterior(table: gv.Ratings, model: BayesianModel, user: int, **fixed: Any) -> dict[str, Any]:
    """The posterior of a user straight from the definition; τ and h may be given."""
    rank, mine = model.rank, slice(table.starts[user], table.starts[user + 1])
    items, count = table.items[mine], table.starts[user + 1] - table.starts[user]
    rows = np.column_stack([model.factors[items], np.ones(count)])
    wanted = (table.values[mine] - model.centre) / model.scale - model.item_biases[items]
    kappa, (of_factors, of_biases) = model.item_precisions[items], model.posterior_variances
    spread = np.column_stack([of_factors[items], np.zeros(count)])
    mean_choice = (rows[:, :rank] - model.mean_factors).sum(axis=0) / (count + CHOICE_COUNT)
    features = np.append(mean_choice, 1.0)
    expected = fixed.get("h", features @ model.user_coefficients)
    prior = np.linalg.inv(model.user_covariance)
    gram = sum(
        k * (np.outer(x, x) + np.diag(d)) for k, x, d in zip(kappa, rows, spread, strict=True)
    )

    def solved(tau: float) -> tuple[Array, Array, float]:
        precision = tau / model.noise * gram + prior
        covariance = np.linalg.inv(precision)
        right = tau / model.noise * rows.T @ (kappa * wanted) + prior @ expected
        mean = covariance @ right
        errors = rows @ mean - wanted
        uncertain = spread @ (mean**2 + np.diag(covariance)) + of_biases[items]
        leverage = np.einsum("ka,ab,kb->k", rows, covariance, rows)
        return mean, covariance, kappa @ (errors**2 + uncertain + leverage)

    tau = fixed.get("tau")
    if tau is None:
        expected_error = solved(1.0)[2]
        tau = (PRECISION_COUNT + count) / (PRECISION_COUNT + expected_error / model.noise)
    mean, covariance, expected_error = solved(tau)
    away = mean - expected
    log_ratio = np.linalg.slogdet(model.user_covariance)[1] - np.linalg.slogdet(covariance)[1]
    fit = expected_error - np.trace(covariance @ gram)  # without the covariance of the user
    cost = tau * fit / (2 * model.noise) + 0.5 * away @ prior @ away + 0.5 * log_ratio
    cost += 0.5 * (PRECISION_COUNT * tau - (PRECISION_COUNT + count) * np.log(tau))
    return {
        "items": items, "rows": rows, "errors": rows @ mean - wanted, "kappa": kappa, "h": expected,
        "tau": tau, "mean": mean, "covariance": covariance, "features": features, "cost": cost,
        "expected_error": tau * expected_error, "spread": spread, "of_biases": of_biases[items],
    }  # fmt: skip


def by_the_book(
    table: gv.Ratings, model: BayesianModel
) -> tuple[list[Array], list[dict[str, Any]]]:
    """The sums over all users with ratings, and the posteriors."""
    rank = model.rank
    shapes = [(model.n_items, rank), (model.n_items, 3), *[(rank + 1, rank + 1)] * 4, (3,)]
    sums, users = [np.zeros(shape) for shape in shapes], []
    for user in np.flatnonzero(np.diff(table.starts)):
        one = posterior(table, model, int(user))
        users.append(one)
        tau, mean, covariance = one["tau"], one["mean"], one["covariance"]
        for item, row, error, kappa, spread, more in zip(
            *(one[name] for name in ("items", "rows", "errors", "kappa", "spread", "of_biases")),
            strict=True,
        ):
            sums[0][item] += (tau * kappa * (error * mean + covariance @ row))[:rank]
            uncertain = row @ covariance @ row + spread @ (mean**2 + np.diag(covariance)) + more
            sums[1][item] += tau * kappa * error, tau, tau * (error**2 + uncertain)
        away = mean - one["h"]
        sums[2] += tau * (np.outer(mean, mean) + covariance)
        sums[3] += np.outer(away, away) + covariance
        sums[4] += np.outer(one["features"], one["features"])
        sums[5] += np.outer(one["features"], mean)
        sums[6] += one["cost"], one["expected_error"], 1.0
    return sums, users


@given(rank=st.integers(0, 7), seed=st.integers(0, 2**32), scarce=st.booleans())
def test_the_kernel_follows_the_definition(rank: int, seed: int, scarce: bool) -> None:
    table = scarce_ratings(seed) if scarce else ratings(seed)
    model, problem = somewhere(rank, seed), BayesianCompletionProblem(table)
    wanted, users = by_the_book(table, model)
    found = problem.evaluate(model)
    # Covariances have condition numbers up to about 1e4.
    for one, other in zip(found.sums, wanted, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=0, atol=1e-9 * (1 + np.abs(other).max(initial=0))
        )
    rated = np.diff(table.starts) > 0
    means = problem.solve(model)
    np.testing.assert_allclose(means[rated], [one["mean"] for one in users], rtol=1e-8, atol=1e-8)
    assert not means[~rated].any()


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_the_gradient_is_that_of_the_cost(rank: int) -> None:
    """With τ and h held fixed, as a step does; a central difference is exact to 1e-9 or so."""
    table, model, step = ratings(), somewhere(rank), 1e-5
    _, users = by_the_book(table, model)
    rng = stream(1, "direction")
    direction = rng.standard_normal((N_ITEMS, rank)), rng.standard_normal(N_ITEMS)

    def cost(sign: float) -> float:
        # D is that of the model, not of the moved one: it depends on neither A nor c.
        moved = replace(
            model,
            factors=model.factors + sign * step * direction[0],
            item_biases=model.item_biases + sign * step * direction[1],
        )
        return sum(
            float(posterior(table, moved, user, tau=one["tau"], h=one["h"])["cost"])
            for user, one in enumerate(users)
        )

    by_factors, of_items = BayesianCompletionProblem(table).evaluate(model).sums[:2]
    slope = (np.vdot(by_factors, direction[0]) + of_items[:, 0] @ direction[1]) / model.noise
    measured = (cost(1.0) - cost(-1.0)) / (2.0 * step)
    np.testing.assert_allclose(slope, measured, rtol=1e-6)


def test_variances_follow_the_definition() -> None:
    table, model = scarce_ratings(), somewhere(3)
    problem = BayesianCompletionProblem(table)
    users = np.array([5, 2, 0, 5, 7, 0])
    items = np.array([3, 0, 4, -1, 3, -1])
    found = problem.variances(model, users, items)
    of_factors, of_biases = model.posterior_variances
    for user, item, variance in zip(users, items, found, strict=True):
        if table.starts[user + 1] > table.starts[user]:
            one = posterior(table, model, user)
            mean, covariance, tau = one["mean"], one["covariance"], one["tau"]
        else:
            mean, covariance, tau = model.mean_user, model.user_covariance, 1.0
        if item < 0:
            factors, spread, bias, kappa = model.new_item[:-1], model.factor_variances, 0.8, 1.0
        else:
            factors, spread = model.factors[item], of_factors[item]
            bias, kappa = of_biases[item], model.item_precisions[item]
        row = np.append(factors, 1.0)
        wanted = row @ covariance @ row + spread @ (mean**2 + np.diag(covariance))[:-1] + bias
        wanted += model.noise / (tau * kappa)
        np.testing.assert_allclose(variance, model.scale**2 * wanted, rtol=1e-8)


def test_an_item_without_ratings_has_the_variances_of_the_prior() -> None:
    model = somewhere(3)
    of_factors, of_biases = model.posterior_variances
    np.testing.assert_allclose(of_factors[0], model.factor_variances)
    assert of_biases[0] == pytest.approx(model.bias_variance)
    assert (of_factors[1:] < model.factor_variances).all()


def test_predictions_have_the_squared_error_of_the_evaluation() -> None:
    table, model = ratings(), somewhere(3)
    problem = BayesianCompletionProblem(table)
    squares = np.sum((problem.predict(model, table) - table.values) ** 2)
    np.testing.assert_allclose(squares, problem.evaluate(model).squared_error, rtol=1e-12)


def test_a_model_survives_as_arrays() -> None:
    model = replace(somewhere(3), interval_scale=1.25)
    again = BayesianModel.from_arrays(model.arrays())
    for field in fields(model):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(model, field.name))


def test_threads_do_not_change_bits() -> None:
    rng = stream(0, "data", "many ratings")
    users, items = np.nonzero(rng.random((9000, 40)) < 0.75)
    table = gv.Ratings.from_arrays(users, items, rng.standard_normal(len(users)))
    assert table.n_values > 2 * LEAST_VALUES_IN_BLOCK  # two blocks at least
    model = somewhere(4, n_items=40)
    one, two = (BayesianCompletionProblem(table, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.solve(model), two.solve(model))
    for first, second in zip(one.evaluate(model).sums, two.evaluate(model).sums, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "wrong",
    [
        {"factors": np.ones((3, 3))},
        {"item_biases": np.full(N_ITEMS, np.nan)},
        {"centre": np.nan},
        {"noise": 0.0},
        {"factor_variances": np.array([1.0, 0.0, 1.0])},
        {"item_weights": np.full(N_ITEMS, -1.0)},
        {"user_covariance": -np.eye(4)},
        {"interval_scale": np.inf},
    ],
)
def test_wrong_models_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BasisError, match=next(iter(wrong)) if "factors" not in wrong else "shape"):
        replace(somewhere(3), **wrong)


def test_wrong_arguments_are_refused() -> None:
    problem = BayesianCompletionProblem(ratings())
    with pytest.raises(BasisError, match="the model has 3 items"):
        problem.evaluate(somewhere(2, n_items=3))
    with pytest.raises(DataError, match="pass entries of the same table"):
        problem.predict(somewhere(2), ratings().take_users(0, 5))
    with pytest.raises(DataError, match="choose"):
        BayesianCompletionProblem(ratings(), 0)
