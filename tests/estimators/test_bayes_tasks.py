"""The regressor by empirical Bayes: nothing to choose, intervals, new tasks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, RidgeCV
from tests.estimators.task_tables import N_FEATURES, N_TASKS, as_table, table
from tests.real_data import parkinsons, school

from grassvine.data import Tasks, hold_out_samples
from grassvine.estimators import AltMinRegressor, MultitaskRegressor
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError, UnknownIdWarning
from grassvine.foundations.seeds import stream
from grassvine.models import PriorPart

ALPHAS = np.logspace(-2, 3, 11)


@pytest.mark.parametrize(("agents", "network"), [(3, "path"), ("tasks", "star"), (9, "ring")])
def test_dividing_the_tasks_changes_nothing(agents: Any, network: str) -> None:
    x, y, tasks = table()
    alone = MultitaskRegressor().fit(x, y, tasks)
    many = MultitaskRegressor(agents=agents, network=network).fit(x, y, tasks)
    for one, other in zip(
        many.predict(x, tasks, return_std=True),
        alone.predict(x, tasks, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert many.agreement_ < 1e-6 and many.bytes_ > 0 == alone.bytes_
    np.testing.assert_allclose(np.abs(many.subspace_), np.abs(alone.subspace_), atol=1e-6)


def diabetes_by_age() -> Tasks:
    """Ten tasks of about 44 patients."""
    data = load_diabetes()
    decile = np.digitize(data.data[:, 0], np.quantile(data.data[:, 0], np.arange(0.1, 1.0, 0.1)))
    groups = [decile == group for group in range(10)]
    return Tasks(
        tuple(data.data[mine] for mine in groups), tuple(data.target[mine] for mine in groups)
    )


SETS = {"diabetes": diabetes_by_age, "school": school, "parkinsons": parkinsons}


@pytest.mark.parametrize("share", [0.2, 0.8])
@pytest.mark.parametrize("name", SETS)
def test_it_beats_ridge_of_each_task_and_of_all_tasks(name: str, share: float) -> None:
    """Their strength is chosen by cross-validation, here nothing is; and targets are covered.

    With nine samples of each age, diabetes has nothing to tell ages apart by; then it should be as
    good as one regression for all, but for chance.
    """
    train, test = hold_out_samples(SETS[name](), share, seed=0)
    x, y, tasks = as_table(train)
    asked, wanted, whose = as_table(test)
    scales = np.maximum(x.std(axis=0), 1e-12)
    alone = np.empty(len(wanted))
    for task in np.unique(whose):
        mine, theirs = tasks == task, whose == task
        own = RidgeCV(ALPHAS).fit(x[mine] / scales, y[mine])
        alone[theirs] = own.predict(asked[theirs] / scales)
    pooled = RidgeCV(ALPHAS).fit(x / scales, y).predict(asked / scales)
    model = MultitaskRegressor(agents=6).fit(x, y, tasks)
    found, lower, upper = model.predict(asked, whose, return_interval=0.9)
    error = np.mean((found - wanted) ** 2)
    assert error < np.mean((alone - wanted) ** 2)
    chance = 1.03 if (name, share) == ("diabetes", 0.8) else 1.0
    assert error < chance * np.mean((pooled - wanted) ** 2)
    assert 0.83 < np.mean((lower <= wanted) & (wanted <= upper)) < 0.94


def test_standard_deviations_and_intervals_belong_together() -> None:
    x, y, tasks = table()
    model = MultitaskRegressor().fit(x, y, tasks)
    mean, std = model.predict(x, tasks, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(x, tasks))
    for share, width in ((0.6827, 1.0), (0.9545, 2.0)):
        found, lower, upper = model.predict(x, tasks, return_interval=share)
        np.testing.assert_allclose([found - lower, upper - found], [width * std] * 2, rtol=1e-3)
    assert len(model.predict(x, tasks, return_std=True, return_interval=0.5)) == 4
    for share in (0.0, 1.0, -0.5):
        with pytest.raises(PlanError, match="interval is"):
            model.predict(x, tasks, return_interval=share)
    for other in (MultitaskRegressor(method="exact"), AltMinRegressor(max_iter=20)):
        fitted = other.fit(x, y, tasks)
        with pytest.raises(DataError, match="knows no standard deviations; fit one with method="):
            fitted.predict(x, tasks, return_std=True)


def test_new_tasks_are_known_better_with_every_sample() -> None:
    x, y, tasks = table(noise=1.0)
    last = tasks == N_TASKS - 1
    model = MultitaskRegressor(on_unknown="fallback").fit(x[~last], y[~last], tasks[~last])
    before, unknown = model.predict(x[last], tasks[last], return_std=True)
    shared = model.model_.shared
    assert isinstance(shared, PriorPart)
    reduced = np.column_stack([shared.standardised(x[last]), np.ones(last.sum())])
    np.testing.assert_allclose(before, reduced @ shared.prior.mean, rtol=1e-10)
    for count in (1, 4, 10):
        joined = model.fold_in(x[last][:count], y[last][:count], tasks[last][:count])
        _, std = joined.predict(x[last], tasks[last], return_std=True)
        assert (std < unknown).all()
        unknown = std
    # What it is folded into stays as it is.
    np.testing.assert_array_equal(
        joined.predict(x[~last], tasks[~last]), model.predict(x[~last], tasks[~last])
    )


def test_the_subspace_is_read_off() -> None:
    x, y, tasks = table()
    whole = MultitaskRegressor().fit(x, y, tasks)
    two = MultitaskRegressor(2).fit(x, y, tasks)
    assert whole.subspace_.shape == (N_FEATURES, N_FEATURES) and whole.rank_ == N_FEATURES
    np.testing.assert_allclose(two.subspace_, whole.subspace_[:, :2], atol=1e-12)
    np.testing.assert_array_equal(two.predict(x, tasks), whole.predict(x, tasks))
    # The weights of these tasks lie in a plane; that of the paper's method is the same.
    exact = MultitaskRegressor(2, method="exact", alpha=0.01).fit(x, y, tasks)
    cosines = np.linalg.svd(exact.subspace_.T @ two.subspace_)[1]
    assert cosines.min() > 0.999
    with pytest.raises(PlanError, match=r"method='bayes' chooses no rank; omit rank"):
        MultitaskRegressor("auto").fit(x, y, tasks)
    with pytest.raises(PlanError, match="rank is 9, but there are 8 features"):
        MultitaskRegressor(9).fit(x, y, tasks)


def test_what_was_saved_has_the_same_intervals(tmp_path: Path) -> None:
    x, y, tasks = table()
    model = MultitaskRegressor(2).fit(x, y, tasks)
    again = MultitaskRegressor.load(model.save(tmp_path / "model"))
    for one, other in zip(
        again.predict(x, tasks, return_std=True),
        model.predict(x, tasks, return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.subspace_, model.subspace_)
    shared = MultitaskRegressor.load(tmp_path / "model", private=False)
    with pytest.warns(UnknownIdWarning, match="they get the prediction expected for a new task"):
        _, std = shared.predict(x, tasks, return_std=True)
    assert (std > model.predict(x, tasks, return_std=True)[1]).all()


def test_one_task_is_a_ridge_regression_whose_strength_nobody_chose() -> None:
    errors, least_squares, covered = [], [], []
    for seed in range(20):
        rng = stream(seed, "data", "one task")
        x: Array = rng.standard_normal((300, 12))
        y = x[:, 0] + 3.0 * rng.standard_normal(300)
        model = MultitaskRegressor().fit(x[:60], y[:60])
        found, lower, upper = model.predict(x[60:], return_interval=0.9)
        errors.append(np.mean((found - y[60:]) ** 2))
        unregularised = LinearRegression().fit(x[:60], y[:60]).predict(x[60:])
        least_squares.append(np.mean((unregularised - y[60:]) ** 2))
        covered.append(np.mean((lower < y[60:]) & (y[60:] < upper)))
    assert np.mean(errors) < np.mean(least_squares)
    assert 0.87 < np.mean(covered) < 0.93  # with a standard error of .01
