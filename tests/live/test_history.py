"""Curves from the histories of runs that were saved without events."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import DataError
from grassvine.live.history import N_POINTS, from_history, points
from grassvine.live.summary import summary
from grassvine.report.displays.traces import cost_trace
from grassvine.runs import Run


def saved(folder: Path, method: gv.Gossip | gv.Exact, n_agents: int = 4) -> Run:
    parts = gv.datasets.split_users(ratings(), n_agents)
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(n_agents), method)
    result = gv.run(plan, [gv.CompletionProblem(part, unobserved=0.1) for part in parts])
    result.history.save(folder / "history.safetensors")
    (folder / "plan.toml").write_text(plan.to_toml())
    return result


def test_sums_have_the_costs_of_the_history(tmp_path: Path) -> None:
    result = saved(tmp_path, gv.Exact())
    progress = from_history(tmp_path)
    trace = cost_trace(result.history)
    found = {point.cost for point in progress.points if not math.isnan(point.cost)}
    assert found <= set(trace.cost.tolist()) and trace.cost[-1] in found
    assert progress.points[-1].bytes == result.bytes
    assert summary(progress)["state"] == "finished"


def test_gossip_has_costs_and_agreement(tmp_path: Path) -> None:
    result = saved(tmp_path, gv.Gossip(max_iter=20))
    last = from_history(tmp_path).points[-1]
    own = [result.history.of_agent(k) for k in range(4)]
    assert math.isclose(last.cost, sum(one["cost"][-2] for one in own), rel_tol=1e-12)
    assert last.largest == math.degrees(max(one["distance"][-2] for one in own))


def test_a_long_history_becomes_few_points() -> None:
    n_agents, n_slots = 30, 20_000
    slots, agents = np.repeat(np.arange(n_slots), 2), np.tile(np.arange(n_agents), n_slots)
    agents = agents[: 2 * n_slots]
    rows = {name: np.ones(len(slots)) for name in ("cost", "mse", "gradient_norm", "distance")}
    history = gv.History(
        {
            "agent": agents,
            "slot": slots,
            "update": slots * 2 // n_agents,
            "neighbour": (agents + 1) % n_agents,
            "messages": np.ones_like(slots),
            "bytes": 8 * np.ones_like(slots),
            "step": np.ones(len(slots)),
            **rows,
        }
    )
    found = points(history)
    assert N_POINTS // 2 < len(found) <= N_POINTS
    assert found[-1].bytes == 16 * n_slots and found[-1].cost == n_agents


def test_a_history_of_other_agents_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, gv.Exact())
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(3), gv.Exact())
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    with pytest.raises(DataError, match="has agents that its plan has not"):
        from_history(tmp_path)
