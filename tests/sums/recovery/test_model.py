"""The pass of users and the step of items, against the formulas written out with NumPy."""

from dataclasses import dataclass

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.sums.descent.preconditioners import unpacked
from grassvine.sums.recovery.model import Counts, ItemPosterior, improved, pass_over

N_ITEMS, N_USERS = 12, 30


def table(seed: int) -> gv.Ratings:
    """Random entries; one user has none."""
    rng = np.random.default_rng(seed)
    known = rng.random((N_USERS, N_ITEMS)) < 0.5
    known[3] = False
    users, items = np.nonzero(known)
    values = rng.standard_normal(len(users))
    return gv.Ratings.from_arrays(users, items, values, n_users=N_USERS, n_items=N_ITEMS)


def posterior(rank: int, seed: int) -> ItemPosterior:
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((N_ITEMS, rank, rank))
    covariances = 0.05 * np.einsum("iab,icb->iac", roots, roots)
    rows, columns = np.tril_indices(rank)
    return ItemPosterior(
        rng.standard_normal((N_ITEMS, rank)),
        np.ascontiguousarray(covariances[:, rows, columns]),
        rng.uniform(0.5, 2.0, rank),
        rng.uniform(0.5, 2.0, rank),
        0.3,
    )


@dataclass
class Users:
    """The posteriors of all users, by NumPy; rows of zeros for the user without entries."""

    weights: Array
    covariances: Array


def users_of(ratings: gv.Ratings, model: ItemPosterior) -> Users:
    rank = model.means.shape[1]
    covariances = unpacked(model.covariances, rank)
    found = Users(np.zeros((N_USERS, rank)), np.zeros((N_USERS, rank, rank)))
    for user in range(N_USERS):
        here = slice(ratings.starts[user], ratings.starts[user + 1])
        items, values = ratings.items[here], ratings.values[here]
        if len(items):
            rows = model.means[items]
            product = rows.T @ rows + covariances[items].sum(axis=0)
            inverse = np.linalg.inv(product + model.variance * np.diag(1.0 / model.user_scales))
            found.weights[user] = inverse @ (rows.T @ values)
            found.covariances[user] = model.variance * inverse
    return found


def expected_error(ratings: gv.Ratings, model: ItemPosterior, users: Users) -> float:
    """Σ E (y − u·w)² with independent items and users, term by term."""
    covariances = unpacked(model.covariances, model.means.shape[1])
    total = 0.0
    for user, item, value in zip(
        ratings.users_of_values(), ratings.items, ratings.values, strict=True
    ):
        mean, spread = model.means[item], covariances[item]
        weight, own = users.weights[user], users.covariances[user]
        total += (value - mean @ weight) ** 2 + mean @ own @ mean + weight @ spread @ weight
        total += np.trace(spread @ own)
    return float(total)


def counts(ratings: gv.Ratings) -> Counts:
    squares = float(ratings.values @ ratings.values) / ratings.n_values
    return Counts(N_USERS - 1.0, float(ratings.n_values), squares)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_pass_sums_what_the_formulas_say(rank: int) -> None:
    ratings, model = table(rank), posterior(rank, 7)
    users = users_of(ratings, model)
    residuals, (moments, gradient, squares, error) = pass_over(gv.CompletionProblem(ratings), model)
    user, item = ratings.users_of_values(), ratings.items
    second = np.einsum("ja,jb->jab", users.weights, users.weights) + users.covariances
    wanted = np.zeros((N_ITEMS, rank, rank))
    np.add.at(wanted, item, second[user])
    errors = np.einsum("ka,ka->k", model.means[item], users.weights[user]) - ratings.values
    slopes = np.zeros((N_ITEMS, rank))
    spread = np.einsum("kab,kb->ka", users.covariances[user], model.means[item])
    np.add.at(slopes, item, errors[:, None] * users.weights[user] + spread)
    # Sums of some hundred terms of size 1.
    np.testing.assert_allclose(unpacked(moments, rank), wanted, atol=1e-12)
    np.testing.assert_allclose(gradient, slopes, atol=1e-12)
    np.testing.assert_allclose(residuals, -errors, atol=1e-12)
    np.testing.assert_allclose(squares, np.einsum("jaa->a", second), atol=1e-12)
    total = float(errors @ errors) + float(np.sum(spread * model.means[item]))
    assert float(error[0]) == pytest.approx(total, rel=1e-12)


def test_the_sums_of_agents_are_those_of_all_users() -> None:
    ratings, model = table(0), posterior(3, 1)
    whole = pass_over(gv.CompletionProblem(ratings), model)[1]
    parts = [
        pass_over(gv.CompletionProblem(part), model)[1]
        for part in gv.datasets.split_users(ratings, 4)
    ]
    for place, array in enumerate(whole):
        np.testing.assert_allclose(sum(part[place] for part in parts), array, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 3])
def test_a_step_computes_the_expected_error_after_it(rank: int) -> None:
    ratings, model = table(4), posterior(rank, 5)
    users = users_of(ratings, model)
    after = improved(
        model, counts(ratings), list(pass_over(gv.CompletionProblem(ratings), model)[1])
    )
    wanted = expected_error(ratings, after, users)
    assert after.variance * ratings.n_values == pytest.approx(wanted, rel=1e-11)

    # Items are updated to their best, so a small change of any of them is not better.
    def cost(means: Array) -> float:
        moved = ItemPosterior(
            means, after.covariances, after.item_scales, after.user_scales, after.variance
        )
        prior = model.variance * float(np.sum(means**2 / model.item_scales))
        return expected_error(ratings, moved, users) + prior

    rng = np.random.default_rng(0)
    best = cost(after.means)
    for _ in range(5):
        change = 1e-3 * rng.standard_normal(after.means.shape)
        assert cost(after.means + change) > best


def test_small_errors_are_computed_without_cancellation() -> None:
    rng = np.random.default_rng(2)
    means, weights = rng.standard_normal((N_ITEMS, 2)), rng.standard_normal((N_USERS, 2))
    ratings = table(6)
    users, items = ratings.users_of_values(), ratings.items
    values = np.einsum("ka,ka->k", means[items], weights[users])
    exact = gv.Ratings(N_ITEMS, ratings.starts, ratings.items, values)
    model = ItemPosterior(means, np.zeros((N_ITEMS, 3)), np.ones(2), np.ones(2), 1e-20)
    after = improved(model, counts(exact), list(pass_over(gv.CompletionProblem(exact), model)[1]))
    # Σy² is about 1e2, and double precision ends at 1e-16 of it.
    assert 0.0 < after.variance < 1e-18
