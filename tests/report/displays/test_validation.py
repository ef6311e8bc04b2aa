import numpy as np
import pytest
from tests.report.displays.small_runs import axes
from tests.sums.test_progress import path_of, run

from grassvine.foundations.errors import DataError
from grassvine.report.displays import (
    CandidatesDisplay,
    PredictionsDisplay,
    SearchDisplay,
    ValidationDisplay,
)
from grassvine.sums import BiasedFactorization


def test_every_rank_is_a_line_and_every_candidate_has_its_own_cost() -> None:
    result = run(BiasedFactorization(ranks=(1, 3)), 2)
    path = path_of(result)
    errors = ValidationDisplay(path).plot(axes())
    assert [line.get_label() for line in errors.lines_] == ["biases only", "rank 1", "rank 3"]
    best = int(np.flatnonzero(path["chosen"])[0])
    assert errors.chosen_.get_ydata() == [path["rmse"][best]]
    costs = CandidatesDisplay(result.history, path).plot(axes())
    assert len(costs.lines_) == len(path["rank"])
    final = costs.final_line_.get_ydata()
    assert (np.diff(final[np.isfinite(final)]) <= 0.0).all()
    search = SearchDisplay(path).plot(axes())
    labels = [points.get_label() for points in search.points_]
    assert labels == ["biases only", "rank 1", "rank 3"]
    assert sum(len(points.get_xdata()) for points in search.points_) == len(path["rank"])
    assert search.chosen_.get_ydata().tolist() == [path["rmse"][best]]
    lowest = search.lowest_line_.get_ydata()
    assert lowest[0] == path["rmse"][0] and lowest[-1] == path["rmse"].min()
    assert search.lowest_line_.get_xdata().tolist() == path["n_sums"].tolist()
    del path["n_sums"]
    with pytest.raises(DataError, match="there are no candidates"):
        SearchDisplay(path)


@pytest.mark.parametrize("path", [None, {}, {"rank": np.ones(1)}])
def test_without_candidates_it_is_reported_how_to_get_some(path: object) -> None:
    with pytest.raises(DataError, match="fit with rank='auto' or regularization='auto'"):
        ValidationDisplay(path)  # type: ignore[arg-type]


def test_predictions_are_summarised_by_true_value() -> None:
    truth = np.repeat([1.0, 2.0, 5.0], 100)
    drawn = PredictionsDisplay.from_predictions(truth, truth + np.tile([-1.0, 1.0], 150), ax=axes())
    assert drawn.median_line_.get_xdata().tolist() == [1.0, 2.0, 5.0]
    assert drawn.ax_.get_xlabel() == "true value (300 values, RMSE 1)"
    with pytest.raises(DataError, match="two vectors of the same length"):
        PredictionsDisplay.from_predictions([1.0], [1.0, 2.0])
    with pytest.raises(DataError, match=r"pass the result of calibration\(truth, predicted\)"):
        PredictionsDisplay({"truth": np.ones(1)})
