"""How neighbours came to agree."""

from dataclasses import dataclass, field
from typing import Any

from grassvine.protocol.history import History
from grassvine.report.displays.canvas import (
    curve_look,
    frame,
    learned,
    legend_above,
    open_axes,
    scale_x,
    scale_y,
)
from grassvine.report.displays.traces import X_LABELS, DistanceTrace, distance_trace

OF_SUMS = "0 at all times: agents that add up along a tree hold one basis"


@dataclass(eq=False)
class AgreementDisplay:
    """The distance between neighbours: the largest and the median of what agents last saw.

    Agents of a method of sums hold one basis at all times; the display says so.

    Parameters
    ----------
    trace : DistanceTrace
        What to show.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Where the axes lie.
    largest_line_, median_line_ : matplotlib Line2D
        The curves.
    """

    trace: DistanceTrace
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    largest_line_: Any = field(init=False, repr=False)
    median_line_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "AgreementDisplay":
        """Draw the ``history_`` of a fitted estimator."""
        (history,) = learned(estimator, "history_")
        return cls.from_history(history, x=x, ax=ax, **style)

    @classmethod
    def from_history(
        cls, history: History, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "AgreementDisplay":
        """Draw a history against ``"slots"``, ``"updates"`` or ``"bytes"``.

        ``style`` goes to the line of the largest distance.
        """
        return cls(distance_trace(history, x)).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> "AgreementDisplay":
        """Draw on the given axes, or on those of a new figure."""
        trace = self.trace
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        n_points = len(trace.x)
        look = {**curve_look(0, n_points), "label": "largest distance", **style}
        (self.largest_line_,) = ax.plot(trace.x, trace.largest, **look)
        look = {**curve_look(1, n_points), "label": "median distance"}
        (self.median_line_,) = ax.plot(trace.x, trace.median, **look)
        frame(ax, X_LABELS[trace.against], "distance between neighbours")
        scale_x(ax, trace.against)
        scale_y(ax, why_zero=OF_SUMS if trace.of_sums else "")
        legend_above(ax, [self.largest_line_, self.median_line_])
        return self
