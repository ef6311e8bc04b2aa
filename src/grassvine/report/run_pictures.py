"""Pictures of a run: cost, agreement, network and angles."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grassvine.foundations.arrays import Array
from grassvine.foundations.extras import load_extra
from grassvine.foundations.files import exists, make_folder, write_whole
from grassvine.networks.graph import Network
from grassvine.protocol.history import History
from grassvine.report.displays import (
    AgreementDisplay,
    AnglesDisplay,
    ConvergenceDisplay,
    NetworkDisplay,
)
from grassvine.report.displays.canvas import SHAPE
from grassvine.report.figure import SETTINGS, render


def run_pictures(history: History, network: Network, bases: Sequence[Array]) -> Mapping[str, bytes]:
    """Return PNG pictures of a run by name; the same run gives the same bytes.

    There is no picture of agreement for a single agent.
    """
    draw: dict[str, Callable[[Any], Any]] = {
        "cost": lambda ax: ConvergenceDisplay.from_history(history, ax=ax),
        "agreement": lambda ax: AgreementDisplay.from_history(history, ax=ax),
        "network": lambda ax: NetworkDisplay.from_network(network, ax=ax),
        "angles": lambda ax: AnglesDisplay.from_bases(bases, ax=ax),
    }
    if network.n_agents == 1:
        del draw["agreement"]
    return {name: _picture(plot) for name, plot in draw.items()}


def write_run_pictures(
    folder: str | os.PathLike[str],
    history: History,
    network: Network,
    bases: Sequence[Array],
    *,
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write the pictures of a run to a folder, once all of them are drawn."""
    pictures = {
        Path(folder) / f"{name}.png": data
        for name, data in run_pictures(history, network, bases).items()
    }
    present = [path for path in pictures if path.exists()]
    if present and not overwrite:
        raise exists(present[0])
    make_folder(folder)
    return tuple(write_whole(path, data) for path, data in pictures.items())


def _picture(draw: Callable[[Any], Any]) -> bytes:
    style = load_extra("matplotlib.style", "a picture", "plots")
    figures = load_extra("matplotlib.figure", "a picture", "plots")
    # Independent of the user's settings, as in figure.draw.
    with style.context(["default", SETTINGS]):
        figure = figures.Figure(figsize=SHAPE, layout="constrained")
        draw(figure.add_subplot())
        return render(figure, format="png", dpi=150, metadata={"Software": None})
