"""Splits of ratings into a training and a test part, as publications make them.

All ratings of the test part are predicted, also those of users and items without a rating in the
training part: published errors count them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grassvine.data.tables import RatingTable
from grassvine.datasets import load_ratings, locate
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError

ML_100K_FOLD = 20_000  # lines of u.data that mku.sh makes the test part of a split
TEST_SHARE = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A training and a test part; user and item numbers are those of the whole table."""

    name: str
    train: RatingTable
    test: RatingTable

    @classmethod
    def by_mask(cls, name: str, table: RatingTable, test: NDArray[np.bool_]) -> "Split":
        """Split by a mask, in the order of the table's ratings."""
        parts = (replace(table, ratings=table.ratings.take_values(one)) for one in (~test, test))
        return cls(name, *parts)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether user and item of each test rating have training ratings."""
        rated_by = np.diff(self.train.ratings.starts) > 0
        rated = self.train.counts > 0
        test = self.test.ratings
        both: NDArray[np.bool_] = rated_by[test.users_of_values()] & rated[test.items]
        return both


def random_splits(table: RatingTable, share: float, seeds: int) -> Iterator[Split]:
    """Hold out a random share of all ratings, with seeds from 0."""
    for seed in range(seeds):
        train, test = table.hold_out(share, seed)
        assert test is not None
        yield Split(f"seed {seed}", train, test)


def thinned_splits(table: RatingTable, share: float, seeds: int) -> Iterator[Split]:
    """Keep a random share of the ratings, and hold out a fifth of them.

    Users and items that lost all their ratings stay in the table, as new ones would.
    """
    _, kept = table.hold_out(share, 1000)
    assert kept is not None
    return random_splits(kept, TEST_SHARE, seeds)


def ml_100k_splits(folder: Path | None = None) -> Iterator[Split]:
    """The splits u1 … u5 that GroupLens publishes.

    The script mku.sh published with them makes test part k of lines 20,000(k−1)+1 … 20,000k of
    u.data. Where u1.test is present, it is compared with the first.
    """
    table, folder = load_ratings("ml-100k", folder), locate("ml-100k", folder)
    log = np.loadtxt(folder / "u.data", dtype=np.int64)
    place = _places(table, log[:, 0], log[:, 1])
    for fold in range(5):
        test = np.zeros(table.n_ratings, dtype=np.bool_)
        test[place[fold * ML_100K_FOLD : (fold + 1) * ML_100K_FOLD]] = True
        if not fold:
            _require_published(log[:ML_100K_FOLD], folder / "u1.test")
        yield Split.by_mask(f"u{fold + 1}", table, test)


def _require_published(made: NDArray[np.int64], path: Path) -> None:
    """Refuse a first split other than the published one."""
    if not path.is_file():
        return
    published = np.loadtxt(path, dtype=np.int64)
    if not np.array_equal(published, made[np.lexsort((made[:, 1], made[:, 0]))]):
        raise DataError(f"{path} is not the first fifth of u.data; download both again.")


def later_of_each_user(name: str, folder: Path | None = None) -> Iterator[Split]:
    """Test on the last fifth of the ratings of each user, by time."""
    table, times = _with_times(name, folder)
    counts = np.diff(table.ratings.starts)
    rank = np.empty(table.n_ratings, dtype=np.int64)
    rank[np.lexsort((times, table.ratings.users_of_values()))] = np.arange(table.n_ratings)
    within = rank - np.repeat(table.ratings.starts[:-1], counts)
    kept = counts - np.round(TEST_SHARE * counts).astype(np.int64)
    yield Split.by_mask("by time", table, within >= np.repeat(kept, counts))


def later_of_all(name: str, folder: Path | None = None) -> Iterator[Split]:
    """Test on the last fifth of all ratings, by time."""
    table, times = _with_times(name, folder)
    rank = np.empty(table.n_ratings, dtype=np.int64)
    rank[np.argsort(times, kind="stable")] = np.arange(table.n_ratings)
    yield Split.by_mask("by time", table, rank >= round((1.0 - TEST_SHARE) * table.n_ratings))


def _with_times(name: str, folder: Path | None) -> tuple[RatingTable, Indices]:
    """Return a table of MovieLens and the time of each rating, in its order."""
    import polars as pl

    table, folder = load_ratings(name, folder), locate(name, folder)
    file = folder / ("u.data" if name == "ml-100k" else "ratings.dat")
    text = file.read_bytes().replace(b"::", b"\t")
    log = pl.read_csv(text, separator="\t", has_header=False).to_numpy()
    times = np.empty(table.n_ratings, dtype=np.int64)
    times[_places(table, log[:, 0], log[:, 1])] = log[:, 3]
    return table, times


def _places(table: RatingTable, users: Indices, items: Indices) -> Indices:
    """Return where the table has the rating of each user and item."""
    ratings, n_items = table.ratings, len(table.items)
    keys = ratings.users_of_values() * n_items + ratings.items
    wanted = table.users.numbers(users, "user") * n_items + table.items.numbers(items, "item")
    places: Indices = np.searchsorted(keys, wanted)
    return places
