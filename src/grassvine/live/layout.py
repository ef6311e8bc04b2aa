"""Where the agents of a network are drawn."""

import numpy as np

from grassvine.foundations.errors import NetworkError
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Edge
from grassvine.report.displays.network import layout

CROWDED = 60  # agents


def positions(n_agents: int, links: tuple[Edge, ...]) -> list[list[float]]:
    """Return positions between 0 and 1; none if the links are not known, or not of a network."""
    try:
        places = layout(Network(n_agents, links))
    except NetworkError:  # too many links to be told, or a file that was altered
        return []
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - low) / np.maximum(high - low, 1e-9)
    scaled[:, high - low < 1e-9] = 0.5  # a path drawn as a line, or one agent
    if n_agents > CROWDED:
        ranks = scaled.argsort(axis=0).argsort(axis=0) / (n_agents - 1)
        scaled = (scaled + ranks) / 2  # the middle of a large network is crowded
    return [[round(float(x), 4), round(float(y), 4)] for x, y in scaled]
