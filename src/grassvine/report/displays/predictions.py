"""Predictions by true value: their counts and quantiles as a table, and its display."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import DataError
from grassvine.report.displays.canvas import curve_style, frame, legend_above, open_axes
from grassvine.report.figure import COLOURS

MAX_LEVELS = 25  # distinct true values, such as stars; more are put into bins
N_BINS = 20
QUANTILES = (5, 25, 50, 75, 95)  # per cent
COLUMNS = ("truth", "count", "squared_error", *(f"q{quantile}" for quantile in QUANTILES))


@dataclass(eq=False)
class PredictionsDisplay:
    """Median of the predictions for each true value, with bands of 50% and 90% of them.

    Parameters
    ----------
    table : dict of arrays
        The result of :func:`grassvine.report.displays.predictions.calibration`.
    what : str, default="values"
        What was predicted, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the predictions.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    median_line_, perfect_line_ : matplotlib Line2D
        The median, and the line of perfect predictions.
    bands_ : list of matplotlib PolyCollection
        The bands of 90% and 50%.

    Examples
    --------
    >>> from grassvine.report.displays import PredictionsDisplay
    >>> stars, predicted = [1, 1, 2, 2], [1.1, 1.3, 1.9, 2.2]
    >>> display = PredictionsDisplay.from_predictions(stars, predicted, what="stars")
    >>> display.table["truth"].tolist()
    [1.0, 2.0]
    """

    table: Mapping[str, Array]
    what: str = "values"
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    median_line_: Any = field(init=False, repr=False)
    perfect_line_: Any = field(init=False, repr=False)
    bands_: list[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the columns."""
        if set(self.table) != set(COLUMNS):
            raise DataError(
                f"the table has the columns {', '.join(sorted(self.table))}; pass the result of "
                "calibration(truth, predicted)."
            )
        shapes = {np.shape(column) for column in self.table.values()}
        finite = all(np.isfinite(column).all() for column in self.table.values())
        if len(shapes) != 1 or len(min(shapes)) != 1 or min(shapes) == (0,) or not finite:
            raise DataError(
                "the columns of the predictions are empty, differ in length or are not finite; "
                "pass the result of calibration(truth, predicted)."
            )

    @classmethod
    def from_predictions(
        cls, truth: ArrayLike, predicted: ArrayLike, *, what: str = "values", ax: Any = None
    ) -> "PredictionsDisplay":
        """Plot predictions against true values, one of each per sample."""
        one, other = (
            as_numbers(given, name=name, error=DataError)
            for name, given in (("truth", truth), ("predicted", predicted))
        )
        if one.ndim != 1 or one.shape != other.shape or not len(one):
            raise DataError(
                f"truth has shape {one.shape} and predicted {other.shape}; pass two vectors of the "
                "same length."
            )
        return cls(calibration(one, other), what).plot(ax)

    def plot(self, ax: Any = None) -> "PredictionsDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        table, truth = self.table, self.table["truth"]
        self.bands_ = [
            ax.fill_between(
                truth, table[low], table[high], color=COLOURS[0], alpha=alpha, lw=0, label=label
            )
            for low, high, alpha, label in (
                ("q5", "q95", 0.15, "90% of the predictions"),
                ("q25", "q75", 0.3, "50% of the predictions"),
            )
        ]
        options = {**curve_style(0, len(truth)), "markevery": 1, "label": "median prediction"}
        (self.median_line_,) = ax.plot(truth, table["q50"], **options)
        ends = [truth.min(), truth.max()]
        options = {"color": "black", "linewidth": 1.0, "linestyle": (0, (4, 2))}
        (self.perfect_line_,) = ax.plot(ends, ends, label="perfect prediction", **options)
        count, squares = float(table["count"].sum()), float(table["squared_error"].sum())
        rmse = f"RMSE {np.sqrt(squares / count):.4g}"
        frame(ax, f"true value ({count:,.0f} {self.what}, {rmse})", "predicted value")
        legend_above(ax, [self.median_line_, self.perfect_line_, *self.bands_], n_columns=2)
        return self


def calibration(truth: Array, predicted: Array) -> dict[str, Array]:
    """Return a table with one row per true value, or per bin of true values.

    The columns are ``truth`` (the mean of the bin), ``count``, ``squared_error`` (their sum), and
    the quantiles ``q5`` to ``q95`` of the predictions.
    """
    levels, places = np.unique(truth, return_inverse=True)
    if len(levels) > MAX_LEVELS:
        edges = np.linspace(truth.min(), truth.max(), N_BINS + 1)[1:-1]
        _, places = np.unique(np.searchsorted(edges, truth), return_inverse=True)
    groups = [places == place for place in range(int(places.max(initial=-1)) + 1)]
    columns = {
        "truth": np.array([truth[group].mean() for group in groups]),
        "count": np.array([float(np.count_nonzero(group)) for group in groups]),
        "squared_error": np.array([np.sum((predicted - truth)[group] ** 2) for group in groups]),
    }
    for quantile in QUANTILES:
        found = [np.percentile(predicted[group], quantile) for group in groups]
        columns[f"q{quantile}"] = np.array(found)
    return columns
