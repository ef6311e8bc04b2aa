"""Positions of agents on the page."""

import numpy as np
import pytest

from grassvine.live.layout import positions
from grassvine.networks import Network, erdos_renyi, path, ring, star


@pytest.mark.parametrize("network", [path(1), path(2), path(9), star(30), erdos_renyi(300, 0.02)])
def test_agents_are_within_the_figure_and_apart(network: Network) -> None:
    places = positions(network.n_agents, network.edges)
    assert len(places) == network.n_agents
    assert np.min(places) >= 0.0 and np.max(places) <= 1.0
    assert len({tuple(place) for place in places}) == network.n_agents


def test_a_large_ring_is_drawn_as_a_ring() -> None:
    network = ring(200)
    places = np.array(positions(200, network.edges)) - 0.5
    angles = np.unwrap(np.arctan2(*places.T))
    turns = abs(angles[-1] - angles[0]) / (2 * np.pi)
    assert 0.9 < turns < 1.1  # the agents in order go round once


def test_what_is_no_network_is_not_drawn() -> None:
    assert positions(3, ()) == [] == positions(4, ((0, 1), (2, 3)))
