"""The curves of a run that was saved without events, from its history.

A history may have millions of rows, so it is read at about a thousand slots only.
"""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.errors import DataError
from grassvine.protocol.history import History
from grassvine.report.displays.traces import uses_sums
from grassvine.runs.plan import Plan
from grassvine.runs.progress import Begin, End, Members, Point, Progress
from grassvine.runs.progress.events import FINISHED, MAX_AGENTS, MAX_LINKS, NONE

N_POINTS = 1000


def from_history(folder: Path) -> Progress:
    """Return the progress that a run folder's plan and history tell; times are not known."""
    history = History.load(folder / "history.safetensors")
    try:
        plan = Plan.from_toml((folder / "plan.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise DataError(f"{folder / 'plan.toml'} is not a valid plan ({cause}).") from None
    network = plan.network
    agents, partners = history["agent"], history["neighbour"]
    if len(history) and max(agents.max(), partners.max()) >= network.n_agents:
        raise DataError(f"the history in {folder} has agents that its plan has not.")
    progress, detailed = Progress(), network.n_agents <= MAX_AGENTS
    of_sums = uses_sums(history)
    progress.apply(
        Begin(
            run="",
            time=0.0,
            started=0.0,
            pid=0,
            host="",
            method=type(plan.method).__name__,
            n_agents=network.n_agents,
            n_slots=int(history["slot"].max(initial=0)),
            one_cost=of_sums,
            links=network.edges if detailed and len(network.edges) <= MAX_LINKS else (),
        )
    )
    for point in points(history, network.n_agents, of_sums=of_sums):
        progress.apply(point)
    begin = progress.begin
    assert begin is not None
    if detailed and len(history):
        progress.apply(_members(history, begin))
    progress.apply(End(0.0, "finished", "the run was saved without its progress"))
    return progress


def points(history: History, n_agents: int, *, of_sums: bool) -> list[Point]:
    """Return points of the curves at evenly spaced slots."""
    steps = history.where(history["neighbour"] >= 0)
    if not len(steps):
        return []
    slots = np.unique(steps["slot"])
    slots = slots[np.unique(np.linspace(0, len(slots) - 1, N_POINTS).astype(int))]
    ends = np.searchsorted(steps["slot"], slots, side="right")
    sent, messages = (np.cumsum(steps[name])[ends - 1] for name in ("bytes", "messages"))
    last = {name: np.full((n_agents, len(slots)), NONE) for name in ("cost", "mse", "distance")}
    updates = np.zeros((n_agents, len(slots)), dtype=np.int64)
    order = np.argsort(steps["agent"], kind="stable")
    numbers, starts = np.unique(steps["agent"][order], return_index=True)
    for agent, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        found = np.searchsorted(steps["slot"][rows], slots, side="right") - 1
        there = found >= 0
        for name, values in last.items():
            values[agent, there] = steps[name][rows][found[there]]
        updates[agent, there] = steps["update"][rows][found[there]]
    costs = _newest(last["cost"], updates) if of_sums else last["cost"].sum(axis=0)
    rmse = [_root_mean(column) for column in last["mse"].T]
    distances = [[NONE] * len(slots)] * 2
    if not of_sums:
        known = [column[np.isfinite(column)] for column in last["distance"].T]
        distances = [
            [math.degrees(float(one)) for one in values]
            for values in (
                [column.max() if len(column) else NONE for column in known],
                [np.median(column) if len(column) else NONE for column in known],
            )
        ]
    return [
        Point(
            time=0.0,
            slot=int(slot) + 1,
            update=int(updates[:, k].sum()) // n_agents,
            cost=float(costs[k]),
            rmse=rmse[k],
            bytes=int(sent[k]),
            messages=int(messages[k]),
            largest=distances[0][k],
            median=distances[1][k],
        )
        for k, slot in enumerate(slots)
    ]


def _newest(costs: NDArray[np.float64], updates: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of an agent that has made the most updates, at each slot."""
    return costs[updates.argmax(axis=0), np.arange(costs.shape[1])]


def _root_mean(values: NDArray[np.float64]) -> float:
    there = values[np.isfinite(values)]
    return math.sqrt(float(there.mean())) if len(there) else NONE


def _members(history: History, begin: Begin) -> Members:
    final = history.final()
    updates, costs = [0] * begin.n_agents, [NONE] * begin.n_agents
    for row, agent in enumerate(final["agent"].tolist()):
        updates[agent], costs[agent] = int(final["update"][row]), float(final["cost"][row])
    return Members(
        time=0.0,
        slot=int(history["slot"].max()),
        states=FINISHED * begin.n_agents,
        updates=tuple(updates),
        costs=tuple(costs),
    )
