"""Figures with the paper's axes: errors on a log scale against updates per agent."""

from collections.abc import Sequence

from grassvine.paper.case import Finished, Results
from grassvine.paper.curves import curve
from grassvine.report.chart import Curve, Panel
from grassvine.report.figure import draw
from grassvine.report.page import Picture

UPDATES = "updates per agent"
SHOWN = (0, 1)  # the paper's agents 1 and 2


def error_and_agreement(
    name: str, results: Results, methods: Sequence[str], distance: str = "distance"
) -> Picture:
    """Draw the training errors of agents 1 and 2 and their distance, for the first repeat."""
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
        f"Training errors of agents 1 and 2 and their distance, for {', '.join(methods)}",
        draw([errors, agreement("(b) agents 1 and 2", runs, distance)]),
        "Agents 1 and 2, as in the paper; first repeat. Each point is the state before an update.",
    )


def agreement(title: str, runs: Sequence[Finished], distance: str = "distance") -> Panel:
    """Return a panel of the distance between agents 1 and 2 whenever they meet."""
    return Panel(
        title,
        UPDATES,
        distance,
        tuple(
            Curve(one.record.method, *curve(one, 0, "distance"), style)
            for style, one in enumerate(runs)
        ),
    )


def _label(one: Finished, agent: int) -> str:
    return f"{one.record.method}, agent {agent + 1}"
