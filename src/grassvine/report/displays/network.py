"""Display of a network with its diameter and spectral gap."""

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
from grassvine.report.displays.canvas import fitted_attributes, open_axes
from grassvine.report.figure import COLOURS

MAX_NUMBERED = 60  # more numbers are unreadable at the width of a page
MAX_KAMADA_KAWAI = 150  # takes half a second at this size and grows fast


@dataclass(eq=False)
class NetworkDisplay:
    """Agents and links, with size, diameter and spectral gap in the title.

    The gap is that of the Metropolis matrix; information spreads slowly if it is close to 0.

    Parameters
    ----------
    network : Network
        Network to draw.
    positions : array of shape (n_agents, 2), optional
        Positions of the agents. By default from a layout of networkx if it is installed, and
        otherwise on a circle.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the network.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    links_ : matplotlib LineCollection
        One segment per link, in the order of ``network.edges``.
    agents_ : matplotlib PathCollection
        One dot per agent.
    numbers_ : list of matplotlib Text
        Numbers of the agents; empty if there are too many to be readable.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.report.displays import NetworkDisplay
    >>> NetworkDisplay.from_network(gv.networks.ring(6)).ax_.get_title()
    '6 agents, 6 links, diameter 3, spectral gap 0.333'
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
        """Plot the ``network_`` of a fitted estimator."""
        (network,) = fitted_attributes(estimator, "network_")
        return cls.from_network(network, positions=positions, ax=ax, **style)

    @classmethod
    def from_network(
        cls, network: Network, *, positions: Array | None = None, ax: Any = None, **style: Any
    ) -> "NetworkDisplay":
        """Plot a network; ``style`` is passed to the dots of the agents."""
        return cls(network, positions).plot(ax, **style)

    def __post_init__(self) -> None:
        """Check that there is one position per agent."""
        if not isinstance(self.network, Network):
            raise NetworkError(
                f"network is of type {type(self.network).__name__}; pass a Network, such as "
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
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        network, positions = self.network, self._positions()
        collections = load_extra("matplotlib.collections", "a plot", "plots")
        ends = positions[np.array(network.edges, dtype=int).reshape(-1, 2)]
        self.links_ = collections.LineCollection(ends, colors="#777777", linewidths=1.0, zorder=1)
        ax.add_collection(self.links_)
        numbered = network.n_agents <= MAX_NUMBERED
        options = {
            "s": 260 if numbered else 25,
            "c": "white",
            "edgecolors": COLOURS[0],
            "zorder": 2,
        }
        self.agents_ = ax.scatter(*positions.T, **{**options, "linewidths": 1.5, **style})
        self.numbers_ = [
            ax.text(*position, str(agent), ha="center", va="center", size=9, zorder=3)
            for agent, position in enumerate(positions)
            if numbered
        ]
        ax.set_title(describe(network), fontsize=10)
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.1)
        ax.set_axis_off()
        return self

    def _positions(self) -> Array:
        return layout(self.network) if self.positions is None else self.positions


def describe(network: Network) -> str:
    """Return the size, diameter and spectral gap of a network as text."""
    n_agents, n_links = network.n_agents, len(network.edges)
    return (
        f"{n_agents} agent{'s' * (n_agents != 1)}, {n_links} link{'s' * (n_links != 1)}, "
        f"diameter {diameter(network)}, spectral gap {spectral_gap(network):.3g}"
    )


def layout(network: Network) -> Array:
    """Return positions of the agents, from networkx if it is installed, else on a circle."""
    angles = 2 * np.pi * np.arange(network.n_agents) / network.n_agents
    circle = np.column_stack([np.sin(angles), np.cos(angles)])  # clockwise, agent 0 at the top
    if find_spec("networkx") is None or network.n_agents == 1:
        return circle
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(network.n_agents))
    graph.add_edges_from(network.edges)
    found: Mapping[int, Array]
    if network.n_agents <= MAX_KAMADA_KAWAI:
        # A spectral start unfolds grids; adding the circle separates agents that coincide in it.
        spectral = networkx.spectral_layout(graph)
        start = {agent: spectral[agent] + 0.1 * point for agent, point in enumerate(circle)}
        found = networkx.kamada_kawai_layout(graph, pos=start)
    else:
        found = networkx.spring_layout(graph, pos=dict(enumerate(circle)), seed=0)
    return np.array([found[agent] for agent in range(network.n_agents)])
