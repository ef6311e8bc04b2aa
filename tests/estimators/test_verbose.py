"""What estimators tell during a fit: nothing, lines, or reports to observers."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import EfficiencyWarning

from grassvine.estimators import (
    DecentralizedPCA,
    DLMaFitCompleter,
    MatrixCompleter,
    MultitaskRegressor,
)
from grassvine.foundations.errors import PlanError
from grassvine.protocol import StepReport

RNG = np.random.default_rng(0)
SAMPLES = RNG.standard_normal((60, 6))
TABLE = np.where(RNG.random((40, 15)) < 0.6, RNG.integers(1, 6, (40, 15)), np.nan)
WIDE = RNG.standard_normal((60, 60))  # enough features that the components take several sums
TASKS = {"tasks": np.arange(60) % 6}
FITS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "exact": (MatrixCompleter(2, agents=2), (TABLE,), {}),
    "gossip": (MatrixCompleter(2, agents=2, method="gossip", max_iter=30), (TABLE,), {}),
    "d-lmafit": (DLMaFitCompleter(2, max_iter=30), (TABLE,), {}),
    "tasks": (MultitaskRegressor(1, agents=2), (SAMPLES, SAMPLES[:, 0]), TASKS),
    "pca": (DecentralizedPCA(2, agents=2), (WIDE,), {}),
}
every_fit = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@every_fit
def test_verbose_prints_lines_and_changes_no_bit(
    fit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    estimator, data, options = fit
    silent = clone(estimator).fit(*data, **options)
    assert capsys.readouterr() == ("", "")
    loud = clone(estimator).set_params(verbose=1).fit(*data, **options)
    lines = capsys.readouterr().out.splitlines()
    assert lines and all(line.startswith(f"[{type(estimator).__name__}] update") for line in lines)
    assert all("cost" in line and "gradient norm" in line and "% done" in line for line in lines)
    louder = clone(estimator).set_params(verbose=2).fit(*data, **options)
    assert len(capsys.readouterr().out.splitlines()) > len(lines)
    for other in (loud, louder):
        assert other.history_.to_bytes() == silent.history_.to_bytes()
        np.testing.assert_array_equal(other.subspace_, silent.subspace_)


@every_fit
def test_observers_get_every_report_and_clones_have_none(fit: Any) -> None:
    estimator, data, options = fit
    seen: list[StepReport] = []
    watched = clone(estimator).set_observers(seen.append)
    watched.fit(*data, **options)
    assert len(seen) == len(watched.history_)
    n_seen = len(seen)
    clone(watched).fit(*data, **options)
    assert len(seen) == n_seen


def test_a_wrong_verbosity_is_refused() -> None:
    with pytest.raises(PlanError, match="verbose is -1; choose a number of at least 0"):
        DecentralizedPCA(verbose=-1).fit(SAMPLES)


def test_a_deep_tree_of_many_agents_is_reported_with_shallower_ones() -> None:
    with pytest.warns(EfficiencyWarning, match="height 30, so every sum takes 60 slots; the netwo"):
        DecentralizedPCA(agents=60).fit(SAMPLES)
    DecentralizedPCA(agents=60, network="star").fit(SAMPLES)  # warnings are errors here
    DecentralizedPCA(agents=20).fit(SAMPLES)


def test_candidates_are_reported_by_estimators_that_choose() -> None:
    path = MatrixCompleter(2, agents=2).fit(TABLE).validation_path_
    assert path is not None and path["chosen"].sum() == 1.0 and set(path["rank"]) == {0.0, 2.0}
    assert MatrixCompleter(2, regularization=2.0).fit(TABLE).validation_path_ is None
    tasks = MultitaskRegressor("auto", method="exact").fit(SAMPLES, SAMPLES[:, 0], **TASKS)
    path = tasks.validation_path_
    assert path is not None and path["rank"][path["chosen"] > 0] == [tasks.rank_]
