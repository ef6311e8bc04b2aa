"""The methods of the page: each fits a training part and predicts the ratings of a test part."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from benchmarks.ratings.splits import Split, random_splits
from benchmarks.timing import timed

from grassvine.data.tables import ratings_from_matrix
from grassvine.estimators.completion import MatrixCompleter
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MissingExtra
from grassvine.jobs.compared_methods import METHODS_COMPARED, Setting

LEVEL = 0.9  # of the intervals
MAP_RANK = 10  # of the methods whose rank is given


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """Predictions of the ratings of a test part, not clipped, and what they took.

    ``bytes`` and ``sums`` are those of the fit, and NaN if the method has one owner only.
    ``intervals`` are the lower and upper ends of 90% intervals and the standard deviations, if the
    method has them; they are not part of the time.
    """

    ratings: Array
    cpu_seconds: float
    bytes: float = np.nan
    sums: float = np.nan
    rank: float = np.nan
    intervals: tuple[Array, Array, Array] | None = None


Fit = Callable[[Split, int], Predicted]


def _ours(*, intervals: bool = False, **options: object) -> Fit:
    def fit(split: Split, agents: int) -> Predicted:
        estimator = MatrixCompleter(agents=agents, network="star", **options)  # type: ignore[arg-type]
        users, items = split.test.ratings.users_of_values(), split.test.ratings.items
        ids = split.test.users.at(users), split.test.items.at(items)

        def fit_and_predict() -> Array:
            return estimator.fit(split.train).model_.predict(*ids, "fallback").ratings

        ratings, took = timed(fit_and_predict)
        return Predicted(
            ratings,
            took.cpu,
            estimator.bytes_,
            float(estimator.n_iter_),
            estimator.rank_,
            _intervals(estimator, *ids) if intervals else None,
        )

    return fit


def _intervals(estimator: MatrixCompleter, *ids: object) -> tuple[Array, Array, Array]:
    found = estimator.model_.predict(*ids, "fallback", return_std=True, return_interval=LEVEL)
    assert found.lower is not None and found.upper is not None and found.std is not None
    return found.lower, found.upper, found.std


def _compared(name: str) -> Fit:
    """Return a method of ``grassvine compare`` that has one owner of all data."""

    def fit(split: Split, agents: int) -> Predicted:
        setting = Setting(rank=MAP_RANK, agents=agents)
        ratings, took = timed(lambda: METHODS_COMPARED[name](split.train, split.test, setting))
        return Predicted(ratings, took.cpu, rank=MAP_RANK)

    return fit


METHODS: Mapping[str, Fit] = {
    "default": _ours(intervals=True),
    "rank-10": _ours(rank=MAP_RANK, intervals=True),
    "map": _ours(method="map", rank=MAP_RANK),
    "biases": _ours(method="map", rank=0),
    "cmfrec": _compared("cmfrec"),
}


def warm_up(methods: Sequence[str]) -> None:
    """Fit a small table, so that importing and compiling are not measured."""
    table = ratings_from_matrix(np.arange(600.0).reshape(30, 20) % 7 % 5 + 1.0)
    (split,) = random_splits(table, 0.2, 1)
    for method in methods:
        with suppress(MissingExtra):
            METHODS[method](split, 1)
