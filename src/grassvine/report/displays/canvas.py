"""Functions that all displays share: axes, estimator attributes, scales and legends.

Matplotlib's settings are not changed: all styles are passed as arguments. Only if no axes are given
is a figure created, by pyplot, so that notebooks show it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grassvine.foundations.errors import InputError
from grassvine.foundations.extras import load_extra
from grassvine.report.figure import N_MARKERS, PAGE_WIDTH, line_style, marker_style
from grassvine.report.scaling import scale_by_decades

SHAPE = (PAGE_WIDTH, 4.0)  # inches
GRID = {"color": "#d4d4d4", "linewidth": 0.6}


def open_axes(ax: Any = None) -> Any:
    """Return the given axes, or those of a new figure."""
    axes = load_extra("matplotlib.axes", "a plot", "plots")
    if ax is None:
        pyplot = load_extra("matplotlib.pyplot", "a plot", "plots")
        return pyplot.subplots(figsize=SHAPE, layout="constrained")[1]
    if not isinstance(ax, axes.Axes):
        raise InputError(f"ax is of type {type(ax).__name__}; pass one matplotlib Axes or omit it.")
    return ax


def fitted_attributes(estimator: Any, *names: str) -> tuple[Any, ...]:
    """Return attributes of a fitted estimator; raises NotFittedError if one is missing."""
    missing = [name for name in names if not hasattr(estimator, name)]
    if missing:
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"this {type(estimator).__name__} has no {missing[0]} because it is not fitted yet; "
            "call fit first."
        )
    return tuple(getattr(estimator, name) for name in names)


def curve_style(style: int, n_points: int) -> dict[str, Any]:
    """Return Matplotlib keywords of a line with a few markers, distinguishable in greyscale."""
    every = max(1, n_points // N_MARKERS)
    return {**line_style(style), **marker_style(style, style), "markevery": every}


def frame(ax: Any, x_label: str, y_label: str, grid: str = "both") -> None:
    """Add axis labels and a grid."""
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, **GRID)
    ax.spines[["top"]].set_visible(False)


def scale_x(ax: Any, x: str) -> None:
    """Start the x-axis at 0; format bytes with SI prefixes, slots and updates as integers."""
    ax.update_datalim([(0.0, 0.0)], updatey=False)
    ax.autoscale_view(scaley=False)
    ticker = load_extra("matplotlib.ticker", "a plot", "plots")
    if x == "bytes":
        ax.xaxis.set_major_formatter(ticker.EngFormatter(unit="B"))
    else:
        ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))


def scale_y(ax: Any, *, zero: float = 0.0, why_zero: str = "") -> None:
    """Make the y-axis logarithmic if it shows positive and no negative values.

    Zeros are gaps then. If no value exceeds ``zero``, the axis stays linear and the text
    ``why_zero`` is shown. All lines of the axes are considered, so that displays may share them.
    """
    heights = np.concatenate(
        [np.zeros(0), *(np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines())]
    )
    heights = heights[np.isfinite(heights)]
    if not len(heights):
        _write_centred(ax, "no data")
    elif why_zero and heights.max() <= zero:
        ax.set_ylim(-0.05, 1.0)
        _write_centred(ax, why_zero)
    elif heights.min() >= 0 < heights.max():
        scale_by_decades(ax.yaxis, heights[heights > 0])


def _write_centred(ax: Any, text: str) -> None:
    ax.text(0.5, 0.55, text, transform=ax.transAxes, ha="center", va="center")


def legend_above(ax: Any, handles: Sequence[Any], n_columns: int = 1) -> Any:
    """Place the legend above the axes, where it hides nothing."""
    return ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        ncols=n_columns,
        frameon=False,
        handlelength=3.4,
        borderaxespad=0,
    )
