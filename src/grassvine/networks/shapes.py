"""Networks of common topologies."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import real_number, whole_number
from grassvine.foundations.seeds import stream
from grassvine.networks.graph import Network, as_edge
from grassvine.networks.timetable import Edge

MAX_DRAWS = 100


def path(n_agents: int) -> Network:
    """Return a path: each agent is linked to the next, as in the paper.

    Examples
    --------
    >>> from grassvine.networks import path
    >>> path(4).edges
    ((0, 1), (1, 2), (2, 3))
    """
    return Network(n_agents, tuple((i, i + 1) for i in range(_count(n_agents) - 1)))


def ring(n_agents: int) -> Network:
    """Return a ring: a path whose ends are linked.

    Examples
    --------
    >>> from grassvine.networks import ring
    >>> ring(4).edges
    ((0, 1), (0, 3), (1, 2), (2, 3))
    """
    _count(n_agents)
    closing = ((0, n_agents - 1),) if n_agents > 2 else ()
    return Network(n_agents, path(n_agents).edges + closing)


def star(n_agents: int) -> Network:
    """Return a star: agent 0 is linked to all others.

    Examples
    --------
    >>> from grassvine.networks import star
    >>> star(4).edges
    ((0, 1), (0, 2), (0, 3))
    """
    return Network(n_agents, tuple((0, i) for i in range(1, _count(n_agents))))


def grid(n_agents: int) -> Network:
    """Return a rectangular grid, as close to a square as the number of agents allows.

    Examples
    --------
    >>> from grassvine.networks import grid
    >>> grid(6).edges
    ((0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5))
    """
    _count(n_agents)
    columns = next(c for c in range(int(n_agents**0.5 + 0.5), n_agents + 1) if n_agents % c == 0)
    across = ((i, i + 1) for i in range(n_agents) if (i + 1) % columns)
    down = ((i, i + columns) for i in range(n_agents - columns))
    return Network(n_agents, (*across, *down))


def complete(n_agents: int) -> Network:
    """Return a complete network: all pairs are linked.

    Examples
    --------
    >>> from grassvine.networks import complete
    >>> len(complete(5).edges)
    10
    """
    return Network(n_agents, tuple(combinations(range(_count(n_agents)), 2)))


def exponential(n_agents: int) -> Network:
    """Return an exponential graph: agent i is linked to i + 1, i + 2, i + 4, i + 8, … modulo N.

    Examples
    --------
    >>> from grassvine.networks import exponential
    >>> exponential(8).neighbours(0)
    (1, 2, 4, 6, 7)
    """
    n_agents = _count(n_agents)
    hops = [1 << k for k in range(n_agents.bit_length()) if 1 << k < n_agents]
    return Network(
        n_agents, tuple((i, (i + hop) % n_agents) for i in range(n_agents) for hop in hops)
    )


def erdos_renyi(n_agents: int, probability: float, *, seed: int = 0) -> Network:
    """Return a connected random network: pairs are linked with the given probability.

    Disconnected networks are drawn again, up to a limit.

    Examples
    --------
    >>> from grassvine.networks import erdos_renyi
    >>> network = erdos_renyi(10, 0.3, seed=1)
    >>> network.n_agents, len(network.edges)
    (10, 15)
    """
    _count(n_agents)
    if real_number("probability", probability, least=0.0, error=NetworkError) > 1.0:
        raise NetworkError(f"probability is {probability:g}; choose a number from 0 to 1.")
    rng = stream(seed, "network", "erdos-renyi")
    pairs = list(combinations(range(n_agents), 2))
    for _ in range(MAX_DRAWS):
        drawn = rng.random(len(pairs)) < probability
        try:
            return Network(
                n_agents, tuple(e for e, linked in zip(pairs, drawn, strict=True) if linked)
            )
        except NetworkError as error:
            last = error
    raise NetworkError(
        f"{MAX_DRAWS} random networks of {n_agents} agents with probability {probability:g} were "
        f"all disconnected; choose a larger probability (last error: {last})"
    )


def from_edges(edges: Iterable[Edge], n_agents: int | None = None) -> Network:
    """Build a network from pairs of agent numbers.

    Parameters
    ----------
    edges : iterable of pairs of int
        Links between agents, which are numbered from 0.
    n_agents : int, optional
        By default, one more than the largest agent number.

    Examples
    --------
    >>> from grassvine.networks import from_edges
    >>> from_edges([(0, 1), (1, 2), (1, 3)]).neighbours(1)
    (0, 2, 3)
    """
    links = tuple(as_edge(edge) for edge in edges)
    if n_agents is None:
        n_agents = 1 + max((larger for _, larger in links), default=0)
    return Network(n_agents, links)


def from_networkx(graph: Any) -> Network:
    """Build a network from a networkx graph; nodes are numbered in the order of iteration.

    Examples
    --------
    >>> import networkx as nx
    >>> from grassvine.networks import from_networkx
    >>> from_networkx(nx.petersen_graph()).neighbours(0)
    (1, 4, 5)
    """
    if graph.is_directed():
        raise NetworkError("the graph is directed; pass graph.to_undirected().")
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    return Network(
        len(numbers), tuple((numbers[one], numbers[other]) for one, other in graph.edges())
    )


def _count(n_agents: int) -> int:
    return whole_number("n_agents", n_agents, least=1, error=NetworkError)
