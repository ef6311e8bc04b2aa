from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from grassvine.data import Ratings
from grassvine.datasets import LowRankRatings, low_rank_ratings, subspace_tasks
from grassvine.foundations.arrays import Array, as_basis
from grassvine.foundations.errors import DataError
from grassvine.geometry import Grassmann
from grassvine.networks import path
from grassvine.runs import Plan

# Sums of at most 30 products of numbers of the order of 10 round to about 30·100·2.2e-16 ≈ 7e-13.
ROUNDING = 1e-11


def ratings_subspace(seed: int) -> Array:
    return low_rank_ratings(30, 40, 3, oversampling=2.0, seed=seed).subspace


def tasks_subspace(seed: int) -> Array:
    return subspace_tasks(30, 4, 3, seed=seed).subspace


GENERATORS = [ratings_subspace, tasks_subspace]


def full_table(n_items: int, n_users: int, rank: int, **options: Any) -> LowRankRatings:
    everything = n_items * n_users / (rank * (n_items + n_users - rank))
    return low_rank_ratings(n_items, n_users, rank, oversampling=everything, noise=0.0, **options)


def dense(ratings: Ratings) -> Array:
    assert ratings.density == 1.0
    return ratings.values.reshape(ratings.n_users, ratings.n_items).T


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_true_subspace_is_an_orthonormal_basis(generator: Any) -> None:
    assert as_basis(generator(0), n_items=30, rank=3).shape == (30, 3)


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_same_seed_gives_the_same_bits_and_another_gives_others(generator: Any) -> None:
    assert np.array_equal(generator(4), generator(4))
    assert Grassmann().distance(generator(4), generator(5)) > 0.5


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("seed", range(5))
def test_no_start_of_a_run_is_near_the_answer_of_the_same_seed(generator: Any, seed: int) -> None:
    plan = Plan(n_items=30, rank=3, network=path(4), seed=seed)
    distances = [Grassmann().distance(generator(seed), plan.start(a)) for a in range(4)]
    assert min(distances) > 0.5


@pytest.mark.parametrize(
    ("n_items", "n_users", "rank", "oversampling", "n_known"),
    [
        (10, 20, 2, 1.0, 56),  # 2·(10 + 20 − 2)
        (10, 20, 2, 3.0, 168),
        (7, 5, 5, 1.0, 35),  # the whole table
        (6, 50, 1, 2.5, 138),  # 137.5 rounded to even
    ],
)
def test_as_many_entries_are_known_as_promised(
    n_items: int, n_users: int, rank: int, oversampling: float, n_known: int
) -> None:
    ratings = low_rank_ratings(n_items, n_users, rank, oversampling=oversampling).ratings
    assert (ratings.n_items, ratings.n_users) == (n_items, n_users)
    assert ratings.n_values == n_known


@pytest.mark.parametrize("condition", [None, 50.0])
def test_without_noise_the_ratings_of_each_user_lie_in_the_subspace(
    condition: float | None,
) -> None:
    data = low_rank_ratings(30, 40, 3, oversampling=4.0, noise=0.0, condition=condition)
    ratings = data.ratings
    for first, last in pairwise(ratings.starts.tolist()):
        part, values = data.subspace[ratings.items[first:last]], ratings.values[first:last]
        weights = np.linalg.lstsq(part, values, rcond=None)[0]
        assert len(values) > 3  # with no more entries than dimensions everything would fit
        np.testing.assert_allclose(part @ weights, values, atol=ROUNDING)


def test_a_full_table_has_the_rank_requested() -> None:
    table = dense(full_table(20, 30, 4).ratings)
    assert np.linalg.matrix_rank(table) == 4


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e4])
def test_the_condition_number_of_the_table_is_as_requested(condition: float) -> None:
    table = dense(full_table(20, 30, 4, condition=condition).ratings)
    sizes = np.linalg.svd(table, compute_uv=False)[:4]
    wanted = np.sqrt(20 * 30) * condition ** (-np.arange(4) / 3)
    # A singular value is found to a few times 2.2e-16 of the largest, which is at most 1e4 times
    # the least: a few times 2e-12.
    np.testing.assert_allclose(sizes, wanted, rtol=2e-11)


def test_noise_changes_the_values_by_its_size_and_nothing_else() -> None:
    clean, noisy = (
        low_rank_ratings(40, 60, 3, oversampling=5.0, noise=noise).ratings for noise in (0.0, 0.1)
    )
    assert np.array_equal(clean.items, noisy.items) and np.array_equal(clean.starts, noisy.starts)
    # The deviation of n normal numbers is known to a share of 1/√(2n); five of them.
    share = float(np.std(noisy.values - clean.values)) / 0.1
    assert abs(share - 1) < 5 / np.sqrt(2 * clean.n_values)


def test_every_item_and_user_can_be_given_enough_entries() -> None:
    plain = low_rank_ratings(80, 90, 2, oversampling=3.0, seed=1).ratings
    fewest = min(np.diff(plain.starts).min(), np.bincount(plain.items, minlength=80).min())
    enough = int(fewest) + 1
    drawn = low_rank_ratings(80, 90, 2, oversampling=3.0, least_entries=enough, seed=1).ratings
    assert np.diff(drawn.starts).min() >= enough
    assert np.bincount(drawn.items, minlength=80).min() >= enough
    assert drawn.n_values == plain.n_values
    with pytest.raises(DataError, match="some item or user has fewer than 9; choose a larger"):
        low_rank_ratings(10, 10, 1, oversampling=2.0, least_entries=9)


def test_entries_are_known_uniformly_over_items_and_users() -> None:
    ratings = low_rank_ratings(50, 50, 2, oversampling=1250 / 196).ratings
    counts = np.concatenate([np.bincount(ratings.items, minlength=50), np.diff(ratings.starts)])
    # Half of the table: each row and column has 25 ± √(50/4) entries; five deviations.
    assert np.abs(counts - 25).max() < 5 * np.sqrt(12.5)


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((6, 9, 7), {}, "rank is 7, but .*; choose a number from 1 to 6"),
        ((9, 3, 5), {}, "rank is 5, but .*; choose a number from 1 to 3"),
        ((6, 9, 0), {}, "rank is 0, but .*; choose a number from 1 to 6"),
        ((6, 9, -2), {}, "rank is -2, but .*; choose a number from 1 to 6"),
        ((6, 9, True), {}, "rank must be an integer, not True; pass an int"),
        ((6, 9, 2.0), {}, "rank must be an integer, not 2.0; pass an int"),
        ((10, 10, 2), {"oversampling": 50.0}, "50 requires 1800 of 100 entries; .* at most 2.7"),
        ((6, 9, 2), {"oversampling": -1.0}, "oversampling is -1; .* finite number of at least 0"),
        ((6, 9, 2), {"oversampling": np.nan}, "oversampling is nan; choose a finite number"),
        ((6, 9, 2), {"oversampling": True}, "oversampling must be a number, not True"),
        ((10, 3, 5), {}, "rank is 5, but a table of 10 items and 3 users has at most rank 3"),
        ((10, 29, 3), {"oversampling": 1e3}, "choose at most 2.685"),
        ((6.0, 9, 2), {}, "n_items must be an integer, not 6.0"),
        ((6, 9, 2), {"condition": 0.5}, "condition is 0.5; choose a finite number of at least 1"),
        ((6, 9, 2), {"noise": -1.0}, "noise is -1; choose a finite number of at least 0"),
        ((6, 9, 2), {"oversampling": 0.0}, "there are no ratings; pass at least one"),
    ],
)
def test_impossible_ratings_are_refused(
    sizes: tuple[Any, Any, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        low_rank_ratings(*sizes, **({"oversampling": 1.0} | options))


SIZES: dict[str, Any] = {"n_items": 12, "n_users": 30, "rank": 2}
every_condition = pytest.mark.parametrize("condition", [None, 20.0])


def places(ratings: Ratings) -> set[tuple[int, int]]:
    return set(zip(ratings.users_of_values().tolist(), ratings.items.tolist(), strict=True))


@every_condition
@pytest.mark.parametrize("n_test", [1, 200, 360])
def test_the_test_set_is_the_table_itself_where_it_is_not_known(
    n_test: int, condition: float | None
) -> None:
    options: dict[str, Any] = {**SIZES, "condition": condition, "seed": 2}
    data = low_rank_ratings(**options, oversampling=2.0, noise=0.5, n_test=n_test)
    truth = full_table(**options).ratings
    test = data.test
    assert test is not None
    assert (test.n_items, test.n_users) == (12, 30)
    assert not places(test) & places(data.ratings)
    # The same sums in the same order, without the noise of the known entries.
    table = dense(truth)
    assert np.array_equal(test.values, table[test.items, test.users_of_values()])
    known = data.ratings
    assert np.abs(known.values - table[known.items, known.users_of_values()]).max() > 0.5
    if n_test == 360:  # all that is left
        assert len(places(test)) + len(places(known)) == 360


def test_the_test_set_is_drawn_uniformly_without_a_glance_at_what_is_known() -> None:
    data = low_rank_ratings(50, 200, 2, oversampling=5.0, n_test=2480, seed=3)
    assert data.test is not None and data.ratings.n_values == 2480
    left = 1.0 - data.ratings.density
    # So many draws fall on unknown entries with that chance, without repetition; five deviations.
    assert abs(data.test.n_values - 2480 * left) < 5 * np.sqrt(2480 * left * (1 - left))


@every_condition
def test_asking_for_a_test_set_does_not_change_the_ratings(condition: float | None) -> None:
    plain, tested = (
        low_rank_ratings(**SIZES, oversampling=2.0, condition=condition, n_test=n, seed=4)
        for n in (0, 100)
    )
    assert plain.test is None and tested.test is not None
    assert np.array_equal(plain.subspace, tested.subspace)
    for name in ("starts", "items", "values"):
        one, other = getattr(plain.ratings, name), getattr(tested.ratings, name)
        assert np.array_equal(one, other)


def test_test_sets_repeat_with_the_seed_and_differ_without() -> None:
    sets = [
        low_rank_ratings(**SIZES, oversampling=1.0, n_test=50, seed=seed).test for seed in (1, 1, 2)
    ]
    found = [places(test) for test in sets if test is not None]
    assert found[0] == found[1] != found[2]


def test_a_table_that_is_known_whole_has_no_test_set() -> None:
    assert full_table(**SIZES, n_test=100).test is None


@pytest.mark.parametrize(
    ("n_test", "message"),
    [
        (-1, "n_test is -1; choose a number from 0 to 360"),
        (361, "n_test is 361; choose a number from 0 to 360"),
        (1.0, "n_test must be an integer, not 1.0"),
    ],
)
def test_impossible_test_sets_are_refused(n_test: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        low_rank_ratings(**SIZES, oversampling=1.0, n_test=n_test)


def test_tasks_have_the_promised_shapes() -> None:
    tasks = subspace_tasks(8, 60, 2, samples=(3, 5)).tasks
    assert (tasks.n_items, tasks.n_tasks) == (8, 60)
    assert {len(target) for target in tasks.targets} == {3, 4, 5}


def test_without_noise_the_weights_of_each_task_lie_in_the_subspace() -> None:
    data = subspace_tasks(30, 6, 3, samples=(10, 15), noise=0.0)
    for x, y in zip(data.tasks.features, data.tasks.targets, strict=True):
        weights = np.linalg.lstsq(x @ data.subspace, y, rcond=None)[0]
        np.testing.assert_allclose(x @ data.subspace @ weights, y, atol=ROUNDING)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((6, 4, 7), "rank is 7, but a subspace of 6 items .*; choose a number from 1 to 6"),
        ((6, 4, 0), "rank is 0, but a subspace of 6 items .*; choose a number from 1 to 6"),
        ((6, 4, True), "rank must be an integer, not True"),
        ((6, 0, 2), "n_tasks is 0; choose a number of at least 1"),
        ((6, 4.0, 2), "n_tasks must be an integer, not 4.0"),
    ],
)
def test_impossible_tasks_are_refused(sizes: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        subspace_tasks(*sizes)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ((50, 10), r"samples\[1\] is 10; choose a number of at least 50"),
        ((0, 0), r"samples\[0\] is 0; choose a number of at least 1"),
        ((1.5, 2), r"samples\[0\] must be an integer, not 1.5"),
    ],
)
def test_impossible_numbers_of_samples_are_refused(samples: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        subspace_tasks(6, 4, 2, samples=samples)
