"""Comparison of methods on common splits, with a paired t-test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grassvine.data.tables import RatingTable
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, MissingExtra, PlanError, unknown
from grassvine.foundations.options import whole_number
from grassvine.jobs.base import stopwatch
from grassvine.jobs.compared_methods import METHODS_COMPARED, ComparedMethod, Setting


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Errors and times of one method, one per split."""

    method: str
    rmse: Array
    mae: Array
    seconds: Array
    cpu_seconds: Array


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Results of methods on common splits; the first method is the reference of the t-tests.

    Attributes
    ----------
    rows : tuple of Row
    absent : dict
        Methods that are not installed, with instructions to install them.
    n_test, n_unknown : int
        Numbers of held-out ratings over all splits: those evaluated, and those skipped because
        their user or item does not occur in the training part.
    """

    rows: tuple[Row, ...]
    absent: dict[str, str]
    n_test: int
    n_unknown: int

    def p_value(self, row: Row, error: str) -> float | None:
        """Return the p-value of the paired t-test against the first method.

        None for the first method itself, for a single split, and if all differences are equal.
        """
        from scipy.stats import ttest_rel

        first = self.rows[0]
        differences = getattr(row, error) - getattr(first, error)
        if row is first or len(differences) < 2 or np.ptp(differences) == 0.0:
            return None
        return float(ttest_rel(getattr(row, error), getattr(first, error)).pvalue)


Watch = Callable[[str, int], None]


def compare(
    table: RatingTable,
    methods: Sequence[str],
    setting: Setting,
    *,
    n_splits: int = 5,
    holdout: float = 0.2,
    watch: Watch = lambda method, split: None,
) -> Comparison:
    """Compare methods on random splits of the ratings.

    Split k holds out a random fraction with seed ``setting.seed + k``. The predictions of all
    methods are clipped to the range of the training ratings.

    Parameters
    ----------
    methods : sequence of str
        Keys of ``METHODS_COMPARED``.
    watch : callable
        Called with each method and split before it starts.
    """
    whole_number("splits", n_splits, least=1)
    chosen = _chosen_methods(methods)
    errors: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in chosen}
    absent: dict[str, str] = {}
    n_test = n_unknown = 0
    for split in range(n_splits):
        split_setting = replace(setting, seed=setting.seed + split)
        train, held = table.hold_out(holdout, split_setting.seed)
        if held is None:
            raise DataError("a comparison needs held-out ratings; choose a holdout above 0.")
        test = _known(train, held)
        n_test += test.ratings.n_values
        n_unknown += held.ratings.n_values - test.ratings.n_values
        for name, method in chosen.items():
            if name in absent:
                continue
            watch(name, split)
            try:
                errors[name].append(_measured(method, train, test, split_setting))
            except MissingExtra as missing:
                absent[name] = str(missing)
    rows = [Row(name, *np.array(errors[name]).T) for name in chosen if name not in absent]
    return Comparison(tuple(rows), absent, n_test, n_unknown)


def _chosen_methods(methods: Sequence[str]) -> dict[str, ComparedMethod]:
    for name in methods:
        if name not in METHODS_COMPARED:
            raise PlanError(unknown("method", name, METHODS_COMPARED))
    if len(set(methods)) < len(methods) or not methods:
        raise PlanError(f"the methods are {', '.join(methods)!r}; name each method once.")
    return {name: METHODS_COMPARED[name] for name in methods}


def _known(train: RatingTable, test: RatingTable) -> RatingTable:
    """Return the held-out ratings whose user and item occur in the training part."""
    users = np.diff(train.ratings.starts) > 0
    items = np.bincount(train.ratings.items, minlength=len(train.items)) > 0
    ratings = test.ratings
    known = ratings.take_values(users[ratings.users_of_values()] & items[ratings.items])
    if not known.n_values:
        raise DataError(
            "no held-out rating is of a user and an item in the training part; use more ratings, "
            "or hold out less."
        )
    return replace(test, ratings=known)


def _measured(
    method: ComparedMethod, train: RatingTable, test: RatingTable, setting: Setting
) -> tuple[float, float, float, float]:
    seen = train.ratings.values
    with stopwatch() as spent:
        predicted = method(train, test, setting)
    residuals = np.clip(predicted, seen.min(), seen.max()) - test.ratings.values
    rmse, mae = float(np.sqrt(np.mean(residuals**2))), float(np.mean(np.abs(residuals)))
    return rmse, mae, spent["seconds"], spent["cpu_seconds"]
