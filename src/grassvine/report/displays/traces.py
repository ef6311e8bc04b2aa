"""What a history tells of all agents together, over slots, updates or bytes.

A row of the gossip methods is an agent's state *before* a move, and an agent rests between its
moves: after t slots it stands where its next row says. So the cost of all agents after t slots is
known exactly, though only some of them moved. A row of a method of sums is the state *after* its
slot, and has the cost of all already.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, InputError, unknown
from grassvine.protocol.history import History

X_LABELS = {
    "slots": "slots",
    "updates": "updates per agent",
    "bytes": "bytes sent, all agents together",
}


@dataclass(frozen=True, slots=True, eq=False)
class CostTrace:
    """The cost of all agents and the length of the gradient.

    Of sums the gradient is that of all, and its median the same; of other methods the largest and
    the median of what agents report.
    """

    x: Array
    cost: Array
    gradient: Array
    median_gradient: Array
    n_agents: int
    of_sums: bool
    against: str = "slots"

    def __post_init__(self) -> None:
        """Check that it fits together."""
        _check_axis(self.against)
        _check_lengths(self.x, self.cost, self.gradient, self.median_gradient)


@dataclass(frozen=True, slots=True, eq=False)
class DistanceTrace:
    """The largest and the median distance among those that agents saw at their last meetings."""

    x: Array
    largest: Array
    median: Array
    of_sums: bool
    against: str = "slots"

    def __post_init__(self) -> None:
        """Check that it fits together."""
        _check_axis(self.against)
        _check_lengths(self.x, self.largest, self.median)


def cost_trace(history: History, x: str = "slots") -> CostTrace:
    """Follow the cost and the gradient; what a method does not know is NaN."""
    _check_history(history)
    _check_axis(x)
    n_agents = len(np.unique(history["agent"]))
    if _is_of_sums(history):
        meetings = history.where(history["neighbour"] >= 0)
        first = np.unique(meetings["update"], return_index=True)[1]
        slots, updates = meetings["slot"][first] + 1, meetings["update"][first]
        lengths = meetings["gradient_norm"][first]
        at = _places(history, x, updates if x == "updates" else slots)
        return CostTrace(at, meetings["cost"][first], lengths, lengths, n_agents, True, x)
    times = np.unique(history[_clock(x)])
    costs, lengths = (
        np.stack([values[_next(own, times)] for own, values in _by_agent(history, x, column)])
        for column in ("cost", "gradient_norm")
    )
    return CostTrace(
        _places(history, x, times),
        costs.sum(axis=0),
        lengths.max(axis=0),
        np.median(lengths, axis=0),
        n_agents,
        of_sums=False,
        against=x,
    )


def distance_trace(history: History, x: str = "slots") -> DistanceTrace:
    """Follow how far apart neighbours were when they met."""
    _check_history(history)
    _check_axis(x)
    meetings = history.where(np.isfinite(history["distance"]))
    if not len(meetings):
        raise DataError(
            "no agent of this history met a neighbour, so there is no distance to show; "
            "give the history of two agents or more."
        )
    times = np.unique(meetings[_clock(x)])
    seen = np.stack([_last(*own, times) for own in _by_agent(meetings, x, "distance")])
    return DistanceTrace(
        _places(history, x, times),
        np.nanmax(seen, axis=0),
        np.nanmedian(seen, axis=0),
        _is_of_sums(history),
        against=x,
    )


def _is_of_sums(history: History) -> bool:
    """Tell if all agents always held one basis, as programs of sums do, which take no own steps."""
    meetings = history.where(history["neighbour"] >= 0)
    return len(meetings) > 0 and not (meetings["distance"].any() or meetings["step"].any())


def _check_history(history: object) -> None:
    if not isinstance(history, History):
        raise InputError(
            f"the history is of type {type(history).__name__}; give a History, such as "
            "result.history or History.load(path)."
        )
    if not len(history):
        raise DataError("the history has no rows; give that of a run.")


def _check_axis(x: str) -> None:
    if x not in X_LABELS:
        raise InputError(unknown("x", x, X_LABELS))


def _check_lengths(*columns: Array) -> None:
    shapes = [np.shape(column) for column in columns]
    if len(shapes[0]) != 1 or len(set(shapes)) > 1:
        raise InputError(f"a trace has columns of shapes {shapes}; give vectors of one length.")


def _clock(x: str) -> str:
    return "update" if x == "updates" else "slot"


def _places(history: History, x: str, times: Indices) -> Array:
    """Say where times lie along the axis: of bytes, what was sent in the slots before."""
    if x != "bytes":
        return times.astype(np.float64)
    sent = np.concatenate([[0], np.cumsum(history["bytes"])])
    return sent[np.searchsorted(history["slot"], times)].astype(np.float64)


def _by_agent(history: History, x: str, column: str) -> list[tuple[Indices, Array]]:
    """Return the times and the values of each agent, in order."""
    order = np.argsort(history["agent"], kind="stable")
    cuts = np.flatnonzero(np.diff(history["agent"][order])) + 1
    times, values = (np.split(history[name][order], cuts) for name in (_clock(x), column))
    return list(zip(times, values, strict=True))


def _next(own: Indices, times: Indices) -> NDArray[np.intp]:
    return np.minimum(np.searchsorted(own, times), len(own) - 1)


def _last(own: Indices, values: Array, times: Indices) -> Array:
    places = np.searchsorted(own, times, side="right") - 1
    return np.where(places < 0, np.nan, values[np.maximum(places, 0)])
