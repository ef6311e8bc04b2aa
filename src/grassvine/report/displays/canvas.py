"""What all displays share: axes to draw on, the attributes of an estimator, scales and legends.

Nothing here touches Matplotlib's settings: every look is an argument. Only where no axes are given
is a figure made, by pyplot, so that a notebook shows it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grassvine.foundations.errors import InputError
from grassvine.foundations.extras import load_extra
from grassvine.report.figure import MARKS, PAGE_WIDTH, line_look, marker_look
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
        raise InputError(
            f"ax is of type {type(ax).__name__}; give one matplotlib Axes, or leave it out."
        )
    return ax


def learned(estimator: Any, *names: str) -> tuple[Any, ...]:
    """Return learned attributes, or say like scikit-learn that there are none yet."""
    missing = [name for name in names if not hasattr(estimator, name)]
    if missing:
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"this {type(estimator).__name__} has no {missing[0]}: it is not fitted yet. "
            "Call fit before drawing it."
        )
    return tuple(getattr(estimator, name) for name in names)


def curve_look(style: int, n_points: int) -> dict[str, Any]:
    """Return how a curve looks: a line, and a few markers that tell it apart in grey."""
    every = max(1, n_points // MARKS)
    return {**line_look(style), **marker_look(style, style), "markevery": every}


def frame(ax: Any, x_label: str, y_label: str, grid: str = "both") -> None:
    """Put labels and a grid."""
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, **GRID)
    ax.spines[["top"]].set_visible(False)


def scale_x(ax: Any, x: str) -> None:
    """Begin at 0, and write bytes with their prefixes, slots and updates as whole numbers."""
    ax.update_datalim([(0.0, 0.0)], updatey=False)
    ax.autoscale_view(scaley=False)
    ticker = load_extra("matplotlib.ticker", "a plot", "plots")
    if x == "bytes":
        ax.xaxis.set_major_formatter(ticker.EngFormatter(unit="B"))
    else:
        ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))


def scale_y(ax: Any, *, zero: float = 0.0, why_zero: str = "") -> None:
    """Make the axis logarithmic if it has something positive to show and nothing negative.

    A zero is a gap then. Where all is at most ``zero`` and there is a sentence on why, it is said
    above a line that lies below. All that the axes hold counts, so that displays may share them.
    """
    heights = np.concatenate(
        [np.zeros(0), *(np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines())]
    )
    heights = heights[np.isfinite(heights)]
    if not len(heights):
        _say(ax, "no data")
    elif why_zero and heights.max() <= zero:
        ax.set_ylim(-0.05, 1.0)
        _say(ax, why_zero)
    elif heights.min() >= 0 < heights.max():
        scale_by_decades(ax.yaxis, heights[heights > 0])


def _say(ax: Any, sentence: str) -> None:
    """Write a sentence in the middle."""
    ax.text(0.5, 0.55, sentence, transform=ax.transAxes, ha="center", va="center")


def legend_above(ax: Any, handles: Sequence[Any]) -> Any:
    """Put the legend above the axes, where it covers nothing."""
    return ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        ncols=1,
        frameon=False,
        handlelength=3.4,
        borderaxespad=0,
    )
