"""Figures from plain data, with curves and bars that are distinguishable in greyscale."""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError
from grassvine.foundations.extras import load_extra
from grassvine.report.chart import BarPanel, Curve, Panel
from grassvine.report.scaling import scale_by_decades, thin
from grassvine.report.text import one_line

Dash: TypeAlias = tuple[float, tuple[float, ...] | None]

COLOURS = ("#004488", "#BB5566", "#CC9922", "#000000", "#228833", "#66AACC")
DASHES: tuple[Dash, ...] = (
    (0, None),
    (0, (4.5, 1.6)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (1.2, 1.3)),
    (0, (9, 2)),
    (0, (3, 1.2, 1, 1.2, 1, 1.2)),
)
MARKERS = "os^DvPX*"
HATCHES = ("", "////", "xxxx", "\\\\\\\\", "|||", "---")
LEVEL_DASHES: tuple[Dash, ...] = ((0, (10, 2.5, 1.5, 2.5, 1.5, 2.5)), (0, (2.5, 2.5)), (0, (1, 3)))
N_MARKERS = 8  # per curve

PAGE_WIDTH, SINGLE_WIDTH, PANEL_HEIGHT, HANDLE_WIDTH = 7.2, 5.2, 2.9, 0.75  # inches
CHARACTER_WIDTH, LINE_HEIGHT = 0.072, 0.17  # inches at 9 pt, upper estimates
SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "hatch.linewidth": 0.8,
    "text.parse_math": False,  # print dollar signs in labels as they are
    "svg.fonttype": "none",
    "svg.hashsalt": "grassvine",
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A rendered figure; equal data give equal bytes."""

    png: bytes
    svg: bytes


def draw(panels: Sequence[Panel | BarPanel]) -> Drawing:
    """Draw panels in rows of two, with one common legend if it is the same for all panels."""
    if not panels:
        raise InputError("cannot draw a figure without panels; pass at least one.")
    style = load_extra("matplotlib.style", "a figure", "plots")
    # Matplotlib reads these from its global settings only; the context restores them.
    with style.context(["default", SETTINGS]):
        figure = _compose(panels)
        return Drawing(
            png=render(figure, format="png", dpi=200, metadata={"Software": None}),
            svg=render(figure, format="svg", metadata={"Date": None, "Creator": None}),
        )


def render(figure: Any, **options: Any) -> bytes:
    """Return the bytes that ``savefig`` writes for a figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, **options)
    return buffer.getvalue()


# Styles, used both for plotting and for the legend.


def line_style(style: int) -> dict[str, Any]:
    """Return the Matplotlib keywords of a line."""
    colour, dash = COLOURS[style % len(COLOURS)], DASHES[style % len(DASHES)]
    return {"color": colour, "linestyle": dash, "linewidth": 1.5}


def marker_style(style: int, marker: int) -> dict[str, Any]:
    """Return the Matplotlib keywords of markers on a line."""
    return {
        "marker": MARKERS[marker % len(MARKERS)],
        "markersize": 5.5,
        "markerfacecolor": "white",
        "markeredgecolor": COLOURS[style % len(COLOURS)],
        "markeredgewidth": 1.2,
    }


def _bar_style(group: int) -> dict[str, Any]:
    colours = load_extra("matplotlib.colors", "a figure", "plots")
    colour = COLOURS[group % len(COLOURS)]
    tint = 1 - 0.5 * (
        1 - np.array(colours.to_rgb(colour))
    )  # lighter, so that dark error bars stay visible
    return {"facecolor": tint, "edgecolor": colour, "hatch": HATCHES[group % len(HATCHES)]}


def level_style(level: int) -> dict[str, Any]:
    """Return the Matplotlib keywords of a horizontal line."""
    dash = LEVEL_DASHES[level % len(LEVEL_DASHES)]
    return {"color": "#444444", "linestyle": dash, "linewidth": 1.1}


# Legend entries: label, kind, style and marker.

_Entry: TypeAlias = tuple[str, str, int, int]


def _entries(panel: Panel | BarPanel) -> dict[_Entry, None]:
    plotted: list[_Entry]
    if isinstance(panel, Panel):
        plotted = [(curve.label, "curve", curve.style, curve.marker) for curve in panel.curves]
    else:
        plotted = [(group.label, "bars", index, 0) for index, group in enumerate(panel.groups)]
    levels = [(level.label, "level", index, 0) for index, level in enumerate(panel.levels)]
    return dict.fromkeys(plotted + levels)


def _handle(entry: _Entry) -> Any:
    lines = load_extra("matplotlib.lines", "a figure", "plots")
    _, kind, style, marker = entry
    if kind == "curve":
        return lines.Line2D([], [], **line_style(style), **marker_style(style, marker))
    if kind == "level":
        return lines.Line2D([], [], **level_style(style))
    return load_extra("matplotlib.patches", "a figure", "plots").Patch(**_bar_style(style))


@dataclass(frozen=True, slots=True)
class _Legend:
    entries: tuple[_Entry, ...]
    width: float

    @property
    def labels(self) -> list[str]:
        return [_wrap(entry[0], self.width - HANDLE_WIDTH) for entry in self.entries]

    @property
    def columns(self) -> int:
        longest = max(len(line) for label in self.labels for line in label.split("\n"))
        width = HANDLE_WIDTH + CHARACTER_WIDTH * longest
        return max(1, min(len(self.entries), int(self.width / width)))

    @property
    def height(self) -> float:
        if not self.entries:
            return 0.0
        lines = max(label.count("\n") + 1 for label in self.labels)
        return ceil(len(self.entries) / self.columns) * lines * LINE_HEIGHT * 1.15 + 0.1

    def draw(self, target: Any, location: str, **options: Any) -> None:
        if not self.entries:
            return
        handles = [_handle(entry) for entry in self.entries]
        legend = target.legend(
            handles,
            ["label"] * len(handles),
            loc=location,
            ncols=self.columns,
            frameon=False,
            handlelength=3.4,
            borderaxespad=0,
            **options,
        )
        # Matplotlib would omit labels that start with an underscore.
        for text, label in zip(legend.get_texts(), self.labels, strict=True):
            text.set_text(label)


def _wrap(text: str, inches: float) -> str:
    return textwrap.fill(one_line(text), max(8, int(inches / CHARACTER_WIDTH)))


def _compose(panels: Sequence[Panel | BarPanel]) -> Any:
    figures = load_extra("matplotlib.figure", "a figure", "plots")
    columns = min(len(panels), 2)
    rows = ceil(len(panels) / columns)
    width = PAGE_WIDTH if columns > 1 else SINGLE_WIDTH
    entries = [_entries(panel) for panel in panels]
    shared = all(each == entries[0] for each in entries)
    legends = [_Legend(tuple(each), width if shared else 0.9 * width / columns) for each in entries]
    legend_height = max(legend.height for legend in legends)
    panel_height = max(_height(panel, width / columns) for panel in panels)
    height = rows * panel_height + legend_height * (1 if shared else rows)
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[1, 0.001] * rows, hspace=0)
    for index, (panel, legend) in enumerate(zip(panels, legends, strict=True)):
        row, column = divmod(index, columns)
        axes = figure.add_subplot(grid[2 * row, column])
        _frame(axes, panel, width / columns)
        if isinstance(panel, Panel):
            _draw_curves(axes, panel)
        else:
            _draw_bars(axes, panel, width / columns)
        if not shared:
            # Attach the legend to a row of zero height, so that the layout makes room for it.
            blank = figure.add_subplot(grid[2 * row + 1, column])
            blank.set_axis_off()
            legend.draw(blank, "upper center", bbox_to_anchor=(0.5, 0))
    if shared:
        legends[0].draw(figure, "outside lower center")
    return figure


def _height(panel: Panel | BarPanel, width: float) -> float:
    texts = (_wrap(panel.title, 0.75 * width), _wrap(panel.x_label, 0.55 * width))
    rotated = isinstance(panel, BarPanel) and _needs_rotation(panel.categories, width)
    return PANEL_HEIGHT + LINE_HEIGHT * sum(text.count("\n") for text in texts) + 0.6 * rotated


def _needs_rotation(names: Sequence[str], width: float) -> bool:
    return len(names) * max(map(len, names), default=0) * CHARACTER_WIDTH > 0.8 * width


def _frame(axes: Any, panel: Panel | BarPanel, width: float) -> None:
    axes.set_title(_wrap(panel.title, 0.75 * width))
    axes.set_xlabel(_wrap(panel.x_label, 0.55 * width))
    axes.set_ylabel(_wrap(panel.y_label, 0.75 * PANEL_HEIGHT))
    axes.set_axisbelow(True)
    axes.grid(axis="both" if isinstance(panel, Panel) else "y", color="#d4d4d4", linewidth=0.6)


def _no_data(axes: Any) -> None:
    axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", size=11)
    axes.set(xticks=[], yticks=[])


def _draw_levels(axes: Any, heights: Array) -> None:
    for index, height in enumerate(heights):
        if np.isfinite(height):
            axes.axhline(height, **level_style(index))


def _with_gaps(values: Array, log: bool) -> Array:
    numbers = np.asarray(values, dtype=float)
    return np.where(np.isfinite(numbers) & ((numbers > 0) | (not log)), numbers, np.nan)


def _draw_curves(axes: Any, panel: Panel) -> None:
    levels = _with_gaps(np.array([level.y for level in panel.levels]), panel.log_y)
    all_y, all_x = [levels], [np.zeros(0)]
    for index, curve in enumerate(panel.curves):
        x = _with_gaps(curve.x, panel.log_x)
        y = np.where(np.isfinite(x), _with_gaps(curve.y, panel.log_y), np.nan)
        all_y.append(y)
        all_x.append(x[np.isfinite(y)])
        if np.isfinite(y).any():
            _draw_curve(axes, curve, x, y, (index + 0.5) / len(panel.curves))
    _draw_levels(axes, levels)
    values = np.concatenate(all_y)
    values = values[np.isfinite(values)]
    if not len(values):
        return _no_data(axes)
    if panel.log_x and len(positions := np.concatenate(all_x)):
        scale_by_decades(axes.xaxis, positions)
    else:
        axes.margins(x=0.03)
        integer = all(np.all(np.mod(curve.x, 1) == 0) for curve in panel.curves)  # updates, ranks
        axes.locator_params(axis="x", nbins=5, integer=integer)
        axes.ticklabel_format(axis="x", useOffset=False)
    if panel.log_y:
        scale_by_decades(axes.yaxis, values)
    return None


def _draw_curve(axes: Any, curve: Curve, x: Array, y: Array, shift: float) -> None:
    """Draw the line, dots for points isolated by gaps, and a few markers shifted by ``shift``."""
    kept = thin(y)
    axes.plot(x[kept], y[kept], **line_style(curve.style))
    known = np.concatenate([[False], np.isfinite(y[kept]), [False]])
    isolated = kept[known[1:-1] & ~known[:-2] & ~known[2:]]
    axes.plot(x[isolated], y[isolated], ".", markersize=2.5, color=line_style(curve.style)["color"])
    finite = np.flatnonzero(np.isfinite(y))
    marked = finite[
        np.unique(((np.arange(N_MARKERS) + shift) / N_MARKERS * len(finite)).astype(int))
    ]
    style = marker_style(curve.style, curve.marker)
    axes.plot(x[marked], y[marked], linestyle="none", zorder=3, **style)


def _draw_bars(axes: Any, panel: BarPanel, width: float) -> None:
    levels = _with_gaps(np.array([level.y for level in panel.levels]), log=False)
    ends = [np.zeros(1), levels]
    thickness = 0.8 / max(1, len(panel.groups))
    for index, group in enumerate(panel.groups):
        heights = _with_gaps(group.heights, log=False)
        errors = np.zeros(len(heights)) if group.errors is None else group.errors
        errors = np.nan_to_num(_with_gaps(errors, log=False))
        ends += [heights - errors, heights + errors]
        at = np.arange(len(heights)) + (index - (len(panel.groups) - 1) / 2) * thickness
        drawn = np.isfinite(heights)
        axes.bar(at[drawn], heights[drawn], 0.92 * thickness, linewidth=0.8, **_bar_style(index))
        axes.errorbar(
            at[drawn & (errors > 0)],
            heights[drawn & (errors > 0)],
            errors[drawn & (errors > 0)],
            fmt="none",
            ecolor="#222222",
            elinewidth=1,
            capsize=2.5,
        )
    _draw_levels(axes, levels)
    low, high = float(np.nanmin(np.concatenate(ends))), float(np.nanmax(np.concatenate(ends)))
    if not any(np.isfinite(end).any() for end in ends[1:]):
        return _no_data(axes)
    margin = 0.05 * (high - low)
    axes.set_ylim(low - margin * (low < 0), high + margin * (high > 0) if high > low else 1)
    axes.set_xlim(-0.6, len(panel.categories) - 0.4)
    names = [_wrap(name, 1.8) for name in panel.categories]
    rotation = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(names)), names, **rotation if _needs_rotation(names, width) else {})
    return None
