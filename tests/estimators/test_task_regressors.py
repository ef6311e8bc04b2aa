"""What all regressors of tasks have in common."""

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from tests.estimators.task_tables import N_FEATURES, N_TASKS, table

from grassvine.estimators import AltMinRegressor, DecentralizedPCA, MultitaskRegressor
from grassvine.foundations.errors import DataError, ModelError, PlanError, UnknownIdWarning

REGRESSORS = {
    "bayes": MultitaskRegressor(random_state=0),
    "subspace": MultitaskRegressor(2, method="exact", alpha=0.01, random_state=0),
    "alt-min": AltMinRegressor(0.01, max_iter=300),
}
every = pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
# Those that know nothing of a task without samples but the mean of the others.
RIDGE = {name: one for name, one in REGRESSORS.items() if name != "bayes"}
every_ridge = pytest.mark.parametrize("regressor", RIDGE.values(), ids=RIDGE)
NAMES = [f"feature {number}" for number in range(N_FEATURES)]


@every
def test_tasks_with_levels_of_their_own_are_predicted(regressor: Any) -> None:
    x, y, tasks = table(noise=0.01)
    model = clone(regressor).fit(x, y, tasks)
    # The noise is .01; the penalties add about as much.
    assert np.sqrt(np.mean((model.predict(x, tasks) - y) ** 2)) < 0.03
    assert model.score(x, y, tasks=tasks) > 0.9999
    assert model.tasks_.tolist() == list(range(N_TASKS))
    flat = clone(regressor).set_params(fit_intercept=False).fit(x, y, tasks)
    assert flat.predict(np.zeros((1, N_FEATURES)), [0]) == 0.0
    assert flat.score(x, y, tasks=tasks) < 0.999


@every
def test_units_of_features_and_targets_do_not_matter(regressor: Any) -> None:
    x, y, tasks = table()
    plain = clone(regressor).fit(x, y, tasks).predict(x, tasks)
    units = np.logspace(-3, 3, N_FEATURES)
    other = clone(regressor).fit(x * units - 7.0, 1e4 * y, tasks).predict(x * units - 7.0, tasks)
    # Rounding of features of the size 1e-3 that were shifted by 7.
    np.testing.assert_allclose(other / 1e4, plain, atol=1e-8 * np.abs(y).max())
    rough = clone(regressor).set_params(standardize=False).fit(x, y, tasks)
    assert (rough.model_.shared.scales == 1.0).all()


@every
def test_tables_of_any_library_and_ids_of_any_type(regressor: Any) -> None:
    x, y, tasks = table()
    plain = clone(regressor).fit(x, y, tasks)
    names = [f"school {number}" for number in tasks]
    libraries: list[tuple[Any, Any]] = [(pd.DataFrame, pd.Series), (pl.DataFrame, pl.Series)]
    for frame, series in libraries:
        given = frame(dict(zip(NAMES, x.T, strict=True)))
        model = clone(regressor).fit(given, series(y), tasks=series(names))
        assert model.feature_names_in_.tolist() == NAMES
        assert model.model_.shared.features == tuple(NAMES)
        assert model.tasks_.tolist() == sorted(set(names))
        found = model.predict(given, series(names))
        np.testing.assert_array_equal(found, plain.predict(x, tasks))
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            model.predict(frame(dict(zip(NAMES[::-1], x.T, strict=True))), names)


@every
def test_a_task_that_comes_later_is_solved_within_what_all_share(regressor: Any) -> None:
    x, y, tasks = table()
    model = clone(regressor).fit(x, y, tasks)
    last = tasks == N_TASKS - 1
    # The same samples under another name have the same weights as those that were fitted.
    other = model.fold_in(x[last], y[last], np.full(last.sum(), 77))
    assert other.tasks_.tolist() == [*range(N_TASKS), 77] and len(model.tasks_) == N_TASKS
    wanted = model.predict(x[last], tasks[last])
    np.testing.assert_allclose(other.predict(x[last], [77] * len(wanted)), wanted, atol=1e-10)
    np.testing.assert_array_equal(other.predict(x, tasks), model.predict(x, tasks))
    without = clone(regressor).fit(x[~last], y[~last], tasks[~last])
    known = without.fold_in(x[last], y[last], tasks[last])
    assert known.score(x[last], y[last], tasks=tasks[last]) > 0.99


@every
def test_unknown_tasks_are_reported_counted_or_refused(regressor: Any) -> None:
    x, y, tasks = table()
    model = clone(regressor).fit(x, y, tasks)
    with pytest.warns(UnknownIdWarning) as warned:
        by_default = model.predict(x[:2], [0, 99])
    assert len(warned) == 1
    assert re.fullmatch(
        r"1 of 2 samples are unknown to the model \(such as task 99\); they get the (mean "
        r"prediction of the known tasks|prediction expected for a new task)\. Set "
        r"on_unknown='fallback' to accept this, or 'nan' or 'raise'\.",
        str(warned[0].message),
    )
    with pytest.raises(DataError, match=r"the model does not know 1 of the tasks \(99\)"):
        copy.copy(model).set_params(on_unknown="raise").predict(x[:2], [0, 99])
    with pytest.raises(DataError, match=r"the model knows 9 tasks, .* pass tasks=… with one id"):
        model.predict(x[:2])
    assert np.isnan(model.set_params(on_unknown="nan").predict(x[:2], [0, 99])).tolist() == [
        False,
        True,
    ]
    fallback = model.set_params(on_unknown="fallback").predict(x[:2], [0, 99])
    assert fallback.tobytes() == by_default.tobytes()
    with pytest.raises(PlanError, match="on_unknown is 'mean'; choose"):
        model.set_params(on_unknown="mean").predict(x[:1], [0])


@every_ridge
def test_an_unknown_task_is_the_mean_of_the_known_ones(regressor: Any) -> None:
    x, y, tasks = table()
    model = clone(regressor).set_params(on_unknown="fallback").fit(x, y, tasks)
    mean = np.mean([model.predict(x[:1], [task])[0] for task in range(N_TASKS)])
    assert model.predict(x[:1], [99])[0] == pytest.approx(mean, rel=1e-12)


@every
def test_bad_input_is_reported_and_input_is_left_as_it_is(regressor: Any) -> None:
    x, y, tasks = table()
    kept = x.copy(), y.copy(), tasks.copy()
    model = clone(regressor)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(np.where(x > 20.0, np.nan, x), y, tasks)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(x, np.where(y > 0.0, np.nan, y), tasks)
    with pytest.raises(DataError, match=r"and 3 tasks; pass one target and one task per sample"):
        model.fit(x, y, tasks[:3])
    with pytest.raises(DataError, match=r"1 of \d+ task ids are missing"):
        model.fit(x, y, [None, *tasks[1:].tolist()])
    with pytest.raises(PlanError, match="standardize is 'yes'; pass True or False"):
        clone(regressor).set_params(standardize="yes").fit(x, y, tasks)
    model.fit(x, y, tasks).predict(x, tasks)
    for now, before in zip((x, y, tasks), kept, strict=True):
        np.testing.assert_array_equal(now, before)


@every
def test_poor_data_are_no_obstacle(regressor: Any) -> None:
    x, y, tasks = table()
    flat = clone(regressor).fit(x, np.full(len(y), 3.25), tasks)
    np.testing.assert_allclose(flat.predict(x, tasks), 3.25, rtol=1e-12)
    idle = np.column_stack([x, np.ones(len(x))])  # a feature that never varies
    found = clone(regressor).fit(idle, y, tasks).predict(idle, tasks)
    np.testing.assert_allclose(found, clone(regressor).fit(x, y, tasks).predict(x, tasks), atol=0.1)


@every_ridge
def test_a_task_of_one_sample_is_its_level(regressor: Any) -> None:
    x, y, tasks = table()
    tasks[0] = 50
    model = clone(regressor).fit(x, y, tasks)
    np.testing.assert_allclose(model.predict(x[:3], [50] * 3), y[0], rtol=1e-12)


@every
def test_pipelines_and_searches_pass_tasks_on(regressor: Any) -> None:
    x, y, tasks = table()
    name = "rank" if "rank" in regressor.get_params() else "alpha"
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(regressor).set_fit_request(tasks=True)
        asking.set_predict_request(tasks=True).set_score_request(tasks=True)
        pipeline = make_pipeline(PolynomialFeatures(1, include_bias=False), asking)
        choices = {f"{type(regressor).__name__.lower()}__{name}": [1, 2]}
        search = GridSearchCV(pipeline, choices, cv=3, error_score="raise").fit(x, y, tasks=tasks)
        assert search.best_score_ > 0.9
        found = search.best_estimator_.predict(x, tasks=tasks)
    assert np.corrcoef(found, y)[0, 1] > 0.99


@every
def test_what_was_saved_predicts_the_same(regressor: Any, tmp_path: Path) -> None:
    x, y, tasks = table()
    frame = pd.DataFrame(x, columns=NAMES)
    model = clone(regressor).fit(frame, y, tasks)
    folder = model.save(tmp_path / "model")
    again = type(regressor).load(folder)
    np.testing.assert_array_equal(again.predict(frame, tasks), model.predict(frame, tasks))
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == NAMES and again.n_features_in_ == N_FEATURES
    np.testing.assert_array_equal(again.subspace_, model.subspace_)
    shared = type(regressor).load(folder, private=False)
    if "bayes" not in model.get_params().values():
        with pytest.raises(DataError, match="this model has none; load its private part, or fold"):
            shared.predict(frame, tasks)
    same = shared.fold_in(frame, y, tasks)
    np.testing.assert_array_equal(same.predict(frame, tasks), model.predict(frame, tasks))
    with pytest.raises(ModelError, match=r"contains a TasksModel of .*; load it with the class"):
        DecentralizedPCA.load(folder)
    plain = clone(regressor).fit(x, y, tasks).save(tmp_path / "plain")
    assert not hasattr(type(regressor).load(plain), "feature_names_in_")


@every
def test_it_has_a_picture(regressor: Any) -> None:
    assert type(regressor).__name__ in regressor._repr_html_()
