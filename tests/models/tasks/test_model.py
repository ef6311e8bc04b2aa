"""Related regressions: tasks solved within a subspace, with intercepts of their own."""

from dataclasses import replace

import numpy as np
import pytest
from tests.models.model_samples import N_ITEMS, RANK, feature_part, task_table, tasks_model

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError
from grassvine.models import FeaturePart, TasksModel


@pytest.mark.parametrize("intercepts", [True, False])
def test_a_task_is_the_ridge_regression_of_its_samples(intercepts: bool) -> None:
    model, (x, y, names) = tasks_model(intercepts), task_table()
    shared = model.shared
    assert isinstance(shared, FeaturePart)
    reduced = (x - shared.means) / shared.scales @ shared.basis
    for name in sorted(set(names)):
        mine = np.array(names) == name
        rows = np.column_stack([reduced[mine], np.ones(mine.sum())])
        regularization: Array = np.diag([shared.alpha] * RANK + [0.0])
        if not intercepts:
            rows, regularization = rows[:, :-1], regularization[:-1, :-1]
        solution = np.linalg.solve(rows.T @ rows + regularization, rows.T @ y[mine])
        found = model.predict(x[mine], [name] * int(mine.sum()))
        # The problem adds 1e-13 of a trace to its diagonal.
        np.testing.assert_allclose(found.targets, rows @ solution, atol=1e-10)
        assert found.known.all()


def test_weak_directions_are_penalised_more() -> None:
    x, y, names = task_table()
    strengths = np.array([2.0, 1.0, 0.25])
    shared = replace(feature_part(), strengths=strengths)
    model = TasksModel(shared).fold_in(x, y, names)
    mine = np.array(names) == names[-1]
    reduced = shared.standardised(x[mine]) @ shared.basis
    rows = np.column_stack([reduced, np.ones(mine.sum())])
    regularization = np.diag([*(shared.alpha / strengths**2), 0.0])
    wanted = rows @ np.linalg.solve(rows.T @ rows + regularization, rows.T @ y[mine])
    # The problem adds 1e-13 of a trace to its diagonal.
    found = model.predict(x[mine], [names[-1]] * len(wanted)).targets
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_order_of_samples_within_the_table_does_not_matter() -> None:
    x, y, names = task_table()
    order = np.argsort(np.cos(np.arange(len(y))))
    shuffled = TasksModel(feature_part()).fold_in(x[order], y[order], [names[k] for k in order])
    found = shuffled.predict(x, names).targets
    np.testing.assert_allclose(found, tasks_model().predict(x, names).targets, atol=1e-12)


def test_unknown_tasks_are_reported() -> None:
    model, (x, _, names) = tasks_model(), task_table()
    private = model.private
    assert private is not None
    asked = [*names[:2], "nowhere"]
    with pytest.raises(
        DataError, match=r"does not know 1 of the tasks \('nowhere'\): it has no samples"
    ):
        model.predict(x[:3], asked)
    found = model.predict(x[:3], asked, "nan")
    assert found.known.tolist() == [True, True, False] and np.isnan(found.targets[2])
    fallback = model.predict(x[:3], asked, "fallback")
    everyone = model.predict(np.repeat(x[2:3], len(private.tasks), axis=0), private.tasks.series)
    assert fallback.targets[2] == pytest.approx(everyone.targets.mean(), rel=1e-12)
    assert not fallback.known[2]
    alone = TasksModel(model.shared)
    with pytest.raises(DataError, match="it was loaded without tasks"):
        alone.predict(x[:1], names[:1])
    with pytest.raises(DataError, match="the mean of the known tasks, but this model has none"):
        alone.predict(x[:1], names[:1], "fallback")


def test_further_tasks_join_and_known_ones_are_solved_anew() -> None:
    model, (x, y, _) = tasks_model(), task_table()
    old = model.private
    joined = model.with_tasks(x[:10], y[:10], ["a new one"] * 6 + ["school 3"] * 4)
    new = joined.private
    assert old is not None and new is not None
    assert new.tasks.series.to_list() == ["a new one", *old.tasks.series.to_list()]
    assert new.counts[0] == 6 and new.counts[4] == 4
    others = [0, 1, 2, 4, 5]
    np.testing.assert_array_equal(new.weights[1:][others], old.weights[others])
    np.testing.assert_array_equal(new.intercepts[1:][others], old.intercepts[others])
    alone = model.fold_in(x[:6], y[:6], ["a new one"] * 6).private
    assert alone is not None
    np.testing.assert_allclose(new.weights[0], alone.weights[0], atol=1e-12)
    first = TasksModel(model.shared).with_tasks(x[:6], y[:6], ["a new one"] * 6)
    assert first.private is not None and len(first.private.tasks) == 1
    with pytest.raises(
        DataError, match=r"the task ids are text .* the known ones are whole numbers"
    ):
        model.fold_in(x[:1], y[:1], [7]).with_tasks(x[:1], y[:1], ["seven"])


def test_a_task_of_one_sample_is_its_level() -> None:
    x, y, _ = task_table()
    model = TasksModel(feature_part()).fold_in(x[:1], y[:1], ["one"])
    assert model.private is not None and not model.private.weights.any()
    assert model.predict(x[5:6], ["one"]).targets[0] == pytest.approx(y[0], rel=1e-15)


def test_bad_tables_are_refused() -> None:
    model, (x, y, names) = tasks_model(), task_table()
    with pytest.raises(DataError, match="got 2 samples and 3 tasks; pass one task per sample"):
        model.predict(x[:2], names[:3])
    with pytest.raises(DataError, match="the feature matrix has shape 2×19, not items×20"):
        model.predict(x[:2, 1:], names[:2])
    with pytest.raises(DataError, match=r"3 samples, targets of shape \(2,\) and 3 tasks"):
        model.fold_in(x[:3], y[:2], names[:3])
    with pytest.raises(DataError, match="target 1 is nan; drop samples without a finite target"):
        model.fold_in(x[:2], [1.0, np.nan], names[:2])


def test_parts_must_fit_together() -> None:
    model = tasks_model()
    shared, private = model.shared, model.private
    assert private is not None
    for change, message in (
        ({"features": ("x",) * N_ITEMS}, "two features are named 'x'"),
        ({"scales": np.zeros(N_ITEMS)}, "a scale is not positive"),
        ({"strengths": np.zeros(RANK)}, "a strength is not positive"),
        ({"strengths": np.ones(2)}, r"strengths have shape \(2,\)"),
        ({"means": np.zeros(3)}, r"means have shape \(3,\)"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"basis": 2.0 * shared.basis}, "not orthonormal"),
    ):
        with pytest.raises(BasisError, match=message):
            replace(shared, **change)
    with pytest.raises(BasisError, match="counts are not an array of non-negative integers"):
        replace(private, counts=private.counts[1:])
    with pytest.raises(BasisError, match=r"intercepts have shape \(2,\)"):
        replace(private, intercepts=np.zeros(2))
    with pytest.raises(
        DataError, match="the shared part has 3 weights for each task, the private part 2"
    ):
        TasksModel(shared, replace(private, weights=private.weights[:, :2]))
