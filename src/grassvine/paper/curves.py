"""What the history of a run tells about an agent, update by update."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.paper.case import Finished
from grassvine.protocol import History


def curve(one: Finished, agent: int, column: str) -> tuple[Array, Array]:
    """Return updates and a column of the history of an agent."""
    history = _history(one).of_agent(agent)
    return history["update"].astype(np.float64), history[column]


def updates_to(one: Finished, agent: int, column: str, goal: float) -> int | None:
    """Return after how many updates a column of an agent's history stays at or below a goal."""
    updates, values = curve(one, agent, column)
    known = np.isfinite(values)
    updates, above = updates[known], np.flatnonzero(values[known] > goal)
    first = above[-1] + 1 if len(above) else 0
    return int(updates[first]) if first < len(updates) else None


def sooner(one: int | None, other: int | None) -> bool:
    """Tell if one number of updates was enough, and is smaller than the other."""
    return one is not None and (other is None or one < other)


def after(updates: int | None) -> str:
    """Word a number of updates."""
    return "more updates than there were" if updates is None else f"{updates} updates"


def value_at(one: Finished, agent: int, column: str, update: int) -> float:
    """Return a column of an agent's history at an update, or at its last one."""
    updates, values = curve(one, agent, column)
    return float(values[min(int(np.searchsorted(updates, update)), len(updates) - 1)])


def _history(one: Finished) -> History:
    assert one.history is not None, "a batch method has no updates of agents"
    return one.history
