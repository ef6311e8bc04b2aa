"""Display of the cost and the gradient norm over a run."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
from grassvine.report.displays.traces import X_LABELS, CostTrace, cost_trace
from grassvine.report.figure import COLOURS


@dataclass(eq=False)
class ConvergenceDisplay:
    """Total cost of all agents and, on a second axis, the gradient norm.

    Exact methods report both for all agents together. For other methods the cost is the sum of the
    agents' own costs, each at the agent's own subspace, and the gradient norm is the largest over
    the agents, with a band down to the median. Unknown values are gaps.

    Parameters
    ----------
    trace : CostTrace
        Costs and gradient norms to plot.

    Attributes
    ----------
    ax_, gradient_ax_ : matplotlib Axes
        Axes of the cost and, on the right, of the gradient norm.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    cost_line_, gradient_line_ : matplotlib Line2D
        Lines of the cost and the gradient norm.
    median_line_, band_ : matplotlib artists or None
        Median of the agents' gradient norms, and the band between it and the largest.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.report.displays import ConvergenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = gv.DecentralizedPCA(2, agents=3, method="deepca").fit(X)
    >>> ConvergenceDisplay.from_estimator(model, x="bytes").ax_.get_xlabel()
    'bytes sent by all agents'
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
        """Plot the ``history_`` of a fitted estimator."""
        (history,) = fitted_attributes(estimator, "history_")
        return cls.from_history(history, x=x, ax=ax, **style)

    @classmethod
    def from_history(
        cls, history: History, *, x: str = "slots", ax: Any = None, **style: Any
    ) -> "ConvergenceDisplay":
        """Plot a history against ``"slots"``, ``"updates"`` or ``"bytes"``.

        ``style`` is passed to the line of the cost.
        """
        return cls(cost_trace(history, x)).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> "ConvergenceDisplay":
        """Plot on the given axes or on a new figure."""
        trace = self.trace
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        options = {**curve_style(0, len(trace.x)), "label": self._cost_label(), **style}
        (self.cost_line_,) = ax.plot(trace.x, trace.cost, **options)
        sums = trace.of_sums and trace.against == "updates"
        frame(ax, "sums over all agents" if sums else X_LABELS[trace.against], "cost")
        scale_x(ax, trace.against)
        scale_y(ax)
        self._plot_gradient(ax.twinx())
        legend_above(ax, [self.cost_line_, self.gradient_line_])
        return self

    def _plot_gradient(self, ax: Any) -> None:
        trace = self.trace
        self.gradient_ax_ = ax
        options = {**curve_style(1, len(trace.x)), "label": self._gradient_label()}
        (self.gradient_line_,) = ax.plot(trace.x, trace.gradient, **options)
        self.median_line_ = self.band_ = None
        if self._has_band():
            options = {"color": COLOURS[1], "linewidth": 0.6}
            (self.median_line_,) = ax.plot(trace.x, trace.median_gradient, **options)
            band = (trace.x, trace.median_gradient, trace.gradient)
            self.band_ = ax.fill_between(*band, color=COLOURS[1], alpha=0.15, linewidth=0)
        ax.set_ylabel("gradient norm")
        ax.spines[["top"]].set_visible(False)
        scale_y(ax)
        ax.grid(False, which="both")  # the cost has a grid already

    def _has_band(self) -> bool:
        return self.trace.n_agents > 1 and not self.trace.of_sums

    def _cost_label(self) -> str:
        if self.trace.n_agents == 1 or self.trace.of_sums:
            gaps = np.isnan(self.trace.cost).any()
            return "cost on all data" + " (gaps: sums of other quantities)" * bool(gaps)
        return f"cost, sum over {self.trace.n_agents} agents, each at its own subspace"

    def _gradient_label(self) -> str:
        if self._has_band():
            return "gradient norm, largest over agents (band: down to the median)"
        return "gradient norm on all data"
