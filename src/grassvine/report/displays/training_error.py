"""Display of the training error of an exact run: the agents' errors against the sums it took."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
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
from grassvine.report.figure import COLOURS, level_style

MANY_TIMES = 10.0  # a larger range of errors is shown on a logarithmic axis


def training_errors(history: History) -> tuple[Array, Array]:
    """Return the sums after which errors are known, and the RMSE of each agent (agents×sums).

    An agent's error is that of its own values at the point that all agents share after a sum. No
    error is known where the sum is not of costs, nor for principal components.
    """
    rows = history.where(history["neighbour"] >= 0)
    sums, column = np.unique(rows["update"], return_inverse=True)
    agents, row = np.unique(rows["agent"], return_inverse=True)
    errors = np.full((len(agents), len(sums)), np.nan)
    # An agent meets several others in a round, with the same point: the last row is like the first.
    errors[row, column] = np.sqrt(rows["mse"])
    known = np.isfinite(errors).any(axis=0)
    return sums[known].astype(np.float64), errors[:, known]


@dataclass(eq=False)
class TrainingErrorDisplay:
    """Training error against sums: the median over the agents, and a band over all of them.

    Each agent's error is of its own values, which only it knows, so the median over agents is not
    the error of all values together. With one agent it is.

    Parameters
    ----------
    sums : array of shape (n_sums,)
        Numbers of sums over all agents.
    errors : array of shape (n_agents, n_sums)
        RMSE of each agent after these sums.
    level : (str, float), optional
        The RMSE of other values, drawn as a horizontal line, with its label.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the errors.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_ : matplotlib Line2D
        The median over the agents.
    band_ : matplotlib artist or None
        The band between the smallest and the largest error.
    level_line_ : matplotlib Line2D or None
        The horizontal line.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.report.displays import TrainingErrorDisplay
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 3)
    >>> plan = gv.Plan(20, 2, gv.networks.ring(3))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> TrainingErrorDisplay.from_history(result.history).errors.shape[0]  # one row per agent
    3
    """

    sums: Array
    errors: Array
    level: tuple[str, float] | None = None
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    level_line_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **style: Any
    ) -> "TrainingErrorDisplay":
        """Plot the ``history_`` of a fitted estimator."""
        (history,) = fitted_attributes(estimator, "history_")
        return cls.from_history(history, ax=ax, **style)

    @classmethod
    def from_history(
        cls, history: History, *, ax: Any = None, **style: Any
    ) -> "TrainingErrorDisplay":
        """Plot a history; ``style`` is passed to the line."""
        sums, errors = training_errors(history)
        if not len(sums):
            raise DataError(
                "the history has no errors between its sums, as for principal components and "
                "chosen regularisation; use ConvergenceDisplay, or SearchDisplay."
            )
        return cls(sums, errors).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> "TrainingErrorDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        n_agents = len(self.errors)
        label = "training RMSE"
        if n_agents > 1:
            label = (
                f"training RMSE of {n_agents} agents, each on its own values: median (band: all)"
            )
        options = {**curve_style(0, len(self.sums)), "label": label, **style}
        (self.line_,) = ax.plot(self.sums, np.nanmedian(self.errors, axis=0), **options)
        self.band_ = None
        if n_agents > 1:
            ends = np.nanmin(self.errors, axis=0), np.nanmax(self.errors, axis=0)
            self.band_ = ax.fill_between(
                self.sums, *ends, color=COLOURS[0], alpha=0.15, linewidth=0
            )
        self.level_line_ = None
        if self.level is not None:
            label, height = self.level
            self.level_line_ = ax.axhline(height, label=label, **level_style(0))
        frame(ax, "sums over all agents", "RMSE" if self.level else "training RMSE")
        scale_x(ax, "updates")
        if np.nanmax(self.errors) > MANY_TIMES * np.nanmin(self.errors):
            scale_y(ax)
        else:
            ax.ticklabel_format(axis="y", useOffset=False)
        legend_above(ax, [line for line in (self.line_, self.level_line_) if line is not None])
        return self
