"""Errors of methods on the splits of a row, and the same at several numbers of agents."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.ratings.methods import METHODS, Predicted
from benchmarks.ratings.splits import Split

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MissingExtra


def errors(split: Split, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Fit each method once, with one agent."""
    for method in methods:
        try:
            found = METHODS[method](split, 1)
        except MissingExtra as absent:
            yield {"kind": "absent", "method": method, "why": str(absent)}
            continue
        yield {"kind": "error", "split": split.name, "method": method, **_scores(split, found)}


def by_agents(split: Split, method: str, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Fit a method at several numbers of agents; differences are those to the first."""
    first: Array | None = None
    for agents in numbers:
        if agents > split.train.n_users:
            continue
        found = METHODS[method](split, agents)
        first = found.ratings if first is None else first
        yield {
            "kind": "agents",
            "split": split.name,
            "method": method,
            "agents": agents,
            "difference": float(np.abs(found.ratings - first).max()),
            **_scores(split, found),
        }


def _scores(split: Split, found: Predicted) -> dict[str, Any]:
    seen, truth = split.train.ratings.values, split.test.ratings.values
    residuals, known = np.clip(found.ratings, seen.min(), seen.max()) - truth, split.known
    return {
        "rmse": float(np.sqrt(np.mean(residuals**2))),
        "rmse_known": float(np.sqrt(np.mean(residuals[known] ** 2))),
        "mae": float(np.mean(np.abs(residuals))),
        "cpu_seconds": found.cpu_seconds,
        "bytes": found.bytes,
        "sums": found.sums,
        "rank": found.rank,
        "n_train": len(seen),
        "n_test": len(truth),
        "known": float(np.mean(known)),
        **({} if found.intervals is None else _coverage(truth, *found.intervals)),
    }


def _coverage(truth: Array, lower: Array, upper: Array, deviations: Array) -> dict[str, float]:
    """Return the share of ratings inside their intervals, also of those predicted worst."""
    inside = (lower <= truth) & (truth <= upper)
    widest = deviations >= np.quantile(deviations, 0.8)
    return {
        "coverage": float(np.mean(inside)),
        "coverage_widest": float(np.mean(inside[widest])),
        "width": float(np.mean(upper - lower)),
    }
