"""Displays draw where they are told, and leave no trace elsewhere."""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from tests.report.displays.small_runs import EXACT, GOSSIP, axes

import grassvine as gv
from grassvine.foundations.errors import InputError, MissingExtra
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

TRUTH = np.linspace(0.0, 5.0, 200)
PATH = {
    "rank": np.array([0.0, 2.0, 2.0]),
    "regularization": np.array([1.0, 1.0, 0.5]),
    "rmse": np.array([1.2, 0.9, 1.1]),
    "n_sums": np.array([2.0, 3.0, 4.0]),
    "chosen": np.array([0.0, 1.0, 0.0]),
}
DISPLAYS: dict[str, Callable[[Any], Any]] = {
    "convergence": lambda ax: ConvergenceDisplay.from_history(GOSSIP.history, ax=ax),
    "agreement": lambda ax: AgreementDisplay.from_history(GOSSIP.history, ax=ax),
    "network": lambda ax: NetworkDisplay.from_network(gv.networks.grid(6), ax=ax),
    "angles": lambda ax: AnglesDisplay.from_bases(GOSSIP.bases, ax=ax),
    "validation": lambda ax: ValidationDisplay(PATH).plot(ax),
    "search": lambda ax: SearchDisplay(PATH).plot(ax),
    "training error": lambda ax: TrainingErrorDisplay(np.arange(3.0), np.ones((2, 3))).plot(ax),
    "candidates": lambda ax: CandidatesDisplay(EXACT.history, PATH).plot(ax),
    "predictions": lambda ax: PredictionsDisplay.from_predictions(TRUTH, TRUTH**2, ax=ax),
}
every_display = pytest.mark.parametrize("display", DISPLAYS.values(), ids=DISPLAYS)


@pytest.fixture
def no_figures() -> Iterator[None]:
    assert plt.get_fignums() == []
    yield
    plt.close("all")


@every_display
def test_given_axes_are_drawn_on_and_nothing_else_is_touched(
    display: Callable[[Any], Any], no_figures: None
) -> None:
    settings, ax = dict(mpl.rcParams), axes()
    drawn = display(ax)
    assert drawn.ax_ is ax and drawn.figure_ is ax.figure
    drawn.figure_.canvas.draw()
    assert dict(mpl.rcParams) == settings and plt.get_fignums() == []
    assert drawn.plot(ax) is drawn


@every_display
def test_without_axes_one_figure_is_made(display: Callable[[Any], Any], no_figures: None) -> None:
    settings = dict(mpl.rcParams)
    drawn = display(None)
    assert [plt.figure(number) for number in plt.get_fignums()] == [drawn.figure_]
    assert dict(mpl.rcParams) == settings


@every_display
def test_what_is_no_axes_is_refused(display: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match="type Figure; pass one matplotlib Axes"):
        display(Figure())


@every_display
def test_without_matplotlib_the_command_is_given(
    display: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(MissingExtra, match=r"pip install 'grassvine\[plots\]'"):
        display(None)


@every_display
def test_all_words_lie_inside_the_picture_and_the_legend_covers_nothing(
    display: Callable[[Any], Any], no_figures: None
) -> None:
    drawn = display(None)
    drawn.figure_.canvas.draw()
    picture = np.asarray(drawn.figure_.canvas.buffer_rgba())[..., :3]
    assert all((edge == 255).all() for edge in (picture[0], picture[-1], picture[:, 0]))
    assert (picture[:, -1] == 255).all() and (picture < 255).any()
    if legend := drawn.ax_.get_legend():
        assert not legend.get_window_extent().overlaps(drawn.ax_.get_window_extent())


FITTED = SimpleNamespace(
    history_=GOSSIP.history,
    network_=gv.networks.ring(5),
    subspace_=GOSSIP.mean,
    subspaces_=GOSSIP.bases,
    validation_path_=PATH,
)


@pytest.mark.parametrize(
    ("display", "needs"),
    [
        (ConvergenceDisplay, "history_"),
        (AgreementDisplay, "history_"),
        (NetworkDisplay, "network_"),
        (AnglesDisplay, "subspaces_"),
        (ValidationDisplay, "validation_path_"),
    ],
)
def test_an_estimator_is_read_by_what_it_learned(display: Any, needs: str) -> None:
    ax = axes()
    assert display.from_estimator(FITTED, ax=ax).ax_ is ax
    only = SimpleNamespace(**{needs: getattr(FITTED, needs)})
    assert display.from_estimator(only, ax=axes())
    with pytest.raises(NotFittedError, match=f"SimpleNamespace has no {needs} because it is not"):
        display.from_estimator(SimpleNamespace(), ax=axes())


@pytest.mark.parametrize(
    ("display", "artist"),
    [
        (ConvergenceDisplay, "cost_line_"),
        (AgreementDisplay, "largest_line_"),
        (AnglesDisplay, "largest_line_"),
    ],
)
def test_a_style_is_taken(display: Any, artist: str) -> None:
    drawn = display.from_estimator(FITTED, ax=axes(), color="red", label="mine")
    line = getattr(drawn, artist)
    assert line.get_color() == "red" and line.get_label() == "mine"
    assert "mine" in [text.get_text() for text in drawn.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("display", [ConvergenceDisplay, AgreementDisplay])
def test_a_history_that_cannot_be_drawn_is_refused(display: Any) -> None:
    with pytest.raises(InputError, match="of type dict; pass a History"):
        display.from_history({})
    with pytest.raises(InputError, match="unknown x 'slot'; did you mean 'slots'"):
        display.from_history(GOSSIP.history, x="slot")
    with pytest.raises(InputError, match="has no rows"):
        display.from_history(GOSSIP.history.where(GOSSIP.history["slot"] < 0))
