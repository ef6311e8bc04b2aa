"""Displays of the candidates of a validated fit: their held-out errors and their costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.protocol.history import History
from grassvine.report.displays.canvas import (
    fitted_attributes,
    frame,
    legend_above,
    open_axes,
    scale_x,
    scale_y,
)
from grassvine.report.displays.traces import cost_trace
from grassvine.report.figure import COLOURS, line_style, marker_style
from grassvine.report.scaling import scale_by_decades


@dataclass(eq=False)
class ValidationDisplay:
    """Held-out error of each candidate against its regularisation, one line per rank.

    Candidates that differ in the regularisation of the biases only lie above each other; lines
    join the best of them. The biases alone are a horizontal line. Without a regularisation to
    choose, the error is plotted against the rank.

    Parameters
    ----------
    path : dict of arrays
        The ``validation_path_`` of an estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the errors.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    lines_ : list of matplotlib Line2D
        One line per rank, or a single one.
    chosen_ : matplotlib Line2D
        The chosen candidate.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> from grassvine.report.displays import ValidationDisplay
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0, noise=0.1).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> completer = gv.MatrixCompleter(rank=2, method="map").fit(pl.DataFrame(table))
    >>> ValidationDisplay.from_estimator(completer).ax_.get_xlabel()
    'regularization'
    """

    path: Mapping[str, Array]
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    lines_: list[Any] = field(init=False, repr=False)
    chosen_: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the columns."""
        self.path = checked_path(self.path)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "ValidationDisplay":
        """Plot the ``validation_path_`` of a fitted estimator."""
        (path,) = fitted_attributes(estimator, "validation_path_")
        return cls(path).plot(ax)

    def plot(self, ax: Any = None) -> "ValidationDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        path, by_rank = self.path, "regularization" not in self.path
        x = path["rank" if by_rank else "regularization"]
        chosen = path["chosen"] > 0.0
        groups = np.zeros(len(x)) if by_rank else path["rank"]
        self.lines_ = []
        for style, rank in enumerate(np.unique(groups)):
            of_rank = groups == rank
            best_x, best = _lowest(x[of_rank], path["rmse"][of_rank])
            options = {**line_style(style), **marker_style(style, style)}
            label = "all candidates" if by_rank else rank_label(rank)
            if not (by_rank or rank):  # the regularisation of factors means nothing to biases
                level = best.min()
                self.lines_.append(ax.axhline(level, label=label, **line_style(style)))
                continue
            (line,) = ax.plot(best_x, best, label=label, **options)
            ax.plot(x[of_rank], path["rmse"][of_rank], ".", color=COLOURS[style % len(COLOURS)])
            self.lines_.append(line)
        self._mark_chosen(ax, x, chosen)
        frame(ax, "rank" if by_rank else "regularization", "held-out RMSE")
        if by_rank:
            scale_x(ax, "slots")
        elif (x > 0.0).all():
            scale_by_decades(ax.xaxis, x)
        ax.ticklabel_format(axis="y", useOffset=False)
        legend_above(ax, [*self.lines_, self.chosen_], n_columns=3)
        return self

    def _mark_chosen(self, ax: Any, x: Array, chosen: NDArray[np.bool_]) -> None:
        path = self.path
        label = "none was chosen"
        if chosen.any():
            rmse, rank = float(path["rmse"][chosen][0]), path["rank"][chosen][0]
            label = f"chosen: {rmse:.4f} ({rank_label(rank)})"
        options = {"marker": "*", "markersize": 15, "color": "none", "linestyle": "none"}
        (self.chosen_,) = ax.plot(
            x[chosen], path["rmse"][chosen], label=label, markeredgecolor="black", **options
        )


@dataclass(eq=False)
class CandidatesDisplay:
    """Cost of each candidate against the number of sums, one line per candidate.

    Costs of different regularisations cannot be compared; each line shows how one fit converged.

    Parameters
    ----------
    history : History
        The history of the run.
    path : dict of arrays
        Its candidates, the ``validation_path_`` of an estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the costs.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    lines_ : list of matplotlib Line2D
        One line per candidate.
    final_line_ : matplotlib Line2D
        The fit of the chosen candidate to all data.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> from grassvine.report.displays import CandidatesDisplay
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0, noise=0.1).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> completer = gv.MatrixCompleter(rank=2, method="map").fit(pl.DataFrame(table))
    >>> display = CandidatesDisplay.from_estimator(completer)
    >>> len(display.lines_) == len(completer.validation_path_["rank"])
    True
    """

    history: History
    path: Mapping[str, Array]
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    lines_: list[Any] = field(init=False, repr=False)
    final_line_: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the columns."""
        self.path = checked_path(self.path, "n_sums")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "CandidatesDisplay":
        """Plot the ``history_`` and the ``validation_path_`` of a fitted estimator."""
        return cls(*fitted_attributes(estimator, "history_", "validation_path_")).plot(ax)

    def plot(self, ax: Any = None) -> "CandidatesDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        trace, ends = cost_trace(self.history, "updates"), self.path["n_sums"]
        styles = {rank: style for style, rank in enumerate(np.unique(self.path["rank"]))}
        self.lines_ = []
        named: dict[float, Any] = {}
        for rank, start, end in zip(self.path["rank"], [0.0, *ends[:-1]], ends, strict=True):
            inside = (trace.x > start) & (trace.x < end) & np.isfinite(trace.cost)
            options = {"color": COLOURS[styles[rank] % len(COLOURS)], "linewidth": 1.5}
            options |= {**marker_style(styles[rank], styles[rank]), "markevery": [-1]}
            options["label"] = rank_label(rank)
            if not inside.any():
                continue
            (line,) = ax.plot(trace.x[inside], trace.cost[inside], **options)
            self.lines_.append(line)
            named.setdefault(rank, line)
        after = trace.x > ends[-1]
        options = {
            "color": "black",
            "linewidth": 3.0,
            "label": "the chosen one, fitted to all data",
        }
        (self.final_line_,) = ax.plot(trace.x[after], trace.cost[after], **options)
        frame(ax, "sums over all agents", "cost of each candidate")
        scale_x(ax, "slots")
        scale_y(ax)
        legend_above(ax, [*named.values(), self.final_line_], n_columns=3)
        return self


def rank_label(rank: float) -> str:
    """Return the name of a rank; rank 0 has biases only."""
    return f"rank {rank:.0f}" if rank else "biases only"


def checked_path(path: object, *more: str) -> dict[str, Array]:
    """Return a validation path, or raise :class:`DataError` if it cannot be plotted."""
    needed = {"rank", "rmse", "chosen", *more}
    if not isinstance(path, Mapping) or needed - set(path):
        raise DataError(
            "there are no candidates to show, because nothing was chosen on held-out data; fit "
            "with rank='auto' or regularization='auto'."
        )
    columns = {str(name): np.asarray(column, dtype=np.float64) for name, column in path.items()}
    n_rows = columns["rank"].size
    for name, column in columns.items():
        if column.shape != (n_rows,) or not n_rows or not np.isfinite(column).all():
            raise DataError(
                f"{name} of the candidates has shape {column.shape} or is not finite; pass the "
                "validation_path_ of a fitted estimator."
            )
    return columns


def _lowest(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the distinct x in ascending order, with the lowest y of each."""
    values, places = np.unique(x, return_inverse=True)
    lowest = np.full(len(values), np.inf)
    np.minimum.at(lowest, places, y)
    return values, lowest
