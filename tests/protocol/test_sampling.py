"""Curves of histories at a limited number of slots: those of all slots, where they are chosen."""

import numpy as np
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.protocol.sampling import sampled, uses_sums
from grassvine.report.displays.traces import cost_trace, distance_trace


def run(method: gv.Gossip | gv.Exact, n_agents: int = 4) -> gv.Run:
    parts = gv.datasets.split_users(ratings(), n_agents)
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(n_agents), method)
    return gv.run(plan, [gv.CompletionProblem(part, unobserved=0.1) for part in parts])


def test_gossip_has_the_distances_of_the_whole_curve() -> None:
    history = run(gv.Gossip(max_iter=20)).history
    found, whole = sampled(history, 10**6), distance_trace(history)
    at = np.searchsorted(whole.x, found.slots - 1)
    known = np.isfinite(found.largest)
    np.testing.assert_array_equal(found.largest[known], np.degrees(whole.largest[at])[known])
    assert not uses_sums(history)
    assert found.bytes[-1] == history.n_bytes and found.messages[-1] == history.n_messages


def test_sums_have_the_costs_of_the_whole_curve_and_no_distances() -> None:
    history = run(gv.Exact()).history
    found, whole = sampled(history, 10**6), cost_trace(history)
    known = found.cost[np.isfinite(found.cost)]
    assert uses_sums(history) and np.isnan(found.largest).all()
    assert set(known.tolist()) <= set(whole.cost.tolist())
    assert known[-1] == whole.cost[-1]


def test_few_points_are_among_the_many() -> None:
    history = run(gv.Gossip(max_iter=40)).history
    few, many = sampled(history, 10), sampled(history, 10**6)
    at = np.searchsorted(many.slots, few.slots)
    assert 5 <= len(few.slots) <= 10
    for name in ("slots", "updates", "bytes", "messages", "cost", "rmse", "largest", "median"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[at])


def test_a_history_without_meetings_has_no_points() -> None:
    history = run(gv.Exact()).history.final()
    assert len(sampled(history, 10).slots) == 0
