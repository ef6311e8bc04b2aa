"""The best items of users: the same as sorting all scores, in blocks of any size."""

import numpy as np
import pytest

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.models.ranking import best as ranking
from grassvine.models.ranking.best import ItemRows, Wanted, best_in_blocks

N_USERS, N_ITEMS = 12, 700
SIZES = [(1, 1), (1, 10), (3, 10), (8, 64), (8, 200), (64, 10), (3, N_ITEMS)]  # numbers, k


def rows_and_weights(numbers: int, seed: int = 0) -> tuple[Array, Array]:
    rng = stream(seed, "data", "rows and weights")
    rows, weights = rng.standard_normal((N_ITEMS, numbers)), rng.standard_normal((N_USERS, numbers))
    rows[40:80] = rows[0]  # ties
    weights[3] = 0.0  # nothing but ties
    return rows, weights


def seen_by_users(seed: int = 0) -> Ratings:
    rng = stream(seed, "data", "seen")
    users, items = np.nonzero(rng.random((N_USERS, N_ITEMS)) < 0.2)
    return Ratings.from_arrays(users, items, np.ones(len(users)), n_users=N_USERS, n_items=N_ITEMS)


def allowed_items(share: float, seed: int = 0) -> ranking.Mask:
    return stream(seed, "data", "allowed").random(N_ITEMS) < share


def sorted_scores(wanted: Wanted, scores: Array, own: Ratings) -> tuple[Array, Array]:
    """Sort all scores of each user, those of lower numbers first where scores are equal."""
    scores = np.where(wanted.allowed, scores, -np.inf)
    if wanted.exclude_seen:
        scores[own.users_of_values(), own.items] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : wanted.k]
    values = np.take_along_axis(scores, order, axis=1)
    return np.where(np.isneginf(values), -1, order), values


@pytest.mark.parametrize(("numbers", "k"), SIZES)
@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
@pytest.mark.parametrize("size", [1.0, 1e-40, 1e40])  # single precision reaches from 1e-38 to 1e38
def test_the_best_are_those_of_all_scores_sorted(
    numbers: int, k: int, share: float, size: float
) -> None:
    rows, weights = rows_and_weights(numbers)
    wanted, own = Wanted(k, allowed_items(share), exclude_seen=True), seen_by_users()
    found, scores = wanted.of_rows(ItemRows(size * rows), weights / size, own)
    items, values = sorted_scores(wanted, weights @ rows.T, own)
    # Sums of up to 64 products of size 1 to 10, which may be added in another order: 64·10·1e-16.
    np.testing.assert_allclose(scores, values, rtol=1e-12, atol=1e-13)
    finite = np.nan_to_num(values, neginf=-1e3)  # where there are no more items
    untied = np.abs(np.diff(finite, axis=1, append=-1e4)) > 1e-12
    untied &= np.abs(np.diff(finite, axis=1, prepend=1e4)) > 1e-12
    np.testing.assert_array_equal(found[untied], items[untied])
    assert untied.mean() > 0.3 or share < 1.0
    np.testing.assert_array_equal(found == -1, items == -1)


@pytest.mark.parametrize("k", [1, 10, N_ITEMS])
@pytest.mark.parametrize("share", [1.0, 0.01])
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_the_best_of_given_scores_are_those_sorted(
    k: int, share: float, exclude_seen: bool
) -> None:
    wanted, own = Wanted(k, allowed_items(share), exclude_seen), seen_by_users()
    scores = stream(0, "data", "scores").integers(0, 50, (N_USERS, N_ITEMS)) / 7.0  # many ties
    items, values = sorted_scores(wanted, scores, own)
    found, largest = wanted.of_scores(scores.copy(), own)
    np.testing.assert_array_equal(found, items)
    np.testing.assert_array_equal(largest, values)


def test_ties_are_in_the_order_of_the_items() -> None:
    wanted, nothing = Wanted(5, np.ones(N_ITEMS, bool), exclude_seen=False), seen_by_users()
    found, scores = wanted.of_rows(ItemRows(np.ones((N_ITEMS, 2))), np.ones((N_USERS, 2)), nothing)
    np.testing.assert_array_equal(found, np.tile(np.arange(5), (N_USERS, 1)))
    assert (scores == 2.0).all()


def test_scores_that_are_equal_in_single_precision_are_told_apart() -> None:
    """Differences of 1e-12 are lost in single precision, where numbers near 1 are 6e-8 apart."""
    rng = stream(0, "data", "nearly equal")
    order = rng.permutation(N_ITEMS)
    rows = np.column_stack([np.ones(N_ITEMS), 1e-12 * order])
    wanted = Wanted(20, np.ones(N_ITEMS, bool), exclude_seen=False)
    found, _ = wanted.of_rows(ItemRows(rows), np.ones((N_USERS, 2)), seen_by_users())
    best = np.argsort(-order)[:20]
    np.testing.assert_array_equal(found, np.tile(best, (N_USERS, 1)))


@pytest.mark.parametrize("numbers", [1, 5, 64, 300])
@pytest.mark.parametrize("n_users", [1, N_USERS])
def test_the_error_of_approximations_is_bounded(numbers: int, n_users: int) -> None:
    rows, weights = rows_and_weights(numbers)
    weights = weights[:n_users]
    approximate, error = ItemRows(rows).approximate(weights)
    lengths = np.linalg.norm(weights, axis=1) * np.linalg.norm(rows, axis=1).max()
    lengths[3:4] = 1.0  # weights of zero
    exact = weights @ rows.T / lengths[:, None]
    wrong = np.abs(approximate - exact).max()
    assert 0.0 < wrong < error < 1e-4


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("block", [1, 5 * N_ITEMS])
def test_results_do_not_depend_on_blocks_and_threads(
    monkeypatch: pytest.MonkeyPatch, block: int, cores: int
) -> None:
    rows, weights = rows_and_weights(30)
    items, seen = ItemRows(rows), seen_by_users()
    wanted = Wanted(10, allowed_items(0.9), exclude_seen=True)
    asked = np.array([5, 3, 3, 11, 0, 7, 1])

    def found() -> ranking.Best:
        return best_in_blocks(
            lambda users, own: wanted.of_rows(items, weights[users], own), seen, asked, wanted
        )

    at_once = found()
    monkeypatch.setattr(ranking, "BLOCK", block)
    monkeypatch.setattr(ranking, "usable_cores", lambda: cores)
    for ours, theirs in zip(found(), at_once, strict=True):
        np.testing.assert_array_equal(ours, theirs)
