"""Contests on tables: ratings and events of MovieLens-1M, and ratings of Netflix's shape."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.cluster.netflix_like import draw_users
from benchmarks.libraries.contest import Contender, measure
from numpy.typing import NDArray

import grassvine as gv
from grassvine.data import hold_out_ratings
from grassvine.data.tables.event_table import EventTable
from grassvine.datasets import load_ratings
from grassvine.metrics import found, ndcg

PLACES = 100
N_LARGE = 96_000  # users of the large table, with about 20 million ratings
N_TUNING = 9_600  # of them, on which both sides are tuned
EACH = [{"strength": strength} for strength in (5.0, 10.0, 20.0, 40.0)]
STEPS = [{"strength": a, "step": b} for a in (0.02, 0.05, 0.1) for b in (0.005, 0.01, 0.02)]
RATINGS: Mapping[str, Contender] = {
    "ours, map": Contender("grassvine", EACH, (4, 6, 8, 10, 13, 16, 20, 30)),
    "ours, bayes": Contender("grassvine", [{}], (5, 7, 10, 13, 18, 26)),
    "cmfrec": Contender("cmfrec", EACH, (1, 2, 3, 4, 6, 8, 10, 15)),
    "scikit-surprise": Contender("scikit-surprise", STEPS, (10, 20, 30, 40), repeats=1),
    "libmf": Contender(
        "libmf",
        [{"strength": a, "step": b} for a in (0.02, 0.05, 0.1) for b in (0.05, 0.1)],
        (5, 10, 20, 30, 40, 60),
    ),
    "pyspark": Contender(
        "pyspark",
        [{"strength": strength} for strength in (0.03, 0.05, 0.08)],
        (5, 10, 15, 20),
        of_all=True,
        repeats=1,
    ),
}
EVENTS: Mapping[str, Contender] = {
    "ours, events": Contender(
        "grassvine",
        [{"unobserved": "auto", "strength": "auto"}],
        (0,),  # a fit decides itself when to stop
    ),
    "implicit": Contender(
        "implicit",
        [{"alpha": a, "strength": s} for a in (2.0, 5.0, 10.0) for s in (10.0, 60.0, 150.0)],
        (2, 3, 5, 8, 15),
    ),
}
LARGE: Mapping[str, Contender] = {
    "ours on Ray": Contender("grassvine", EACH, (5, 6, 8, 10, 13), of_all=True),
    "pyspark": Contender(
        "pyspark",
        [{"strength": strength} for strength in (0.05, 0.1, 0.2)],
        (4, 8, 12),
        of_all=True,
        repeats=1,
    ),
}


def ratings() -> tuple[dict[str, Any], dict[str, str]]:
    """RMSE on a tenth of MovieLens-1M's ratings, at rank 10."""
    table = load_ratings("ml-1m").ratings
    return _of_ratings(RATINGS, table, table)


def large() -> tuple[dict[str, Any], dict[str, str]]:
    """RMSE on a tenth of 20 million ratings of Netflix's shape, at rank 10, on two processors."""
    return _of_ratings(LARGE, draw_users(0, N_LARGE), draw_users(0, N_TUNING))


def events() -> tuple[dict[str, Any], dict[str, str]]:
    """1 − nDCG@100 of a fifth of each user's items, MovieLens-1M as events, at rank 64."""
    table = EventTable.of(load_ratings("ml-1m"))
    split = table.split_for_test("random", 0.2, 0)
    tuning = split.train.split_for_test("random", 0.2, 1)
    parts = {
        "train": tuning.train.ratings,
        "validation": tuning.test.ratings,
        "whole": split.train.ratings,
        "test": split.test.ratings,
    }

    def score(part: str, lists: NDArray[Any]) -> float:
        truth = parts[part].choose_users(np.flatnonzero(np.diff(parts[part].starts)))
        gains = ndcg(found(lists.astype(np.int64), truth), np.diff(truth.starts), PLACES)
        return 1.0 - float(gains.mean())

    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts.items():
            _write(Path(folder), name, part)
        return measure(EVENTS, Path(folder), score)


def _of_ratings(
    contenders: Mapping[str, Contender], table: gv.Ratings, few: gv.Ratings
) -> tuple[dict[str, Any], dict[str, str]]:
    """Compare on a table, with settings tuned on some of its users or all."""
    whole, test = hold_out_ratings(table, 0.1, seed=0)
    tuning = whole if few is table else hold_out_ratings(few, 0.1, seed=2)[0]
    train, validation = hold_out_ratings(tuning, 0.1, seed=1)
    parts = {"train": train, "validation": validation, "whole": whole, "test": test}
    truth = {name: parts[name].values for name in ("validation", "test")}
    least, most = float(table.values.min()), float(table.values.max())

    def score(part: str, predicted: NDArray[Any]) -> float:
        errors = np.clip(predicted, least, most) - truth[part]
        return float(np.sqrt(np.mean(errors**2)))

    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts.items():
            _write(Path(folder), name, part)
        del table, few, whole, test, tuning, train, validation, parts
        return measure(contenders, Path(folder), score)


def _write(folder: Path, name: str, part: gv.Ratings) -> None:
    """Write the ratings of a part for libraries of any environment."""
    columns: dict[str, Any] = {
        "users": part.users_of_values().astype(np.int32),
        "items": part.items.astype(np.int32),
        "values": part.values.astype(np.float32),
    }
    np.savez(folder / f"{name}.npz", n_items=part.n_items, **columns)
    pl.DataFrame(columns).write_parquet(folder / f"{name}.parquet")
