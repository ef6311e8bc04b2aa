"""The picture of the demonstration: original, holes, completed."""

import io
from pathlib import Path

import numpy as np

from grassvine.demo.comparison import Comparison
from grassvine.demo.images import BRIGHTEST
from grassvine.foundations.extras import load_extra
from grassvine.foundations.files import write_whole

SIDE = 8


def draw(comparison: Comparison, path: Path) -> Path:
    """Draw two images of each agent, one column an image, and write them as PNG."""
    figures = load_extra("matplotlib.figure", "the picture", "plots")
    images = comparison.images
    n_agents = int(comparison.owner.max()) + 1
    firsts = np.searchsorted(comparison.owner, np.arange(n_agents))
    shown = np.sort(np.concatenate([firsts, firsts + 1]))
    rows = {
        "original": images.pixels,
        "known": np.where(images.known, images.pixels, np.nan),
        "alone": comparison.alone,
        "gossip": comparison.gossip,
        "pooled": comparison.pooled,
    }
    figure = figures.Figure(figsize=(0.62 * len(shown) + 0.9, 0.66 * len(rows) + 0.35), dpi=140)
    axes = figure.subplots(len(rows), len(shown), squeeze=False)
    for (name, pictures), line in zip(rows.items(), axes, strict=True):
        for image, place in zip(shown, line, strict=True):
            place.imshow(pictures[image].reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=BRIGHTEST)
            place.set(xticks=[], yticks=[], facecolor="#f2c14e")
            place.spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    for agent in range(n_agents):
        left, right = axes[0, 2 * agent].get_position(), axes[0, 2 * agent + 1].get_position()
        middle = (left.x0 + right.x1) / 2
        figure.text(middle, 0.935, f"agent {agent}", ha="center", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", pad_inches=0.08)
    return write_whole(path, buffer.getvalue())
