"""EASE: one sum, and regressions that can be checked one by one."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack
from tests.sums.implicit.choices import N_ITEMS, events
from threadpoolctl import threadpool_info, threadpool_limits

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError, PlanError
from grassvine.sums import EASE, ImplicitProblem
from grassvine.sums.implicit import ease
from grassvine.sums.implicit.ease import ItemRegressions


def dense(table: gv.Ratings) -> Array:
    rows = np.zeros((table.n_users, table.n_items))
    rows[table.users_of_values(), table.items] = np.log2(1.0 + table.values)
    return rows


def fitted(table: gv.Ratings, n_agents: int, **options: float) -> gv.Run:
    plan = gv.Plan(N_ITEMS, 1, gv.networks.path(n_agents), EASE(**options))
    parts = gv.datasets.split_users(table, n_agents)
    return gv.run(plan, [ImplicitProblem(part) for part in parts])


@pytest.mark.parametrize("counted", [False, True])
def test_each_column_is_the_ridge_regression_on_all_other_items(counted: bool) -> None:
    table = events(counted=counted)
    found = ItemRegressions.from_arrays(fitted(table, 1).states[0])
    rows = dense(table)
    gram = rows.T @ rows
    ridge = 55.0 * np.sqrt(np.diagonal(gram).sum() / np.count_nonzero(np.diagonal(gram)))
    for item in range(N_ITEMS):
        others = np.delete(np.arange(N_ITEMS), item)
        system = gram[np.ix_(others, others)] + ridge * np.eye(N_ITEMS - 1)
        wanted = np.linalg.solve(system, gram[others, item])
        np.testing.assert_allclose(found.coefficients[others, item], wanted, rtol=0, atol=1e-12)
        assert found.coefficients[item, item] == 0.0


@pytest.mark.parametrize("n_agents", [2, 10, 100])
def test_agents_agree_after_one_sum(n_agents: int) -> None:
    table = events()
    alone = ItemRegressions.from_arrays(fitted(table, 1).states[0]).coefficients
    run = fitted(table, n_agents)
    assert int(run.history.final()["update"].max()) == 1
    for state in run.states:
        found = ItemRegressions.from_arrays(state).coefficients
        np.testing.assert_allclose(found, alone, rtol=0, atol=1e-9)


def test_the_error_at_the_events_is_that_of_the_scores() -> None:
    table = events(counted=True)
    run = fitted(table, 1)
    model, rows = ItemRegressions.from_arrays(run.states[0]), dense(table)
    residuals = (rows - rows @ model.coefficients)[rows > 0]
    wanted = float(residuals @ residuals) / table.n_values
    assert run.history.final()["mse"][0] == pytest.approx(wanted, rel=1e-12)


def test_items_that_nobody_chose_have_no_coefficients() -> None:
    table = events()
    table = table.take_values(table.items != 3)
    found = fitted(table, 2).states[0]["coefficients"]
    assert not found[3].any() and not found[:, 3].any()


def test_too_many_items_and_bad_options_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="regularization is 0"):
        EASE(regularization=0.0)
    with pytest.raises(BasisError, match="one row and one column per item"):
        ItemRegressions(np.eye(3))
    monkeypatch.setattr(ease, "MAX_ITEMS", 10)
    plan = gv.Plan(N_ITEMS, 1, gv.networks.path(1), EASE())
    with pytest.raises(DataError, match="limited to 10 items"):
        gv.run(plan, [ImplicitProblem(events())])
    assert gv.Plan.from_toml(plan.to_toml()) == plan


def test_scipy_has_one_thread_even_if_it_was_loaded_with_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bits of a factorisation depend on the number of threads, and SciPy has a BLAS of its own."""
    factorise = lapack.dpotrf
    threads: set[int] = set()

    def recorded(*arguments: Any, **options: Any) -> Any:
        pools = threadpool_info()
        threads.update(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return factorise(*arguments, **options)

    monkeypatch.setattr(lapack, "dpotrf", recorded)
    with threadpool_limits(limits=2, user_api="blas"):
        ease._regressions(np.ones(N_ITEMS * (N_ITEMS + 1) // 2), N_ITEMS, 1.0)
    assert threads == {1}
