"""How cost and gradient fell."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
from grassvine.report.displays.traces import X_LABELS, CostTrace, cost_trace
from grassvine.report.figure import COLOURS


@dataclass(eq=False)
class ConvergenceDisplay:
    """The cost of all agents, and on an axis of its own the length of the gradient.

    A method of sums reports both for all agents together. Of other methods the cost is the sum of
    what each agent's own task costs at its own subspace; the gradient is the largest that an agent
    reports, with a band down to the median. What a method does not know at a time is a gap.

    Parameters
    ----------
    trace : CostTrace
        What to show.

    Attributes
    ----------
    ax_, gradient_ax_ : matplotlib Axes
        The axis of the cost and, at the right, that of the gradient.
    figure_ : matplotlib Figure
        Where they lie.
    cost_line_, gradient_line_ : matplotlib Line2D
        The curves.
    median_line_, band_ : matplotlib artists or None
        The median of the agents' gradients, and what lies between it and the largest.
    """

    trace: CostTrace
    ax_: Any = field(init=False, repr=False)
    gradient_ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    cost_line_: Any = field(init=False, repr=False)
    gradient_line_: Any = field(init=False, repr=False)
    median_line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "ConvergenceDisplay":
        """Draw the ``history_`` of a fitted estimator."""
        (history,) = learned(estimator, "history_")
        return cls.from_history(history, x=x, ax=ax, **style)

    @classmethod
    def from_history(
        cls, history: History, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "ConvergenceDisplay":
        """Draw a history against ``"slots"``, ``"updates"`` or ``"bytes"``.

        ``style`` goes to the line of the cost.
        """
        return cls(cost_trace(history, x)).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> "ConvergenceDisplay":
        """Draw on the given axes, or on those of a new figure."""
        trace = self.trace
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        look = {**curve_look(0, len(trace.x)), "label": self._cost_label(), **style}
        (self.cost_line_,) = ax.plot(trace.x, trace.cost, **look)
        frame(ax, X_LABELS[trace.against], "cost")
        scale_x(ax, trace.against)
        scale_y(ax)
        self._plot_gradient(ax.twinx())
        legend_above(ax, [self.cost_line_, self.gradient_line_])
        return self

    def _plot_gradient(self, ax: Any) -> None:
        trace = self.trace
        self.gradient_ax_ = ax
        look = {**curve_look(1, len(trace.x)), "label": self._gradient_label()}
        (self.gradient_line_,) = ax.plot(trace.x, trace.gradient, **look)
        self.median_line_ = self.band_ = None
        if self._has_band():
            look = {"color": COLOURS[1], "linewidth": 0.6}
            (self.median_line_,) = ax.plot(trace.x, trace.median_gradient, **look)
            band = (trace.x, trace.median_gradient, trace.gradient)
            self.band_ = ax.fill_between(*band, color=COLOURS[1], alpha=0.15, linewidth=0)
        ax.set_ylabel("length of the gradient")
        ax.spines[["top"]].set_visible(False)
        scale_y(ax)
        ax.grid(False, which="both")  # one grid is enough, that of the cost

    def _has_band(self) -> bool:
        return self.trace.n_agents > 1 and not self.trace.of_sums

    def _cost_label(self) -> str:
        if self.trace.n_agents == 1 or self.trace.of_sums:
            gaps = np.isnan(self.trace.cost).any()
            return "cost of all data" + " (gaps: sums for something else)" * bool(gaps)
        return f"cost, sum over {self.trace.n_agents} agents, each at its own subspace"

    def _gradient_label(self) -> str:
        if self._has_band():
            return "gradient, largest of an agent (band: down to the median)"
        return "gradient of all data"
