"""Figures with the paper's axes: logarithmic, updates per agent."""

from collections.abc import Sequence

import numpy as np

from grassvine.gossip import History
from grassvine.paper.case import Finished, Results
from grassvine.report.figure import Curve, Panel, draw
from grassvine.report.page import Picture

UPDATES = "updates per agent"
SHOWN = (0, 1)  # the paper's agents 1 and 2


def error_and_agreement(
    name: str, results: Results, methods: Sequence[str], distance: str = "distance"
) -> Picture:
    """Draw the training error of two agents, and the distance between them, of the first repeat."""
    runs = [results.where(method=method).first for method in methods]
    errors = Panel(
        "(a) training error",
        UPDATES,
        "mean squared error",
        tuple(
            Curve(_label(one, agent), *curve(one, agent, "mse"), style, marker)
            for style, one in enumerate(runs)
            for marker, agent in enumerate(SHOWN)
        ),
    )
    return Picture(
        name,
        f"Training error of agents 1 and 2, and their distance, for {', '.join(methods)}",
        draw([errors, agreement("(b) agents 1 and 2", runs, distance)]),
        "Agents 1 and 2 as in the paper, first repeat. A point is the state before an update.",
    )


def agreement(title: str, runs: Sequence[Finished], distance: str = "distance") -> Panel:
    """Draw the distance between agents 1 and 2 whenever agent 1 meets agent 2."""
    return Panel(
        title,
        UPDATES,
        distance,
        tuple(
            Curve(one.record.method, *curve(one, 0, "distance"), style)
            for style, one in enumerate(runs)
        ),
    )


def curve(one: Finished, agent: int, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return updates and a column of the history of an agent."""
    history = _history(one).of_agent(agent)
    return history["update"], history[column]


def updates_to(one: Finished, agent: int, column: str, goal: float) -> int | None:
    """Return after how many updates a column of an agent's history stays at or below a goal."""
    updates, values = curve(one, agent, column)
    known = np.isfinite(values)
    updates, above = updates[known], np.flatnonzero(values[known] > goal)
    first = above[-1] + 1 if len(above) else 0
    return int(updates[first]) if first < len(updates) else None


def value_at(one: Finished, agent: int, column: str, update: int) -> float:
    """Return a column of an agent's history at an update, or at its last one."""
    updates, values = curve(one, agent, column)
    return float(values[min(int(np.searchsorted(updates, update)), len(updates) - 1)])


def _history(one: Finished) -> History:
    assert one.history is not None, "a batch method has no updates of agents"
    return one.history


def _label(one: Finished, agent: int) -> str:
    return f"{one.record.method}, agent {agent + 1}"
