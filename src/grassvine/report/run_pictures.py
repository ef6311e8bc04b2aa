"""Pictures of a run: cost, error, network, agreement and angles, candidates and predictions.

What is not in the history of a run, a picture takes from its tables (:func:`run_tables`).
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from grassvine.foundations.arrays import Array
from grassvine.foundations.extras import load_extra
from grassvine.foundations.files import exists, make_folder, write_whole
from grassvine.foundations.watch import Watch
from grassvine.networks.graph import Network
from grassvine.protocol.history import History
from grassvine.protocol.sampling import uses_sums
from grassvine.report.displays import (
    AgreementDisplay,
    AnglesDisplay,
    CandidatesDisplay,
    ConvergenceDisplay,
    NetworkDisplay,
    PredictionsDisplay,
    SearchDisplay,
    TrainingErrorDisplay,
    ValidationDisplay,
)
from grassvine.report.displays.canvas import SHAPE
from grassvine.report.displays.predictions import calibration
from grassvine.report.displays.training_error import training_errors
from grassvine.report.figure import SETTINGS, render

VALIDATION, HELD_OUT, TRAINING = "validation", "held-out predictions", "training predictions"
# Tables of predictions in order of preference, and what they are of.
PREDICTIONS = {HELD_OUT: "held-out values", TRAINING: "training values"}
Tables: TypeAlias = Mapping[str, Mapping[str, Array]]


def run_tables(
    candidates: Mapping[str, Array] | None, truth: Array, predicted: Array, *, held_out: bool
) -> Tables:
    """Return the tables of a run that predicts values.

    Parameters
    ----------
    candidates : dict of arrays or None
        The candidates that the agents validated, if any.
    truth, predicted : array
        Values and their predictions.
    held_out : bool
        Whether the values were held out from the fit.
    """
    tables = {HELD_OUT if held_out else TRAINING: calibration(truth, predicted)}
    return tables if candidates is None else {**tables, VALIDATION: candidates}


def run_pictures(
    history: History,
    network: Network,
    bases: Sequence[Array],
    tables: Tables | None = None,
    *,
    watch: Watch | None = None,
) -> Mapping[str, bytes]:
    """Return PNG pictures of a run by name; the same run gives the same bytes.

    Agents of exact methods share one subspace, so their runs have no pictures of agreement and
    angles, but one of the error: that of each candidate on held-out values, or the training error
    if nothing was chosen. Principal components have none, because their cost is the error, halved
    and less a constant. If ``tables`` has the candidates of the run (``"validation"``) or its
    predictions (``"held-out predictions"``, ``"training predictions"``), there are pictures of
    these.
    """
    tables, sums = tables or {}, uses_sums(history)
    path, x = tables.get(VALIDATION, {}), "updates" if sums else "slots"
    draw: dict[str, Callable[[Any], Any]] = {
        "cost": (
            (lambda ax: CandidatesDisplay(history, path).plot(ax))
            if "n_sums" in path
            else (lambda ax: ConvergenceDisplay.from_history(history, x=x, ax=ax))
        ),
        "network": lambda ax: NetworkDisplay.from_network(network, ax=ax),
    }
    if not sums:
        draw["agreement"] = lambda ax: AgreementDisplay.from_history(history, ax=ax)
        draw["angles"] = lambda ax: AnglesDisplay.from_bases(bases, ax=ax)
    if "n_sums" in path:
        draw["error"] = lambda ax: SearchDisplay(path).plot(ax)
    elif sums and len((errors := training_errors(history))[0]):
        draw["error"] = lambda ax: TrainingErrorDisplay(*errors, _final_error(tables)).plot(ax)
    if path:
        draw["validation"] = lambda ax: ValidationDisplay(path).plot(ax)
    for name, what in PREDICTIONS.items():
        if name in tables:
            draw["predictions"] = PredictionsDisplay(tables[name], what).plot
            break
    pictures: dict[str, bytes] = {}
    for name, plot in draw.items():
        pictures[name] = _picture(plot)
        if watch is not None:
            watch(len(pictures) / len(draw))
    return pictures


def write_run_pictures(
    folder: str | os.PathLike[str],
    history: History,
    network: Network,
    bases: Sequence[Array],
    tables: Tables | None = None,
    *,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> tuple[Path, ...]:
    """Write the pictures of a run to a folder, once all of them are drawn.

    ``watch`` is called after each picture with the completed fraction.
    """
    drawn = run_pictures(history, network, bases, tables, watch=watch)
    pictures = {Path(folder) / f"{name}.png": data for name, data in drawn.items()}
    present = [path for path in pictures if path.exists()]
    if present and not overwrite:
        raise exists(present[0])
    make_folder(folder)
    return tuple(write_whole(path, data) for path, data in pictures.items())


def _final_error(tables: Tables) -> tuple[str, float] | None:
    """Return the RMSE of the predictions of a run, and of which values it is."""
    for name, what in PREDICTIONS.items():
        if name in tables:
            counts, squares = tables[name]["count"], tables[name]["squared_error"]
            rmse = math.sqrt(float(squares.sum()) / max(float(counts.sum()), 1.0))
            return f"all {what} at the end: {rmse:.4g}", rmse
    return None


def _picture(draw: Callable[[Any], Any]) -> bytes:
    style = load_extra("matplotlib.style", "a picture", "plots")
    figures = load_extra("matplotlib.figure", "a picture", "plots")
    # Independent of the user's settings, as in figure.draw.
    with style.context(["default", SETTINGS]):
        figure = figures.Figure(figsize=SHAPE, layout="constrained")
        draw(figure.add_subplot())
        return render(figure, format="png", dpi=150, metadata={"Software": None})
