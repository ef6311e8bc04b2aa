"""Figures from plain data: curves and bars that can be told apart in grey print too."""

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
MARKS = 8

PAGE_WIDTH, LONE_WIDTH, PANEL_HEIGHT, SIGN = 7.2, 5.2, 2.9, 0.75  # inches
CHARACTER, LINE = 0.072, 0.17  # inches that a character and a line of 9 pt take, rather too much
SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "hatch.linewidth": 0.8,
    "text.parse_math": False,  # a dollar in a label is a dollar
    "svg.fonttype": "none",
    "svg.hashsalt": "grassvine",
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A rendered figure; the same data gives the same bytes."""

    png: bytes
    svg: bytes


def draw(panels: Sequence[Panel | BarPanel]) -> Drawing:
    """Draw panels in rows of two, with one legend below if it is the same for all."""
    if not panels:
        raise InputError("a figure without panels cannot be drawn; give at least one.")
    style = load_extra("matplotlib.style", "a figure", "plots")
    # Matplotlib takes these from its global settings alone; they are put back afterwards.
    with style.context(["default", SETTINGS]):
        figure = _compose(panels)
        return Drawing(
            png=render(figure, format="png", dpi=200, metadata={"Software": None}),
            svg=render(figure, format="svg", metadata={"Date": None, "Creator": None}),
        )


def render(figure: Any, **options: Any) -> bytes:
    """Return the bytes of a figure as Matplotlib writes them."""
    buffer = io.BytesIO()
    figure.savefig(buffer, **options)
    return buffer.getvalue()


# How things look: the same words for the things themselves and for their signs in the legend.


def line_look(style: int) -> dict[str, Any]:
    """Return how the line of a style looks."""
    colour, dash = COLOURS[style % len(COLOURS)], DASHES[style % len(DASHES)]
    return {"color": colour, "linestyle": dash, "linewidth": 1.5}


def marker_look(style: int, marker: int) -> dict[str, Any]:
    """Return how a marker on a line of a style looks."""
    return {
        "marker": MARKERS[marker % len(MARKERS)],
        "markersize": 5.5,
        "markerfacecolor": "white",
        "markeredgecolor": COLOURS[style % len(COLOURS)],
        "markeredgewidth": 1.2,
    }


def _bar_look(group: int) -> dict[str, Any]:
    colours = load_extra("matplotlib.colors", "a figure", "plots")
    colour = COLOURS[group % len(COLOURS)]
    tint = 1 - 0.5 * (1 - np.array(colours.to_rgb(colour)))  # dark error bars show on it
    return {"facecolor": tint, "edgecolor": colour, "hatch": HATCHES[group % len(HATCHES)]}


def level_look(level: int) -> dict[str, Any]:
    """Return how a horizontal line looks."""
    dash = LEVEL_DASHES[level % len(LEVEL_DASHES)]
    return {"color": "#444444", "linestyle": dash, "linewidth": 1.1}


# The legend: a label, what it stands for, and the numbers of its look.

_Entry: TypeAlias = tuple[str, str, int, int]


def _entries(panel: Panel | BarPanel) -> dict[_Entry, None]:
    things: list[_Entry]
    if isinstance(panel, Panel):
        things = [(curve.label, "curve", curve.style, curve.marker) for curve in panel.curves]
    else:
        things = [(group.label, "bars", place, 0) for place, group in enumerate(panel.groups)]
    levels = [(level.label, "level", place, 0) for place, level in enumerate(panel.levels)]
    return dict.fromkeys(things + levels)


def _sign(entry: _Entry) -> Any:
    lines = load_extra("matplotlib.lines", "a figure", "plots")
    _, kind, style, marker = entry
    if kind == "curve":
        return lines.Line2D([], [], **line_look(style), **marker_look(style, marker))
    if kind == "level":
        return lines.Line2D([], [], **level_look(style))
    return load_extra("matplotlib.patches", "a figure", "plots").Patch(**_bar_look(style))


@dataclass(frozen=True, slots=True)
class _Legend:
    entries: tuple[_Entry, ...]
    width: float

    @property
    def labels(self) -> list[str]:
        return [_wrap(entry[0], self.width - SIGN) for entry in self.entries]

    @property
    def columns(self) -> int:
        longest = max(len(line) for label in self.labels for line in label.split("\n"))
        return max(1, min(len(self.entries), int(self.width / (SIGN + CHARACTER * longest))))

    @property
    def height(self) -> float:
        if not self.entries:
            return 0.0
        lines = max(label.count("\n") + 1 for label in self.labels)
        return ceil(len(self.entries) / self.columns) * lines * LINE * 1.15 + 0.1

    def put(self, place: Any, where: str, **options: Any) -> None:
        if not self.entries:
            return
        signs = [_sign(entry) for entry in self.entries]
        legend = place.legend(
            signs,
            ["label"] * len(signs),
            loc=where,
            ncols=self.columns,
            frameon=False,
            handlelength=3.4,
            borderaxespad=0,
            **options,
        )
        # A label that begins with an underscore would be left out above.
        for text, label in zip(legend.get_texts(), self.labels, strict=True):
            text.set_text(label)


def _wrap(text: str, inches: float) -> str:
    return textwrap.fill(one_line(text), max(8, int(inches / CHARACTER)))


def _compose(panels: Sequence[Panel | BarPanel]) -> Any:
    figures = load_extra("matplotlib.figure", "a figure", "plots")
    columns = min(len(panels), 2)
    rows = ceil(len(panels) / columns)
    width = PAGE_WIDTH if columns > 1 else LONE_WIDTH
    entries = [_entries(panel) for panel in panels]
    shared = all(each == entries[0] for each in entries)
    legends = [_Legend(tuple(each), width if shared else 0.9 * width / columns) for each in entries]
    below = max(legend.height for legend in legends)
    tall = max(_height(panel, width / columns) for panel in panels)
    height = rows * tall + below * (1 if shared else rows)
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[1, 0.001] * rows, hspace=0)
    for place, (panel, legend) in enumerate(zip(panels, legends, strict=True)):
        row, column = divmod(place, columns)
        axes = figure.add_subplot(grid[2 * row, column])
        _frame(axes, panel, width / columns)
        if isinstance(panel, Panel):
            _draw_curves(axes, panel)
        else:
            _draw_bars(axes, panel, width / columns)
        if not shared:
            # Below a row without height: the layout then gives the legend all the room it needs.
            blank = figure.add_subplot(grid[2 * row + 1, column])
            blank.set_axis_off()
            legend.put(blank, "upper center", bbox_to_anchor=(0.5, 0))
    if shared:
        legends[0].put(figure, "outside lower center")
    return figure


def _height(panel: Panel | BarPanel, width: float) -> float:
    words = (_wrap(panel.title, 0.75 * width), _wrap(panel.x_label, 0.55 * width))
    turned = isinstance(panel, BarPanel) and _turned(panel.categories, width)
    return PANEL_HEIGHT + LINE * sum(text.count("\n") for text in words) + 0.6 * turned


def _turned(names: Sequence[str], width: float) -> bool:
    return len(names) * max(map(len, names), default=0) * CHARACTER > 0.8 * width


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
    for place, height in enumerate(heights):
        if np.isfinite(height):
            axes.axhline(height, **level_look(place))


def _with_gaps(values: Array, log: bool) -> Array:
    numbers = np.asarray(values, dtype=float)
    return np.where(np.isfinite(numbers) & ((numbers > 0) | (not log)), numbers, np.nan)


def _draw_curves(axes: Any, panel: Panel) -> None:
    levels = _with_gaps(np.array([level.y for level in panel.levels]), panel.log_y)
    seen, places = [levels], [np.zeros(0)]
    for place, curve in enumerate(panel.curves):
        x = _with_gaps(curve.x, panel.log_x)
        y = np.where(np.isfinite(x), _with_gaps(curve.y, panel.log_y), np.nan)
        seen.append(y)
        places.append(x[np.isfinite(y)])
        if np.isfinite(y).any():
            _draw_curve(axes, curve, x, y, (place + 0.5) / len(panel.curves))
    _draw_levels(axes, levels)
    values = np.concatenate(seen)
    values = values[np.isfinite(values)]
    if not len(values):
        return _no_data(axes)
    if panel.log_x and len(along := np.concatenate(places)):
        scale_by_decades(axes.xaxis, along)
    else:
        axes.margins(x=0.03)
        whole = all(np.all(np.mod(curve.x, 1) == 0) for curve in panel.curves)  # updates, ranks
        axes.locator_params(axis="x", nbins=5, integer=whole)
        axes.ticklabel_format(axis="x", useOffset=False)
    if panel.log_y:
        scale_by_decades(axes.yaxis, values)
    return None


def _draw_curve(axes: Any, curve: Curve, x: Array, y: Array, shift: float) -> None:
    """Draw the line, dots where gaps leave single points, and a few markers of its own places."""
    kept = thin(y)
    axes.plot(x[kept], y[kept], **line_look(curve.style))
    known = np.concatenate([[False], np.isfinite(y[kept]), [False]])
    alone = kept[known[1:-1] & ~known[:-2] & ~known[2:]]
    axes.plot(x[alone], y[alone], ".", markersize=2.5, color=line_look(curve.style)["color"])
    finite = np.flatnonzero(np.isfinite(y))
    marked = finite[np.unique(((np.arange(MARKS) + shift) / MARKS * len(finite)).astype(int))]
    look = marker_look(curve.style, curve.marker)
    axes.plot(x[marked], y[marked], linestyle="none", zorder=3, **look)


def _draw_bars(axes: Any, panel: BarPanel, width: float) -> None:
    levels = _with_gaps(np.array([level.y for level in panel.levels]), log=False)
    ends = [np.zeros(1), levels]
    thickness = 0.8 / max(1, len(panel.groups))
    for place, group in enumerate(panel.groups):
        heights = _with_gaps(group.heights, log=False)
        errors = np.zeros(len(heights)) if group.errors is None else group.errors
        errors = np.nan_to_num(_with_gaps(errors, log=False))
        ends += [heights - errors, heights + errors]
        at = np.arange(len(heights)) + (place - (len(panel.groups) - 1) / 2) * thickness
        drawn = np.isfinite(heights)
        axes.bar(at[drawn], heights[drawn], 0.92 * thickness, linewidth=0.8, **_bar_look(place))
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
    room = 0.05 * (high - low)
    axes.set_ylim(low - room * (low < 0), high + room * (high > 0) if high > low else 1)
    axes.set_xlim(-0.6, len(panel.categories) - 0.4)
    names = [_wrap(name, 1.8) for name in panel.categories]
    turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(names)), names, **turned if _turned(names, width) else {})
    return None
