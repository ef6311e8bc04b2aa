"""The regressor by the methods of the paper: agents, ranks, methods."""

from typing import Any

import numpy as np
import pytest
from sklearn.callback import ProgressBar
from sklearn.linear_model import Ridge
from tests.estimators.task_tables import N_FEATURES, N_TASKS, RANK, as_table, table
from tests.real_data import school

import grassvine as gv
from grassvine.data.split import hold_out_samples
from grassvine.estimators import AltMinRegressor, MultitaskRegressor
from grassvine.foundations.errors import DataError, NetworkError, PlanError


def regressor(**options: Any) -> MultitaskRegressor:
    return MultitaskRegressor(**{"rank": RANK, "method": "exact", "random_state": 0, **options})


@pytest.mark.parametrize("agents", [3, "tasks"])
def test_dividing_the_tasks_changes_nothing(agents: Any) -> None:
    x, y, tasks = table()
    alone = regressor().fit(x, y, tasks)
    many = regressor(agents=agents, network="star").fit(x, y, tasks)
    np.testing.assert_allclose(many.predict(x, tasks), alone.predict(x, tasks), atol=1e-8)
    count = N_TASKS if agents == "tasks" else agents
    assert many.network_.edges == gv.networks.star(count).edges and len(many.subspaces_) == count
    assert many.agreement_ < 1e-6 and many.bytes_ > 0 == alone.bytes_
    assert many.n_iter_ == many.history_["update"].max() > 1
    assert many.subspace_.shape == (N_FEATURES, RANK)
    assert "gradient norm fell" in many.stop_reason_


@pytest.mark.parametrize(
    ("method", "atol"),
    # Tracked stops at 1e-9 of the first gradient; the others are pulled towards each other.
    [("tracked", 1e-4), ("gossip", 1.0), ("precon-parallel", 1.0), ("rextra", 1.0)],
)
def test_every_method_comes_near_the_exact_one(method: str, atol: float) -> None:
    x, y, tasks = table()
    exact = regressor().fit(x, y, tasks).predict(x, tasks)
    found = regressor(method=method, agents=3).fit(x, y, tasks)
    assert np.sqrt(np.mean((found.predict(x, tasks) - exact) ** 2)) < atol
    assert found.score(x, y, tasks=tasks) > 0.98


def test_engines_and_own_networks_are_taken() -> None:
    x, y, tasks = table()
    one = regressor(agents=3, network=gv.networks.path(3), method="gossip").fit(x, y, tasks)
    other = regressor(agents=3, network="path", method="gossip", engine="threads")
    np.testing.assert_array_equal(other.fit(x, y, tasks).subspace_, one.subspace_)


def test_one_task_is_a_ridge_regression() -> None:
    x, y, _ = table()
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    wanted = Ridge(alpha=1.0).fit(scaled, y).predict(scaled)
    # A subspace of one dimension holds the weights of one task, whatever they are.
    found = regressor(rank=1).fit(x, y).predict(x)
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_the_rank_is_found_on_held_out_samples() -> None:
    x, y, tasks = table()
    found = regressor(rank="auto", agents=3).fit(x, y, tasks)
    assert found.rank_ == RANK == found.subspace_.shape[1]
    assert regressor(rank="auto").fit(x, y).rank_ == 1  # one task has one direction
    few = [0, 0, 1, 1]
    with pytest.raises(DataError, match=r"every task has too few .* choose a rank"):
        regressor(rank="auto").fit(x[:4], y[:4], few)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"rank": 9},
            PlanError,
            "rank is 9, but there are 8 features; choose a number from 1 to 8",
        ),
        ({"rank": "best"}, PlanError, "rank is 'best'; use an integer or 'auto'"),
        ({"rank": 1.5}, PlanError, "rank must be an integer, not 1.5"),
        ({"agents": 10}, PlanError, "agents is 10, but there are 9 tasks and each agent needs one"),
        ({"agents": "schools"}, PlanError, "agents is 'schools'; use a number, or 'tasks'"),
        ({"alpha": -1.0}, DataError, "alpha is -1; choose a finite number of at least 0"),
        ({"method": "gosip"}, PlanError, "unknown method 'gosip'; did you mean 'gossip'"),
        ({"method": "gossip"}, PlanError, "method 'gossip' needs two agents or more"),
        ({"method": "gossip", "agents": 2, "rho": -1.0}, PlanError, "rho is -1"),
        ({"network": "rign"}, PlanError, "unknown network 'rign'; did you mean 'ring'"),
        (
            {"network": gv.networks.ring(4), "agents": 3},
            NetworkError,
            "4 agents, but the data are divided among 3;",
        ),
        ({"engine": "spark"}, PlanError, "unknown engine 'spark'"),
        ({"random_state": -1}, PlanError, "random_state is -1"),
    ],
)
def test_options_that_cannot_be_are_reported(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        regressor(**options).fit(*table())


def test_no_ridge_is_allowed_even_where_a_feature_never_varies() -> None:
    x, y, tasks = table(noise=0.0)
    x = np.column_stack([x, np.ones(len(x))])
    found = regressor(alpha=0.0).fit(x, y, tasks)
    np.testing.assert_allclose(found.predict(x, tasks), y, atol=1e-6 * np.abs(y).max())


@pytest.mark.parametrize("estimator", [MultitaskRegressor(1), AltMinRegressor(1)])
def test_data_whose_products_would_overflow_are_refused(estimator: Any) -> None:
    x, y, tasks = table()
    x[0, 0] = y[1] = 1e300
    with pytest.raises(DataError, match=r"^the features contain 1e\+300, which is above 1e\+50 in"):
        estimator.fit(x, y, tasks)
    x[0, 0] = 1e50
    with pytest.raises(DataError, match=r"^the targets contain 1e\+300, which is above 1e\+50 in"):
        estimator.fit(x, y, tasks)


def test_a_fit_can_be_watched(capsys: pytest.CaptureFixture[str]) -> None:
    x, y, tasks = table()
    watched = regressor()
    watched.set_callbacks(ProgressBar())
    watched.fit(x, y, tasks)
    plain = regressor().fit(x, y, tasks)
    np.testing.assert_array_equal(watched.subspace_, plain.subspace_)
    assert "MultitaskRegressor" in capsys.readouterr().out


def test_schools_learn_from_each_other() -> None:
    """The baseline is each school alone with the best of the strengths 1, 3, 10, 30, 100."""
    train, test = hold_out_samples(school(), 0.2, seed=5)
    x, y, tasks = as_table(train)
    asked, wanted, whose = as_table(test)
    alone = np.empty(len(wanted))
    scales = np.maximum(x.std(axis=0), 1e-12)
    for task in np.unique(tasks):
        mine, theirs = tasks == task, whose == task
        alpha = Ridge(alpha=30.0).fit(x[mine] / scales, y[mine])
        alone[theirs] = alpha.predict(asked[theirs] / scales)
    error_alone = np.mean((alone - wanted) ** 2)
    together = regressor(rank=3, agents=6).fit(x, y, tasks)
    found = regressor(rank="auto").fit(x, y, tasks)
    baseline = AltMinRegressor(tol=1e-5).fit(x, y, tasks)
    for model in (together, found, baseline):
        assert np.mean((model.predict(asked, whose) - wanted) ** 2) < error_alone
