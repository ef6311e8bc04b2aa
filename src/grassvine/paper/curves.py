"""Curves of single agents over their updates, from the history of a run."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.paper.case import Finished
from grassvine.protocol import History


def curve(one: Finished, agent: int, column: str) -> tuple[Array, Array]:
    """Return the updates and one column of an agent's history."""
    history = _history(one).of_agent(agent)
    return history["update"].astype(np.float64), history[column]


def updates_to(one: Finished, agent: int, column: str, goal: float) -> int | None:
    """Return the number of updates after which a column stays at or below a goal, or None."""
    updates, values = curve(one, agent, column)
    known = np.isfinite(values)
    updates, above = updates[known], np.flatnonzero(values[known] > goal)
    first = above[-1] + 1 if len(above) else 0
    return int(updates[first]) if first < len(updates) else None


def sooner(one: int | None, other: int | None) -> bool:
    """Return whether one number of updates is smaller than another; None is never reached."""
    return one is not None and (other is None or one < other)


def format_updates(updates: int | None) -> str:
    """Format a number of updates."""
    return "not reached" if updates is None else str(updates)


def value_at(one: Finished, agent: int, column: str, update: int) -> float:
    """Return a column of an agent's history at an update, or at the last one if it is earlier."""
    updates, values = curve(one, agent, column)
    return float(values[min(int(np.searchsorted(updates, update)), len(updates) - 1)])


def _history(one: Finished) -> History:
    assert one.history is not None, "a batch method has no agents and no history"
    return one.history
