"""The picture of the training error of exact runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests import samples
from tests.report.displays.small_runs import axes

import grassvine as gv
from grassvine.data import split_users
from grassvine.foundations.errors import DataError
from grassvine.report.displays import TrainingErrorDisplay
from grassvine.report.displays.training_error import training_errors
from grassvine.sums import BiasedFactorization

RANK = 2


def penalised(part: gv.Ratings) -> gv.CompletionProblem:
    return gv.CompletionProblem(part, unobserved=0.2)


KINDS: dict[str, tuple[Any, Callable[[gv.Ratings], Any]]] = {
    "biases": (BiasedFactorization(regularization=2.0), gv.BiasedCompletionProblem),
    "from a start": (gv.Exact(by_rank=False), penalised),
    "rank by rank": (gv.Exact(), penalised),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def run(kind: str, n_agents: int) -> gv.Run:
    method, problem = KINDS[kind]
    table = samples.ratings()
    plan = gv.Plan(table.n_items, RANK, gv.networks.path(n_agents), method)
    return gv.run(plan, [problem(part) for part in split_users(table, n_agents)])


@every_kind
@pytest.mark.parametrize("n_agents", [1, 3])
def test_the_errors_end_at_those_of_the_final_model(kind: str, n_agents: int) -> None:
    history = run(kind, n_agents).history
    sums, errors = training_errors(history)
    assert errors.shape == (n_agents, len(sums)) and np.isfinite(errors).all()
    # The same code evaluates the same point, once for the sum and once for the final report.
    assert np.array_equal(errors[:, -1], np.sqrt(history.final()["mse"]))
    assert errors[:, -1].max() < errors[:, 0].max()


def test_tasks_have_errors_too() -> None:
    data = samples.tasks()
    plan = gv.Plan(data.n_items, RANK, gv.networks.path(1), gv.Exact())
    history = gv.run(plan, [gv.MultitaskProblem(data, alpha=0.5)]).history
    assert training_errors(history)[1][0, -1] == np.sqrt(history.final()["mse"][0])


def test_errors_are_not_sent() -> None:
    """A message of a sum has cost, gradient and Gram matrix, and a checksum, as without errors."""
    history = run("biases", 2).history
    n_items = samples.ratings().n_items
    numbers = 1 + n_items * (RANK + 1) + RANK**2 + 1
    root = history.where((history["bytes"] > 0) & (history["update"] > 1))
    assert 8 * numbers in root["bytes"] and 8 * (numbers + 1) not in root["bytes"]


def test_it_shows_the_median_and_the_band_of_the_agents() -> None:
    history = run("biases", 3).history
    sums, errors = training_errors(history)
    shown = TrainingErrorDisplay.from_history(history, ax=axes())
    assert shown.line_.get_xdata().tolist() == sums.tolist()
    assert shown.line_.get_ydata().tolist() == np.median(errors, axis=0).tolist()
    assert shown.band_ is not None and shown.level_line_ is None
    assert "3 agents, each on its own values" in shown.line_.get_label()
    assert shown.ax_.get_yscale() == "linear" and shown.ax_.get_ylabel() == "training RMSE"
    alone = TrainingErrorDisplay(sums, errors[:1], ("held-out values", 0.5)).plot(axes())
    assert alone.band_ is None and alone.line_.get_label() == "training RMSE"
    assert set(alone.level_line_.get_ydata()) == {0.5} and alone.ax_.get_ylabel() == "RMSE"
    wide = TrainingErrorDisplay(np.array([1.0, 2.0]), np.array([[1.0, 1e-6]])).plot(axes())
    assert wide.ax_.get_yscale() == "log"


@pytest.mark.parametrize("method", [gv.Exact(), BiasedFactorization(max_iter=3)])
def test_runs_without_errors_are_refused(method: Any) -> None:
    """Components have no errors, and candidates are compared on held-out values."""
    problem: Any = gv.PCAProblem(samples.samples())
    if isinstance(method, BiasedFactorization):
        problem = gv.BiasedCompletionProblem(samples.ratings())
    history = gv.run(gv.Plan(problem.n_items, RANK, gv.networks.path(1), method), [problem]).history
    with pytest.raises(DataError, match="no errors between its sums"):
        TrainingErrorDisplay.from_history(history)
