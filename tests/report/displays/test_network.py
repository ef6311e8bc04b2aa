import sys

import numpy as np
import pytest
from tests.report.displays.small_runs import axes

import grassvine as gv
from grassvine.foundations.errors import NetworkError
from grassvine.foundations.seeds import stream
from grassvine.report.displays import NetworkDisplay
from grassvine.report.displays.network import MAX_NUMBERED, layout


def test_links_join_the_agents_that_are_linked() -> None:
    network = gv.networks.erdos_renyi(9, 0.4, seed=2)
    places = stream(0, "test", "places").standard_normal((9, 2))
    drawn = NetworkDisplay.from_network(network, positions=places, ax=axes())
    assert np.array_equal(drawn.agents_.get_offsets(), places)
    assert [segment.tolist() for segment in drawn.links_.get_segments()] == [
        places[list(edge)].tolist() for edge in network.edges
    ]
    assert [text.get_text() for text in drawn.numbers_] == [str(agent) for agent in range(9)]


def test_the_title_reports_size_diameter_and_gap() -> None:
    drawn = NetworkDisplay.from_network(gv.networks.ring(6), ax=axes())
    # A ring of six: the eigenvalues of W are (1 + 2cos(kπ/3))/3, the gap 1/3.
    assert drawn.ax_.get_title() == "6 agents, 6 links, diameter 3, spectral gap 0.333"
    alone = NetworkDisplay.from_network(gv.networks.path(1), ax=axes())
    assert alone.ax_.get_title() == "1 agent, 0 links, diameter 0, spectral gap 1"


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("n_agents", [1, 2, 6, 160])
def test_every_agent_has_a_place_of_its_own(
    installed: bool, n_agents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "networkx", None)
    for network in (gv.networks.path(n_agents), gv.networks.star(n_agents)):
        places = layout(network)
        assert places.shape == (n_agents, 2) and np.isfinite(places).all()
        assert len(np.unique(places.round(6), axis=0)) == n_agents
        assert np.array_equal(places, layout(network))
        if not installed:
            np.testing.assert_allclose(np.hypot(*places.T), 1.0)


def test_many_agents_have_no_numbers() -> None:
    network = gv.networks.ring(MAX_NUMBERED + 1)
    places = np.zeros((network.n_agents, 2))
    assert NetworkDisplay.from_network(network, positions=places, ax=axes()).numbers_ == []


def test_networks_and_places_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"of type int; pass a Network, such as ring\(6\)"):
        NetworkDisplay.from_network(6)  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match="positions has shape 3×2, not 4×2"):
        NetworkDisplay.from_network(gv.networks.ring(4), positions=np.zeros((3, 2)))
