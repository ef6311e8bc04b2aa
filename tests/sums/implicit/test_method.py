"""Implicit feedback: many agents find what one owner of all events finds, and it is right."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.sums.implicit.choices import N_ITEMS, events

import grassvine as gv
from grassvine.engines.in_process import ThreadsEngine
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.sums import ImplicitFactorization, ImplicitModel, ImplicitProblem
from grassvine.sums.implicit.descent import INFORMATIVE
from grassvine.sums.implicit.statistics import EventStatistics
from grassvine.sums.implicit.strengths import default_rank, default_strengths

RANK = 3
DENSE = partial(events, n_users=500, per_user=30.0)
NETWORKS = {
    "alone": gv.networks.path(1),
    "pair": gv.networks.path(2),
    "ring": gv.networks.ring(10),
    "star": gv.networks.star(5),
    "many": gv.networks.exponential(100),
}


def fitted(
    table: gv.Ratings, network: gv.networks.Network, engine: Any = None, **options: Any
) -> Any:
    plan = gv.Plan(N_ITEMS, RANK, network, ImplicitFactorization(**options), seed=2)
    parts = gv.datasets.split_users(table, network.n_agents)
    return gv.run(plan, [ImplicitProblem(part) for part in parts], engine=engine)


def information(table: gv.Ratings) -> float:
    counts = np.bincount(table.items, minlength=table.n_items).astype(float)
    n_users = float(np.count_nonzero(np.diff(table.starts)))
    return EventStatistics(counts, counts, n_users, 1.0).information


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("counted", [False, True])
def test_all_agents_end_with_the_pooled_model(network: gv.networks.Network, counted: bool) -> None:
    table = DENSE(counted=counted)
    pooled = ImplicitModel.from_arrays(fitted(table, gv.networks.path(1)).states[0])
    for state in fitted(table, network).states:
        model = ImplicitModel.from_arrays(state)
        # What users are promised; rounding differs by 1e-13.
        np.testing.assert_allclose(model.factors, pooled.factors, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.popularity, pooled.popularity, rtol=0, atol=1e-9)
        assert model.strengths.ridge == pytest.approx(pooled.strengths.ridge, rel=1e-12)


def test_engines_give_the_same_bits() -> None:
    table, network = DENSE(), gv.networks.ring(4)
    one, other = (fitted(table, network, engine) for engine in (None, ThreadsEngine(2)))
    for here, there in zip(one.states, other.states, strict=True):
        assert all(here[name].tobytes() == there[name].tobytes() for name in here)


@pytest.mark.parametrize("table", [DENSE(), events(per_user=3.0)], ids=["dense", "sparse"])
def test_a_fit_takes_at_most_twenty_sums(table: gv.Ratings) -> None:
    """Each of m(r + 1) + (r + 1)² + 1 numbers at most."""
    run = fitted(table, gv.networks.path(2))
    sums = int(run.history.final()["update"].max())
    assert sums <= 20
    assert run.bytes / sums <= 2 * 8 * (N_ITEMS * (RANK + 1) + (RANK + 1) ** 2 + 3 + 13)


def test_the_end_is_a_minimum() -> None:
    """Far beyond the default tolerance, the gradient is 0 in every direction."""
    table = DENSE()
    run = fitted(table, gv.networks.path(1), max_iter=400, tol=1e-15)
    model, problem = ImplicitModel.from_arrays(run.states[0]), ImplicitProblem(table)
    strengths, rows = model.strengths, model.rows
    counts = np.bincount(table.items, minlength=N_ITEMS)
    n_users = np.count_nonzero(np.diff(table.starts))
    ridges = strengths.ridge * (counts + strengths.unobserved_weight * n_users)

    def cost(rows: Any) -> float:
        there = ImplicitModel(rows[:, :-1], rows[:, -1], strengths)
        return problem.evaluate(there).cost + float(ridges @ np.sum(rows**2, axis=1))

    here = cost(rows)
    for number in range(5):
        change = 1e-3 * stream(number, "direction").standard_normal(rows.shape)
        assert cost(rows + change) > here


def test_factors_know_the_taste_of_a_user() -> None:
    table = DENSE()
    run = fitted(table, gv.networks.path(1))
    model = ImplicitModel.from_arrays(run.states[0])
    scores = ImplicitProblem(table).solve(model) @ model.rows.T
    half = np.arange(N_ITEMS) < N_ITEMS // 2
    users, first = table.users_of_values(), half[table.items]
    share = np.bincount(users, first, table.n_users) / np.maximum(np.diff(table.starts), 1)
    prefers = scores[:, half].mean(axis=1) - scores[:, ~half].mean(axis=1)
    clear = np.abs(share - 0.5) > 0.25
    assert clear.sum() > 100
    assert np.mean((prefers > 0) == (share > 0.5), where=clear) > 0.97


def test_without_taste_popularity_is_all_there_is() -> None:
    """Few independent events: the agents find that factors are noise."""
    table = events(per_user=4.0, taste=1.0, n_users=300)
    assert information(table) < INFORMATIVE
    run = fitted(table, gv.networks.ring(3))
    assert "popularity" in run.stop_reason
    for state in run.states:
        assert not ImplicitModel.from_arrays(state).factors.any()


def test_taste_in_few_events_is_found() -> None:
    table = events(per_user=5.0, taste=12.0, n_users=600)
    assert information(table) < INFORMATIVE
    run = fitted(table, gv.networks.ring(3))
    assert "refined with all events" in run.stop_reason
    assert ImplicitModel.from_arrays(run.states[0]).factors.any()


def test_items_without_events_have_no_factors() -> None:
    table = DENSE()
    table = table.take_values(table.items != 7)
    model = ImplicitModel.from_arrays(fitted(table, gv.networks.path(2)).states[1])
    assert not model.rows[7].any()
    assert model.rows.any(axis=1).sum() == N_ITEMS - 1


def test_an_agent_without_events_learns_the_same() -> None:
    table = DENSE()
    empty = gv.Ratings(N_ITEMS, np.zeros(4, np.int64), np.empty(0, np.int32), np.empty(0))
    plan = gv.Plan(N_ITEMS, RANK, gv.networks.path(2), ImplicitFactorization(), seed=2)
    run = gv.run(plan, [ImplicitProblem(table), ImplicitProblem(empty)])
    alone = ImplicitModel.from_arrays(fitted(table, gv.networks.path(1)).states[0])
    found = ImplicitModel.from_arrays(run.states[1])
    np.testing.assert_allclose(found.rows, alone.rows, rtol=0, atol=1e-9)


def test_defaults_follow_information() -> None:
    """Dense tables get the weights of MovieLens, sparse ones stronger ridges; ranks grow slowly."""
    dense = EventStatistics(np.full(3700, 216.0), np.full(3700, 216.0), 6040.0, 1.0)
    sparse = EventStatistics(np.full(3700, 2.0), np.full(3700, 2.0), 2500.0, 1.0)
    strong, weak = default_strengths(sparse, None, None), default_strengths(dense, None, None)
    assert weak.unobserved_weight == pytest.approx(6.0 * dense.density)
    assert strong.unobserved_weight == pytest.approx(3.0 * sparse.density)
    assert default_strengths(dense, 2.0, 1.0).unobserved_weight == pytest.approx(2 * dense.density)
    ranks = [default_rank(n, 10**4, 10**4) for n in (10, 10**4, 10**5, 8 * 10**5, 10**7, 10**9)]
    assert ranks == sorted(ranks) and ranks[3] == 64 and ranks[-1] == 128
    assert default_rank(10**6, 10**5, 3) == 2 and default_rank(4, 2, 2) == 2


def test_plans_can_be_written_and_bad_options_are_refused() -> None:
    for method in (ImplicitFactorization(), ImplicitFactorization(2.0, 0.5, 9, 1e-4)):
        plan = gv.Plan(N_ITEMS, RANK, gv.networks.ring(3), method)
        assert gv.Plan.from_toml(plan.to_toml()) == plan
    for options in ({"unobserved": 0.0}, {"regularization": -1.0}, {"max_iter": 0}, {"tol": -1.0}):
        with pytest.raises(PlanError, match=next(iter(options))):
            ImplicitFactorization(**options)
