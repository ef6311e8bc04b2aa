from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data import (
    Ratings,
    Tasks,
    fold_ratings,
    fold_samples,
    hold_out_ratings,
    hold_out_samples,
    split_samples,
    split_tasks,
    split_users,
)
from grassvine.foundations.errors import DataError


@dataclass(frozen=True)
class Splitter:
    """A splitter, data of ``total`` things that bear their own numbers, and those of a part."""

    make: Callable[[int], Any]
    split: Callable[[Any, Any], list[Any]]
    numbers: Callable[[Any], list[float]]


def numbered_ratings(total: int) -> Ratings:
    return Ratings.from_arrays(np.arange(total), np.zeros(total, int), np.arange(total), n_items=2)


def numbered_tasks(total: int) -> Tasks:
    return Tasks.from_arrays([np.eye(1)] * total, [[number] for number in range(total)])


SPLITTERS = {
    "users": Splitter(numbered_ratings, split_users, lambda part: part.values.tolist()),
    "tasks": Splitter(numbered_tasks, split_tasks, lambda part: [y.item() for y in part.targets]),
    "samples": Splitter(
        lambda total: np.arange(float(total))[:, None],
        split_samples,
        lambda part: part[:, 0].tolist(),
    ),
}
every_splitter = pytest.mark.parametrize("name", SPLITTERS)


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    total = draw(st.integers(1, 60))
    return total, draw(st.integers(1, total))


def parts_of(name: str, total: int, n_agents: int) -> list[list[float]]:
    splitter = SPLITTERS[name]
    return [splitter.numbers(part) for part in splitter.split(splitter.make(total), n_agents)]


@every_splitter
@given(shares())
def test_everything_goes_to_exactly_one_agent_in_order(name: str, share: tuple[int, int]) -> None:
    numbers = [number for part in parts_of(name, *share) for number in part]
    assert numbers == list(range(share[0]))


@every_splitter
@given(shares())
def test_every_agent_has_a_share_and_shares_differ_by_one(
    name: str, share: tuple[int, int]
) -> None:
    sizes = [len(part) for part in parts_of(name, *share)]
    assert len(sizes) == share[1] and min(sizes) > 0
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("name", ["users", "tasks"])
def test_every_part_keeps_all_items(name: str) -> None:
    data = SPLITTERS[name].make(5)
    assert {part.n_items for part in SPLITTERS[name].split(data, 3)} == {data.n_items}


@every_splitter
@pytest.mark.parametrize(
    ("n_agents", "message"),
    [
        (4, "n_agents is 4, but there are 3 {} and each agent needs one; .* from 1 to 3"),
        (0, "n_agents is 0, but there are 3 {}.*; choose a number from 1 to 3"),
        (True, "n_agents must be an integer, not True; pass an int"),
        (2.0, "n_agents must be an integer, not 2.0; pass an int"),
    ],
)
def test_a_number_of_agents_that_does_not_fit_is_refused(
    name: str, n_agents: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message.format(name)):
        parts_of(name, 3, n_agents)


@dataclass(frozen=True)
class Holdout:
    """Ways to divide data into training and test, and groups of numbered things in such data."""

    make: Callable[[list[int]], Any]
    hold_out: Callable[..., tuple[Any, Any]]
    fold: Callable[..., list[tuple[Any, Any]]]
    groups: Callable[[Any], list[dict[int, float]]]
    together: bool  # all groups are divided as one


def ratings_of_sizes(sizes: list[int]) -> Ratings:
    """User j has so many ratings, at the items j, j + 2, …; values are numbers from 0."""
    users = np.repeat(np.arange(len(sizes)), sizes)
    items = np.concatenate([j + 2 * np.arange(size) for j, size in enumerate(sizes)])
    values = np.arange(float(len(users)))
    return Ratings.from_arrays(users, items, values, n_users=len(sizes), n_items=100)


def tasks_of_sizes(sizes: list[int]) -> Tasks:
    """Features and targets of a sample are the same number."""
    numbers = np.split(np.arange(float(sum(sizes))), np.cumsum(sizes)[:-1])
    return Tasks.from_arrays([mine[:, None] for mine in numbers], numbers)


def entries(ratings: Ratings) -> list[dict[int, float]]:
    found: list[dict[int, float]] = [{} for _ in range(ratings.n_users)]
    for user, item, value in zip(
        ratings.users_of_values(), ratings.items, ratings.values, strict=True
    ):
        found[user][int(item)] = float(value)
    return found


def samples_of(tasks: Tasks) -> list[dict[int, float]]:
    return [
        dict(zip(map(int, x[:, 0]), y.tolist(), strict=True))
        for x, y in zip(tasks.features, tasks.targets, strict=True)
    ]


HOLDOUTS = {
    "ratings": Holdout(ratings_of_sizes, hold_out_ratings, fold_ratings, entries, True),
    "samples": Holdout(tasks_of_sizes, hold_out_samples, fold_samples, samples_of, False),
}
every_holdout = pytest.mark.parametrize("holdout", HOLDOUTS.values(), ids=HOLDOUTS)
sizes = st.lists(st.integers(5, 25), min_size=1, max_size=6)
seeds = st.integers(0, 2**32)


def assert_split(holdout: Holdout, whole: Any, train: Any, test: Any) -> None:
    """Every entry is in exactly one part, under the same user and item or task."""
    assert train.n_items == test.n_items == whole.n_items
    parts = holdout.groups(whole), holdout.groups(train), holdout.groups(test)
    for everything, known, hidden in zip(*parts, strict=True):
        assert not set(known) & set(hidden)
        assert known | hidden == everything


def counts(holdout: Holdout, data: Any) -> list[int]:
    each = [len(group) for group in holdout.groups(data)]
    return [sum(each)] if holdout.together else each


@every_holdout
@given(sizes, st.floats(0.0, 1.0, exclude_max=True), seeds)
def test_a_part_of_the_share_is_held_out(
    holdout: Holdout, sizes: list[int], share: float, seed: int
) -> None:
    whole = holdout.make(sizes)
    train, test = holdout.hold_out(whole, share, seed=seed)
    assert_split(holdout, whole, train, test)
    assert counts(holdout, test) == [round(share * n) for n in counts(holdout, whole)]


@every_holdout
@given(sizes, st.integers(2, 5), seeds)
def test_every_entry_is_in_the_test_part_of_exactly_one_fold(
    holdout: Holdout, sizes: list[int], n_folds: int, seed: int
) -> None:
    whole = holdout.make(sizes)
    folds = holdout.fold(whole, n_folds, seed=seed)
    assert len(folds) == n_folds
    tested: list[dict[int, float]] = [{} for _ in sizes]
    for train, test in folds:
        assert_split(holdout, whole, train, test)
        for group, found in zip(holdout.groups(test), tested, strict=True):
            assert not set(group) & set(found)
            found |= group
        for mine, total in zip(counts(holdout, test), counts(holdout, whole), strict=True):
            assert total // n_folds <= mine <= -(-total // n_folds)
    assert tested == holdout.groups(whole)


@every_holdout
@pytest.mark.parametrize("way", ["hold_out", "fold"])
def test_the_same_seed_divides_in_the_same_way_and_another_otherwise(
    holdout: Holdout, way: str
) -> None:
    whole = holdout.make([20, 7, 30])

    def divided(seed: int) -> list[dict[int, float]]:
        if way == "hold_out":
            return holdout.groups(holdout.hold_out(whole, 0.4, seed=seed)[1])
        return holdout.groups(holdout.fold(whole, 3, seed=seed)[0][1])

    assert divided(1) == divided(1)
    assert divided(1) != divided(2)


@every_holdout
def test_dividing_leaves_the_data_alone(holdout: Holdout) -> None:
    whole = holdout.make([6, 9])
    arrays = (
        [*whole.features, *whole.targets]
        if isinstance(whole, Tasks)
        else [whole.starts, whole.items, whole.values]
    )
    before = [array.tobytes() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    parts = [*holdout.hold_out(whole, 0.5), *holdout.fold(whole, 3)[0]]
    for part in parts:
        values = part.targets[0] if isinstance(part, Tasks) else part.values
        values += 1.0
    assert [array.tobytes() for array in arrays] == before


@every_holdout
def test_a_fifth_is_held_out_by_default(holdout: Holdout) -> None:
    assert counts(holdout, holdout.hold_out(holdout.make([10, 20]))[1]) in ([6], [2, 4])


@every_holdout
@pytest.mark.parametrize(
    ("share", "message"),
    [
        (1.0, "share is 1; choose a finite number of at least 0 and below 1"),
        (-0.1, "share is -0.1; choose a finite number of at least 0 and below 1"),
        (np.nan, "share is nan; choose a finite number"),
        ("half", "share must be a number, not 'half'"),
    ],
)
def test_an_impossible_share_is_refused(holdout: Holdout, share: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        holdout.hold_out(holdout.make([6, 9]), share)


@every_holdout
@pytest.mark.parametrize(
    ("n_folds", "message"),
    [
        (
            1,
            "n_folds is 1, but there are (7 ratings|4 samples in a task); choose .* from 2 to .",
        ),
        (
            10,
            "n_folds is 10, but there are (7 ratings|4 samples in a task); choose .* from 2 to .",
        ),
        (2.0, "n_folds must be an integer, not 2.0"),
    ],
)
def test_an_impossible_number_of_folds_is_refused(
    holdout: Holdout, n_folds: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        holdout.fold(holdout.make([4, 3]), n_folds)


def test_one_task_too_small_for_the_folds_is_refused() -> None:
    with pytest.raises(DataError, match="n_folds is 5, but there are 3 samples in a task"):
        fold_samples(tasks_of_sizes([9, 3]), 5)


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=8).filter(any), data=st.data())
def test_taken_values_are_those_of_a_dense_table(sizes: list[int], data: st.DataObject) -> None:
    ratings = ratings_of_sizes(sizes)
    total = ratings.n_values
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=total, max_size=total)))
    table = np.full((ratings.n_users, ratings.n_items), np.nan)
    table[ratings.users_of_values()[chosen], ratings.items[chosen]] = ratings.values[chosen]
    taken = ratings.take_values(chosen)
    assert (taken.n_users, taken.n_items) == table.shape
    for user, row in enumerate(table):
        mine = slice(taken.starts[user], taken.starts[user + 1])
        assert taken.items[mine].tolist() == np.flatnonzero(~np.isnan(row)).tolist()
        assert taken.values[mine].tolist() == row[~np.isnan(row)].tolist()
    assert (taken.starts.dtype, taken.items.dtype) == (ratings.starts.dtype, ratings.items.dtype)


def test_shifted_values_leave_the_entries_and_the_original_as_they_are() -> None:
    ratings = ratings_of_sizes([2, 0, 3])
    shifted = ratings.shifted(-1.5)
    assert shifted.values.tolist() == [-1.5, -0.5, 0.5, 1.5, 2.5]
    assert ratings.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [list(group) for group in entries(shifted)] == [[0, 2], [], [2, 4, 6]]


def test_a_task_may_be_left_without_samples() -> None:
    tasks = tasks_of_sizes([2, 3])
    taken = tasks.take_samples([np.array([False, False]), np.array([True, False, True])])
    assert [y.tolist() for y in taken.targets] == [[], [2.0, 4.0]]
    assert [x.shape for x in taken.features] == [(0, 1), (2, 1)]
    with pytest.raises(ValueError, match="shorter"):
        tasks.take_samples([np.array([True, True])])
