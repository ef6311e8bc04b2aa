"""The curves of a history at a limited number of slots.

A history may have millions of rows; pictures need a few hundred points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array
from grassvine.protocol.history import History


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Columns with one entry per chosen slot; numbers that are not known are NaN.

    Attributes
    ----------
    slots, updates : int arrays
        Slots that are over, and updates per agent.
    bytes, messages : int arrays
        What was sent until then.
    cost : array
        The total cost: the last one of the agent with the most updates if all share one cost, and
        the sum of the agents' last costs otherwise.
    rmse : array
        The root of the mean over agents of their mean squared errors.
    largest, median : arrays
        Distances to neighbours at the agents' last meetings, in degrees; NaN for sums.
    """

    slots: NDArray[np.int64]
    updates: NDArray[np.int64]
    bytes: NDArray[np.int64]
    messages: NDArray[np.int64]
    cost: Array
    rmse: Array
    largest: Array
    median: Array


def uses_sums(history: History) -> bool:
    """Return whether all agents always shared one basis, as in methods based on sums."""
    meetings = history.where(history["neighbour"] >= 0)
    return len(meetings) > 0 and not (meetings["distance"].any() or meetings["step"].any())


def sampled(history: History, n_points: int) -> Samples:
    """Return the curves at evenly spaced slots."""
    steps = history.where(history["neighbour"] >= 0)
    of_sums, numbers = uses_sums(history), np.unique(steps["agent"])
    slots = np.unique(steps["slot"])
    if len(slots):
        slots = slots[np.unique(np.linspace(0, len(slots) - 1, n_points).astype(int))]
    ends = np.searchsorted(steps["slot"], slots, side="right")
    totals = {name: np.concatenate([[0], np.cumsum(steps[name])]) for name in ("bytes", "messages")}
    shape = (len(numbers), len(slots))
    last = {name: np.full(shape, np.nan) for name in ("cost", "mse", "distance")}
    updates = np.zeros(shape, dtype=np.int64)
    order = np.argsort(steps["agent"], kind="stable")
    cuts = np.searchsorted(steps["agent"][order], numbers)[1:]
    for row, mine in enumerate(np.split(order, cuts) if len(numbers) else ()):
        found = np.searchsorted(steps["slot"][mine], slots, side="right") - 1
        there = found >= 0
        for name, values in last.items():
            values[row, there] = steps[name][mine][found[there]]
        updates[row, there] = steps["update"][mine][found[there]]
    newest = updates.argmax(axis=0) if len(numbers) else np.zeros(len(slots), dtype=np.int64)
    costs = last["cost"]
    distances = np.full((1, len(slots)), np.nan) if of_sums else np.degrees(last["distance"])
    return Samples(
        slots=slots + 1,
        updates=updates.sum(axis=0) // max(len(numbers), 1),
        bytes=totals["bytes"][ends],
        messages=totals["messages"][ends],
        cost=costs[newest, np.arange(len(slots))] if of_sums else costs.sum(axis=0),
        rmse=_known(last["mse"], lambda values: math.sqrt(values.mean())),
        largest=_known(distances, lambda values: float(values.max())),
        median=_known(distances, lambda values: float(np.median(values))),
    )


def _known(columns: Array, reduce: Callable[[Array], float]) -> Array:
    """Apply a function to the known numbers of each column; NaN where there is none."""
    found = [column[np.isfinite(column)] for column in columns.T]
    return np.array([reduce(column) if len(column) else np.nan for column in found], float)
