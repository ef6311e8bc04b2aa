"""Display of a search for rank and regularisation: the held-out error against the sums it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.report.displays.canvas import (
    fitted_attributes,
    frame,
    legend_above,
    open_axes,
    scale_x,
)
from grassvine.report.displays.validation import checked_path, rank_label
from grassvine.report.figure import marker_style


@dataclass(eq=False)
class SearchDisplay:
    """Held-out error of each candidate against the sums so far, and the lowest error so far.

    Errors of different candidates can be compared, which their costs cannot.

    Parameters
    ----------
    path : dict of arrays
        The ``validation_path_`` of an estimator, with the column ``n_sums``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the errors.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : list of matplotlib Line2D
        The candidates of each rank.
    lowest_line_ : matplotlib Line2D
        The lowest error so far.
    chosen_ : matplotlib Line2D
        The chosen candidate, not always that of the lowest error.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> from grassvine.report.displays import SearchDisplay
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0, noise=0.1).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> completer = gv.MatrixCompleter(rank=2, method="map").fit(pl.DataFrame(table))
    >>> SearchDisplay.from_estimator(completer).ax_.get_xlabel()
    'sums over all agents'
    """

    path: Mapping[str, Array]
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    points_: list[Any] = field(init=False, repr=False)
    lowest_line_: Any = field(init=False, repr=False)
    chosen_: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the columns."""
        self.path = checked_path(self.path, "n_sums")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "SearchDisplay":
        """Plot the ``validation_path_`` of a fitted estimator."""
        return cls(*fitted_attributes(estimator, "validation_path_")).plot(ax)

    def plot(self, ax: Any = None) -> "SearchDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        sums, ranks, rmse = (self.path[name] for name in ("n_sums", "rank", "rmse"))
        options = {"color": "black", "linewidth": 1.0, "drawstyle": "steps-post"}
        (self.lowest_line_,) = ax.plot(
            sums, np.minimum.accumulate(rmse), label="lowest so far", **options
        )
        self.points_ = []
        for style, rank in enumerate(np.unique(ranks)):
            options = {"linestyle": "none", "label": rank_label(rank), **marker_style(style, style)}
            (points,) = ax.plot(sums[ranks == rank], rmse[ranks == rank], **options)
            self.points_.append(points)
        chosen = self.path["chosen"] > 0.0
        options = {"linestyle": "none", "marker": "*", "markersize": 15, "color": "none"}
        (self.chosen_,) = ax.plot(
            sums[chosen], rmse[chosen], label="chosen", markeredgecolor="black", **options
        )
        frame(ax, "sums over all agents", "held-out RMSE")
        scale_x(ax, "slots")
        ax.ticklabel_format(axis="y", useOffset=False)
        legend_above(ax, [*self.points_, self.lowest_line_, self.chosen_], n_columns=3)
        return self
