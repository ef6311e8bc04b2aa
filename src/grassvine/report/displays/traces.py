"""Cost, gradient and distance of all agents over slots, updates or bytes, from a history.

A history row of the gossip methods is an agent's state *before* an update, and the state does not
change between updates: after t slots it is that of the agent's next row. The total cost after t
slots is therefore known exactly, although only some agents were updated. A row of an exact method
is the state *after* its slot and already contains the total cost.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, InputError, unknown
from grassvine.protocol.history import History
from grassvine.protocol.sampling import uses_sums

X_LABELS = {
    "slots": "slots",
    "updates": "updates per agent",
    "bytes": "bytes sent by all agents",
}


@dataclass(frozen=True, slots=True, eq=False)
class CostTrace:
    """Total cost and gradient norm.

    For methods based on sums, ``gradient`` and ``median_gradient`` are both the norm of the total
    gradient; for other methods they are the largest and the median over the agents.
    """

    x: Array
    cost: Array
    gradient: Array
    median_gradient: Array
    n_agents: int
    of_sums: bool
    against: str = "slots"

    def __post_init__(self) -> None:
        """Check the axis and the lengths."""
        _check_axis(self.against)
        _check_lengths(self.x, self.cost, self.gradient, self.median_gradient)


@dataclass(frozen=True, slots=True, eq=False)
class DistanceTrace:
    """Largest and median distance to a neighbour over the agents' last meetings."""

    x: Array
    largest: Array
    median: Array
    of_sums: bool
    against: str = "slots"

    def __post_init__(self) -> None:
        """Check the axis and the lengths."""
        _check_axis(self.against)
        _check_lengths(self.x, self.largest, self.median)


def cost_trace(history: History, x: str = "slots") -> CostTrace:
    """Return the total cost and the gradient norm over a run; unknown values are NaN."""
    _check_history(history)
    _check_axis(x)
    n_agents = len(np.unique(history["agent"]))
    if uses_sums(history):
        meetings = history.where(history["neighbour"] >= 0)
        first = np.unique(meetings["update"], return_index=True)[1]
        slots, updates = meetings["slot"][first] + 1, meetings["update"][first]
        norms = meetings["gradient_norm"][first]
        positions = _positions(history, x, updates if x == "updates" else slots)
        return CostTrace(positions, meetings["cost"][first], norms, norms, n_agents, True, x)
    times = np.unique(history[_clock(x)])
    costs, norms = (
        np.stack([values[_next(own, times)] for own, values in _by_agent(history, x, column)])
        for column in ("cost", "gradient_norm")
    )
    return CostTrace(
        _positions(history, x, times),
        costs.sum(axis=0),
        norms.max(axis=0),
        np.median(norms, axis=0),
        n_agents,
        of_sums=False,
        against=x,
    )


def distance_trace(history: History, x: str = "slots") -> DistanceTrace:
    """Return the distances between neighbours over a run."""
    _check_history(history)
    _check_axis(x)
    meetings = history.where(np.isfinite(history["distance"]))
    if not len(meetings):
        raise DataError(
            "no agent met a neighbour in this history; pass the history of a run with at least two "
            "agents."
        )
    times = np.unique(meetings[_clock(x)])
    distances = np.stack([_last(*own, times) for own in _by_agent(meetings, x, "distance")])
    return DistanceTrace(
        _positions(history, x, times),
        np.nanmax(distances, axis=0),
        np.nanmedian(distances, axis=0),
        uses_sums(history),
        against=x,
    )


def _check_history(history: object) -> None:
    if not isinstance(history, History):
        raise InputError(
            f"history is of type {type(history).__name__}; pass a History, such as "
            "result.history or History.load(path)."
        )
    if not len(history):
        raise DataError("the history has no rows; pass the history of a run.")


def _check_axis(x: str) -> None:
    if x not in X_LABELS:
        raise InputError(unknown("x", x, X_LABELS))


def _check_lengths(*columns: Array) -> None:
    shapes = [np.shape(column) for column in columns]
    if len(shapes[0]) != 1 or len(set(shapes)) > 1:
        raise InputError(
            f"the arrays of a trace have shapes {shapes}; pass vectors of the same length."
        )


def _clock(x: str) -> str:
    return "update" if x == "updates" else "slot"


def _positions(history: History, x: str, times: Indices) -> Array:
    """Return x-coordinates of times; for bytes, the number sent in all slots before."""
    if x != "bytes":
        return times.astype(np.float64)
    sent = np.concatenate([[0], np.cumsum(history["bytes"])])
    return sent[np.searchsorted(history["slot"], times)].astype(np.float64)


def _by_agent(history: History, x: str, column: str) -> list[tuple[Indices, Array]]:
    """Return the times and values of each agent, ordered by agent."""
    order = np.argsort(history["agent"], kind="stable")
    cuts = np.flatnonzero(np.diff(history["agent"][order])) + 1
    times, values = (np.split(history[name][order], cuts) for name in (_clock(x), column))
    return list(zip(times, values, strict=True))


def _next(own: Indices, times: Indices) -> NDArray[np.intp]:
    return np.minimum(np.searchsorted(own, times), len(own) - 1)


def _last(own: Indices, values: Array, times: Indices) -> Array:
    indices = np.searchsorted(own, times, side="right") - 1
    return np.where(indices < 0, np.nan, values[np.maximum(indices, 0)])
