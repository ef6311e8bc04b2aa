"""Networks of common shapes."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import real_number, whole_number
from grassvine.foundations.seeds import stream
from grassvine.networks.graph import Network, as_edge
from grassvine.networks.timetable import Edge

MOST_DRAWS = 100


def path(n_agents: int) -> Network:
    """Agents in a row, each linked to the next: the network of the paper."""
    return Network(n_agents, tuple((i, i + 1) for i in range(_count(n_agents) - 1)))


def ring(n_agents: int) -> Network:
    """A path whose ends are linked."""
    _count(n_agents)
    closing = ((0, n_agents - 1),) if n_agents > 2 else ()
    return Network(n_agents, path(n_agents).edges + closing)


def star(n_agents: int) -> Network:
    """Agent 0 linked to all others."""
    return Network(n_agents, tuple((0, i) for i in range(1, _count(n_agents))))


def grid(n_agents: int) -> Network:
    """Rows and columns, as square as the number of agents allows."""
    _count(n_agents)
    columns = next(c for c in range(int(n_agents**0.5 + 0.5), n_agents + 1) if n_agents % c == 0)
    across = ((i, i + 1) for i in range(n_agents) if (i + 1) % columns)
    down = ((i, i + columns) for i in range(n_agents - columns))
    return Network(n_agents, (*across, *down))


def complete(n_agents: int) -> Network:
    """Everyone linked to everyone."""
    return Network(n_agents, tuple(combinations(range(_count(n_agents)), 2)))


def exponential(n_agents: int) -> Network:
    """Each agent linked to those 1, 2, 4, 8, … places further round the circle."""
    n_agents = _count(n_agents)
    hops = [1 << k for k in range(n_agents.bit_length()) if 1 << k < n_agents]
    return Network(
        n_agents, tuple((i, (i + hop) % n_agents) for i in range(n_agents) for hop in hops)
    )


def erdos_renyi(n_agents: int, probability: float, *, seed: int = 0) -> Network:
    """Each pair linked with the given probability; drawn again until connected."""
    _count(n_agents)
    if real_number("probability", probability, least=0.0, error=NetworkError) > 1.0:
        raise NetworkError(f"probability is {probability:g}; choose a number from 0 to 1.")
    rng = stream(seed, "network", "erdos-renyi")
    pairs = list(combinations(range(n_agents), 2))
    for _ in range(MOST_DRAWS):
        drawn = rng.random(len(pairs)) < probability
        try:
            return Network(
                n_agents, tuple(e for e, there in zip(pairs, drawn, strict=True) if there)
            )
        except NetworkError as error:
            last = error
    raise NetworkError(
        f"{MOST_DRAWS} random networks of {n_agents} agents with probability {probability:g} were "
        f"all in parts; choose a larger probability. The last one: {last}"
    )


def from_edges(edges: Iterable[Edge], n_agents: int | None = None) -> Network:
    """Build a network from pairs of agent numbers."""
    links = tuple(as_edge(edge) for edge in edges)
    if n_agents is None:
        n_agents = 1 + max((larger for _, larger in links), default=0)
    return Network(n_agents, links)


def from_networkx(graph: Any) -> Network:
    """Build a network from a networkx graph; its nodes are numbered in their order."""
    if graph.is_directed():
        raise NetworkError("the graph is directed; give graph.to_undirected().")
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    return Network(
        len(numbers), tuple((numbers[one], numbers[other]) for one, other in graph.edges())
    )


def _count(n_agents: int) -> int:
    return whole_number("n_agents", n_agents, least=1, error=NetworkError)
