"""Display of the distance between neighbours over a run."""

from dataclasses import dataclass, field
from typing import Any

from grassvine.protocol.history import History
from grassvine.report.displays.canvas import (
    curve_style,
    fitted_attributes,
    frame,
    legend_above,
    open_axes,
    scale_x,
    scale_y,
)
from grassvine.report.displays.traces import X_LABELS, DistanceTrace, distance_trace

WHY_ZERO = "always 0: agents that sum along a tree share one basis"


@dataclass(eq=False)
class AgreementDisplay:
    """Distance between neighbours: the largest and the median over the agents' last meetings.

    Agents of exact methods always share one basis, which the display notes.

    Parameters
    ----------
    trace : DistanceTrace
        Distances to plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    largest_line_, median_line_ : matplotlib Line2D
        Lines of the largest and the median distance.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.report.displays import AgreementDisplay
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip(max_iter=20))
    >>> result = gv.run(plan, [gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])] * 2)
    >>> AgreementDisplay.from_history(result.history).ax_.get_xlabel()
    'slots'
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
        """Plot the ``history_`` of a fitted estimator."""
        (history,) = fitted_attributes(estimator, "history_")
        return cls.from_history(history, x=x, ax=ax, **style)

    @classmethod
    def from_history(
        cls, history: History, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "AgreementDisplay":
        """Plot a history against ``"slots"``, ``"updates"`` or ``"bytes"``.

        ``style`` is passed to the line of the largest distance.
        """
        return cls(distance_trace(history, x)).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> "AgreementDisplay":
        """Plot on the given axes or on a new figure."""
        trace = self.trace
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        n_points = len(trace.x)
        options = {**curve_style(0, n_points), "label": "largest distance", **style}
        (self.largest_line_,) = ax.plot(trace.x, trace.largest, **options)
        options = {**curve_style(1, n_points), "label": "median distance"}
        (self.median_line_,) = ax.plot(trace.x, trace.median, **options)
        frame(ax, X_LABELS[trace.against], "distance between neighbours")
        scale_x(ax, trace.against)
        scale_y(ax, why_zero=WHY_ZERO if trace.of_sums else "")
        legend_above(ax, [self.largest_line_, self.median_line_])
        return self
