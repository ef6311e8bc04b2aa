"""Comparison of rankings of events on common splits, with differences paired over users."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grassvine.data.event_splits import HowToSplit
from grassvine.data.tables.event_table import EventTable
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, MissingExtra, PlanError, unknown
from grassvine.foundations.options import whole_number
from grassvine.jobs.base import stopwatch
from grassvine.jobs.ranking_methods import RANKED_METHODS, RankedMethod, RankingSetting
from grassvine.metrics import (
    Hits,
    average_precision,
    coverage,
    found,
    ndcg,
    paired_difference,
    recall,
)

PLACES = 100
MEASURES: Mapping[str, Callable[[Hits, Indices], Array]] = {
    "ndcg_10": partial(ndcg, k=10),
    "ndcg_100": partial(ndcg, k=100),
    "recall_20": partial(recall, k=20),
    "map_100": partial(average_precision, k=100),
}


@dataclass(frozen=True, slots=True, eq=False)
class RankingRow:
    """Measures of one method.

    Attributes
    ----------
    method : str
    per_user : dict of arrays
        Each measure of all test users of all splits.
    coverage : array
        The share of the catalogue among the first ten places, one number per split.
    seconds, cpu_seconds : array
        Times of the fit and the rankings, one per split.
    """

    method: str
    per_user: dict[str, Array]
    coverage: Array
    seconds: Array
    cpu_seconds: Array

    def mean(self, measure: str) -> float:
        """Return the mean over users."""
        return float(np.nanmean(self.per_user[measure]))


@dataclass(frozen=True, slots=True, eq=False)
class RankingComparison:
    """Results of methods on common splits; the first method is the reference of differences.

    Attributes
    ----------
    rows : tuple of RankingRow
    absent : dict
        Methods that are not installed, with instructions to install them.
    n_test : int
        Number of held-out events over all splits.
    """

    rows: tuple[RankingRow, ...]
    absent: dict[str, str]
    n_test: int

    def difference(self, row: RankingRow, measure: str) -> tuple[float, float]:
        """Return by how much a method is better than the first, and the standard error.

        Both are over the users of all splits, so those of several splits count as several.
        """
        return paired_difference(row.per_user[measure], self.rows[0].per_user[measure])


Watch = Callable[[str, int], None]


def compare_rankings(
    table: EventTable,
    methods: Sequence[str] | Mapping[str, RankedMethod],
    setting: RankingSetting,
    *,
    n_splits: int = 3,
    split: HowToSplit = "random",
    holdout: float = 0.2,
    watch: Watch = lambda method, split: None,
) -> RankingComparison:
    """Compare methods on splits of events; split k has the seed ``setting.seed + k``.

    Parameters
    ----------
    methods : sequence of str, or dict of functions
        Keys of ``RANKED_METHODS``, or methods by name.
    split, holdout
        See :mod:`grassvine.data.event_splits`.
    watch : callable
        Called with each method and split before it starts.
    """
    whole_number("splits", n_splits, least=1)
    chosen = methods if isinstance(methods, Mapping) else _chosen(methods)
    per_user: dict[str, dict[str, list[Array]]] = {
        name: {measure: [] for measure in MEASURES} for name in chosen
    }
    others: dict[str, list[tuple[float, float, float]]] = {name: [] for name in chosen}
    absent: dict[str, str] = {}
    n_test = 0
    for number in range(n_splits):
        own = replace(setting, seed=setting.seed + number)
        parts = table.split_for_test(split, holdout, own.seed)
        given, test = parts.given.ratings, parts.test.ratings
        users = np.flatnonzero((np.diff(test.starts) > 0) & (np.diff(given.starts) > 0))
        if not len(users):
            raise DataError(
                "no held-out event is of a user with other events; use more events, or hold out "
                "less."
            )
        relevant = test.choose_users(users)
        n_test += relevant.n_values
        for name, method in chosen.items():
            if name in absent:
                continue
            watch(name, number)
            try:
                with stopwatch() as spent:
                    lists = method(parts, users, PLACES, own)
            except MissingExtra as missing:
                absent[name] = str(missing)
                continue
            hits, n_relevant = found(lists, relevant), np.diff(relevant.starts)
            for measure, compute in MEASURES.items():
                per_user[name][measure].append(compute(hits, n_relevant))
            covered = coverage(lists, relevant.n_items, 10)
            others[name].append((covered, spent["seconds"], spent["cpu_seconds"]))
    rows = [
        RankingRow(
            name,
            {measure: np.concatenate(values) for measure, values in per_user[name].items()},
            *np.array(others[name]).T,
        )
        for name in chosen
        if name not in absent
    ]
    return RankingComparison(tuple(rows), absent, n_test)


def _chosen(methods: Sequence[str]) -> dict[str, RankedMethod]:
    for name in methods:
        if name not in RANKED_METHODS:
            raise PlanError(unknown("method", name, RANKED_METHODS))
    if len(set(methods)) < len(methods) or not methods:
        raise PlanError(f"the methods are {', '.join(methods)!r}; name each method once.")
    return {name: RANKED_METHODS[name] for name in methods}
