"""Figure of the demonstration: test images completed by each method, and a bar per error."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.demo.comparison import METHODS, Comparison
from grassvine.demo.images import BRIGHTEST
from grassvine.demo.words import compared_with_pooled
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.extras import load_extra
from grassvine.foundations.files import write_whole

SIDE = 8
FEWEST_COLUMNS = 6
ERASED = "#f2c14e"
# Okabe and Ito's palette, safe for colour-blind readers; the colours differ in brightness too.
COLOURS = {"alone": "#d55e00", "gossip": "#56b4e9", "exact": "#0072b2", "pooled": "#7f7f7f"}


def draw(comparison: Comparison, path: Path) -> Path:
    """Draw test images of all kinds, one column per image, and write the figure as PNG.

    The rows alone, gossip and exact show the images completed by agent 0; the bars are means over
    all agents.
    """
    figures = load_extra("matplotlib.figure", "the picture", "plots")
    shown = images_to_show(comparison.shares.test.kinds)
    rows = _rows(comparison)
    width, height = 0.62 * len(shown) + 4.5, 0.66 * len(rows) + 0.75
    figure = figures.Figure(figsize=(width, height), dpi=140)
    grid = figure.add_gridspec(
        len(rows),
        len(shown) + 1,
        width_ratios=[*[0.62] * len(shown), 2.9],
        left=1.3 / width,
        right=1 - 0.05 / width,
        top=1 - 0.66 / height,
        bottom=0.03 / height,
        wspace=0.08,
        hspace=0.12,
    )
    for line, (label, pictures) in enumerate(rows.items()):
        for column, image in enumerate(shown):
            axes = figure.add_subplot(grid[line, column])
            _draw_image(axes, pictures[image])
            if column == 0:
                axes.set_ylabel(label, rotation=0, ha="right", va="center", labelpad=8)
    _draw_bars(figure.add_subplot(grid[len(rows) - len(METHODS) :, -1]), comparison)
    figure.text(0.1 / width, 1 - 0.1 / height, headline(comparison), va="top", fontsize=11)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return write_whole(path, buffer.getvalue())


def images_to_show(kinds: Indices) -> Indices:
    """Return the first images of each kind, enough of each to fill the columns."""
    present = np.unique(kinds)
    of_each = -(-FEWEST_COLUMNS // len(present))
    return np.concatenate([np.flatnonzero(kinds == kind)[:of_each] for kind in present])


def headline(comparison: Comparison) -> str:
    """Return the title of the figure."""
    shares = comparison.shares
    erased = 1.0 - shares.test.known.mean()
    return (
        f"{shares.n_agents} agents hold images of one digit each and complete all digits "
        f"({100 * erased:.0f}% erased).\n"
        f"Alone, gossip and exact: by agent 0, which holds only {shares.kind_of(0)}s."
    )


def _rows(comparison: Comparison) -> dict[str, Array]:
    test = comparison.shares.test
    return {
        "original": test.pixels,
        "known pixels": np.where(test.known, test.pixels, np.nan),
        "alone": comparison.completed["alone"][0],
        "gossip": comparison.completed["gossip"][0],
        "exact (default)": comparison.completed["exact"][0],
        "pooled": comparison.completed["pooled"][0],
    }


def _draw_image(axes: Any, pixels: Array) -> None:
    axes.imshow(pixels.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=BRIGHTEST)
    axes.set(xticks=[], yticks=[], facecolor=ERASED)
    axes.spines[:].set_visible(False)


def _draw_bars(axes: Any, comparison: Comparison) -> None:
    """Draw the mean error of each method as a bar beside its row of images."""
    errors = [comparison.error(method) for method in METHODS]
    lines = range(len(METHODS))
    axes.barh(lines, errors, height=0.5, color=[COLOURS[method] for method in METHODS])
    axes.axvline(comparison.error("pooled"), color="black", linewidth=0.8, linestyle=":")
    for line, method in enumerate(METHODS):
        more = "" if method == "pooled" else f"\n {compared_with_pooled(comparison, method)}"
        axes.text(errors[line], line, f" {errors[line]:.3f}{more}", va="center", fontsize=10)
    axes.set(ylim=(len(METHODS) - 0.5, -0.5), xlim=(0, 1.55 * max(errors)), xticks=[], yticks=[])
    axes.set_title("error at erased pixels,\nmean over all agents", loc="left", fontsize=10)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
