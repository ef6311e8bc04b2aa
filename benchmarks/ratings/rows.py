"""The rows of the page: tables, their splits, and the published figures beside them."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.ratings import published
from benchmarks.ratings.monti import read_monti
from benchmarks.ratings.published import Published
from benchmarks.ratings.splits import (
    Split,
    later_of_all,
    later_of_each_user,
    ml_100k_splits,
    random_splits,
    thinned_splits,
)

from grassvine.datasets import load_ratings
from grassvine.datasets.store import VARIABLE

N_RANDOM, N_FEW = 10, 5


@dataclass(frozen=True, slots=True)
class Row:
    """A table with its splits.

    ``splits`` gets the folder that was named for the row on the command line, if any.
    """

    title: str
    splits: Callable[[Path | None], Iterator[Split]]
    published: tuple[Published, ...] = ()


def _random(name: str, share: float, seeds: int, folder: Path | None) -> Iterator[Split]:
    return random_splits(load_ratings(name, folder), share, seeds)


def _thinned(share: float, folder: Path | None) -> Iterator[Split]:
    return thinned_splits(load_ratings("ml-100k", folder), share, N_FEW)


def _monti(name: str, folder: Path | None) -> Iterator[Split]:
    yield read_monti(folder or Path(os.environ.get(VARIABLE, "."), name))


ROWS: Mapping[str, Row] = {
    "ml-100k": Row("MovieLens-100K, splits u1 … u5", ml_100k_splits, published.ML_100K),
    "ml-1m-80": Row("MovieLens-1M, random 80/20", partial(_random, "ml-1m", 0.2, N_RANDOM)),
    "ml-1m-90": Row(
        "MovieLens-1M, random 90/10",
        partial(_random, "ml-1m", 0.1, N_RANDOM),
        published.ML_1M_TENTH,
    ),
    "jester": Row("Jester, data set 1, random 80/20", partial(_random, "jester-1", 0.2, N_FEW)),
    "ml-1m-user-time": Row(
        "MovieLens-1M, the last fifth of each user by time",
        partial(later_of_each_user, "ml-1m"),
    ),
    "ml-1m-time": Row(
        "MovieLens-1M, the last fifth of all ratings by time",
        partial(later_of_all, "ml-1m"),
    ),
    "ml-100k-user-time": Row(
        "MovieLens-100K, the last fifth of each user by time",
        partial(later_of_each_user, "ml-100k"),
    ),
    "ml-100k-time": Row(
        "MovieLens-100K, the last fifth of all ratings by time",
        partial(later_of_all, "ml-100k"),
    ),
    "thinned-10": Row("MovieLens-100K thinned to 10%, random 80/20", partial(_thinned, 0.1)),
    "thinned-3": Row("MovieLens-100K thinned to 3%, random 80/20", partial(_thinned, 0.03)),
    "douban": Row("Douban, Monti's split", partial(_monti, "douban"), published.DOUBAN),
    "flixster": Row("Flixster, Monti's split", partial(_monti, "flixster"), published.FLIXSTER),
    "yahoo-music": Row(
        "YahooMusic, Monti's split", partial(_monti, "yahoo_music"), published.YAHOO_MUSIC
    ),
    "ml-10m": Row(
        "MovieLens-10M, random 90/10", partial(_random, "ml-10m", 0.1, N_FEW), published.ML_10M
    ),
}
