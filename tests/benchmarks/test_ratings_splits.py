"""The splits of the benchmark page are those that are published, and partitions of the tables."""

import numpy as np
import pytest
from benchmarks.ratings.rows import ROWS
from benchmarks.ratings.splits import Split
from tests.real_data import FOLDER, real_file

from grassvine.datasets import load_ratings


@pytest.fixture(autouse=True)
def _where_the_data_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(FOLDER))


Triples = set[tuple[int, int, int]]


def rows_of(split: Split) -> tuple[Triples, Triples]:
    """The (user, item, rating) triples of both parts, with published ids."""
    both: list[Triples] = []
    for part in (split.train, split.test):
        users = part.users.at(part.ratings.users_of_values()).to_numpy()
        items = part.items.at(part.ratings.items).to_numpy()
        values = part.ratings.values.astype(int)
        both.append(set(zip(users.tolist(), items.tolist(), values.tolist(), strict=True)))
    return both[0], both[1]


def test_u1_is_the_published_split_and_the_five_test_parts_are_all_ratings() -> None:
    published = [
        set(map(tuple, np.loadtxt(real_file(f"ml-100k/u1.{part}"), dtype=int)[:, :3].tolist()))
        for part in ("base", "test")
    ]
    splits = list(ROWS["ml-100k"].splits(None))
    assert list(rows_of(splits[0])) == published
    tests = [rows_of(split)[1] for split in splits]
    assert [len(test) for test in tests] == 5 * [20_000]
    assert len(set.union(*tests)) == 100_000


def test_the_test_part_of_each_user_is_its_latest() -> None:
    log = np.loadtxt(real_file("ml-100k/u.data"), dtype=int)
    times = {(user, item): time for user, item, _, time in log.tolist()}
    (split,) = ROWS["ml-100k-user-time"].splits(None)
    train, test = rows_of(split)
    assert len(train | test) == 100_000
    assert not train & test
    latest: dict[int, int] = {}
    for user, item, _ in train:
        latest[user] = max(latest.get(user, 0), times[user, item])
    assert all(times[user, item] >= latest[user] for user, item, _ in test)
    counts = np.bincount(log[:, 0])
    held = np.bincount([user for user, _, _ in test], minlength=len(counts))
    np.testing.assert_array_equal(held, np.round(0.2 * counts))


def test_the_test_part_of_all_is_the_latest_fifth() -> None:
    log = np.loadtxt(real_file("ml-100k/u.data"), dtype=int)
    times = {(user, item): time for user, item, _, time in log.tolist()}
    (split,) = ROWS["ml-100k-time"].splits(None)
    train, test = rows_of(split)
    assert len(test) == 20_000
    assert max(times[user, item] for user, item, _ in train) <= min(
        times[user, item] for user, item, _ in test
    )
    assert np.mean(split.known) < 0.5  # most of the later users are new


def test_a_thinned_table_keeps_its_users_and_items() -> None:
    real_file("ml-100k/u.data")
    split = next(ROWS["thinned-3"].splits(None))
    assert (len(split.train.users), len(split.train.items)) == (943, 1682)
    assert (split.train.n_ratings, split.test.n_ratings) == (2_400, 600)
    whole = load_ratings("ml-100k")
    train, test = rows_of(split)
    assert train | test < rows_of(Split("whole", whole, whole))[0]
