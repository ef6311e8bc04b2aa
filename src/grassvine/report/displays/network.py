"""Who is linked to whom, and how fast that mixes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import NetworkError
from grassvine.foundations.extras import load_extra
from grassvine.networks.graph import Network
from grassvine.networks.mixing import diameter, spectral_gap
from grassvine.report.displays.canvas import learned, open_axes
from grassvine.report.figure import COLOURS

MOST_NUMBERED = 60  # more numbers than this cannot be read at the width of a page
MOST_BY_DISTANCE = 150  # the layout by distances takes half a second here, and grows fast


@dataclass(eq=False)
class NetworkDisplay:
    """Agents and links; the title tells size, diameter and spectral gap.

    The gap is that of the Metropolis matrix: near 0 what agents know spreads slowly.

    Parameters
    ----------
    network : Network
        What to show.
    positions : array of shape (n_agents, 2), optional
        Where to put the agents. By default where networkx would, if it is installed, and else on
        a circle.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Where the axes lie.
    links_ : matplotlib LineCollection
        One segment a link, in the order of ``network.edges``.
    agents_ : matplotlib PathCollection
        One dot an agent.
    numbers_ : list of matplotlib Text
        The numbers of the agents, where there are few enough to be read.
    """

    network: Network
    positions: Array | None = None
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    links_: Any = field(init=False, repr=False)
    agents_: Any = field(init=False, repr=False)
    numbers_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, positions: Array | None = None, ax: Any = None, **style: Any
    ) -> "NetworkDisplay":
        """Draw the ``network_`` of a fitted estimator."""
        (network,) = learned(estimator, "network_")
        return cls.from_network(network, positions=positions, ax=ax, **style)

    @classmethod
    def from_network(
        cls, network: Network, *, positions: Array | None = None, ax: Any = None, **style: Any
    ) -> "NetworkDisplay":
        """Draw a network; ``style`` goes to the dots of the agents."""
        return cls(network, positions).plot(ax, **style)

    def __post_init__(self) -> None:
        """Check that there is one place for each agent."""
        if not isinstance(self.network, Network):
            raise NetworkError(
                f"the network is of type {type(self.network).__name__}; give a Network, such as "
                "ring(6) or from_networkx(graph)."
            )
        if self.positions is not None:
            self.positions = as_matrix(
                self.positions,
                n_items=self.network.n_agents,
                rank=2,
                name="positions",
                error=NetworkError,
            )

    def plot(self, ax: Any = None, **style: Any) -> "NetworkDisplay":
        """Draw on the given axes, or on those of a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        network, places = self.network, self._places()
        collections = load_extra("matplotlib.collections", "a plot", "plots")
        ends = places[np.array(network.edges, dtype=int).reshape(-1, 2)]
        self.links_ = collections.LineCollection(ends, colors="#777777", linewidths=1.0, zorder=1)
        ax.add_collection(self.links_)
        numbered = network.n_agents <= MOST_NUMBERED
        look = {"s": 260 if numbered else 25, "c": "white", "edgecolors": COLOURS[0], "zorder": 2}
        self.agents_ = ax.scatter(*places.T, **{**look, "linewidths": 1.5, **style})
        self.numbers_ = [
            ax.text(*place, str(agent), ha="center", va="center", size=9, zorder=3)
            for agent, place in enumerate(places)
            if numbered
        ]
        ax.set_title(describe(network), fontsize=10)
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.1)
        ax.set_axis_off()
        return self

    def _places(self) -> Array:
        return places_of(self.network) if self.positions is None else self.positions


def describe(network: Network) -> str:
    """Say how large a network is and how fast it mixes."""
    n_agents, n_links = network.n_agents, len(network.edges)
    return (
        f"{n_agents} agent{'s' * (n_agents != 1)}, {n_links} link{'s' * (n_links != 1)}, "
        f"diameter {diameter(network)}, spectral gap {spectral_gap(network):.3g}"
    )


def places_of(network: Network) -> Array:
    """Return where to put agents: by networkx if it is installed, else on a circle."""
    turns = 2 * np.pi * np.arange(network.n_agents) / network.n_agents
    circle = np.column_stack([np.sin(turns), np.cos(turns)])  # agent 0 on top, then as a clock
    if find_spec("networkx") is None or network.n_agents == 1:
        return circle
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(network.n_agents))
    graph.add_edges_from(network.edges)
    found: Mapping[int, Array]
    if network.n_agents <= MOST_BY_DISTANCE:
        # From eigenvectors grids unfold; the circle keeps apart what they put on one place.
        rough = networkx.spectral_layout(graph)
        start = {agent: rough[agent] + 0.1 * place for agent, place in enumerate(circle)}
        found = networkx.kamada_kawai_layout(graph, pos=start)
    else:
        found = networkx.spring_layout(graph, seed=0)
    return np.array([found[agent] for agent in range(network.n_agents)])
