"""Two small runs that displays show, and axes to draw on."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tests import samples

import grassvine as gv

N_AGENTS = 4


def run(method: Any, n_agents: int = N_AGENTS) -> gv.Run:
    parts = np.array_split(samples.samples(), n_agents)
    plan = gv.Plan(
        n_items=samples.N_ITEMS, rank=2, network=gv.networks.path(n_agents), method=method
    )
    return gv.run(plan, [gv.PCAProblem(part) for part in parts])


GOSSIP, EXACT = run(gv.Gossip(max_iter=40)), run(gv.Exact())


def axes() -> Any:
    return Figure().add_subplot()


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]
