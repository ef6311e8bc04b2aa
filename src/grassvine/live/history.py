"""The curves of a run that was saved without events, from its history.

A history may have millions of rows, so it is read at about a thousand slots only.
"""

from pathlib import Path

from grassvine.foundations.errors import DataError
from grassvine.protocol.history import History
from grassvine.protocol.sampling import sampled, uses_sums
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
    for point in points(history):
        progress.apply(point)
    begin = progress.begin
    assert begin is not None
    if detailed and len(history):
        progress.apply(_members(history, begin))
    progress.apply(End(0.0, "finished", "the run was saved without its progress"))
    return progress


def points(history: History) -> list[Point]:
    """Return points of the curves at evenly spaced slots."""
    found = sampled(history, N_POINTS)
    return [
        Point(
            time=0.0,
            slot=int(found.slots[k]),
            update=int(found.updates[k]),
            cost=float(found.cost[k]),
            rmse=float(found.rmse[k]),
            bytes=int(found.bytes[k]),
            messages=int(found.messages[k]),
            largest=float(found.largest[k]),
            median=float(found.median[k]),
        )
        for k in range(len(found.slots))
    ]


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
