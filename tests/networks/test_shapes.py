from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import NetworkError
from grassvine.networks import (
    Network,
    complete,
    erdos_renyi,
    exponential,
    from_edges,
    from_networkx,
    grid,
    path,
    ring,
    star,
)

Shape = Callable[[int], Network]
COUNTED: dict[str, Shape] = {
    "path": path,
    "ring": ring,
    "star": star,
    "grid": grid,
    "complete": complete,
    "exponential": exponential,
    "erdos_renyi": lambda n: erdos_renyi(n, 0.6, seed=n),
}
SHAPES = COUNTED | {
    "from_edges": lambda n: from_edges([(i, i - 1) for i in range(n - 1, 0, -1)], n),
    "from_networkx": lambda n: from_networkx(nx.wheel_graph(n)),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
sizes = st.integers(1, 24)


def as_graph(network: Network) -> Any:
    graph = nx.Graph()
    graph.add_nodes_from(range(network.n_agents))
    graph.add_edges_from(network.edges)
    return graph


@every_shape
@given(sizes)
def test_links_are_sorted_unique_and_begin_with_the_smaller(shape: Shape, n_agents: int) -> None:
    edges = shape(n_agents).edges
    assert shape(n_agents).n_agents == n_agents
    assert list(edges) == sorted(set(edges))
    assert all(0 <= one < other < n_agents for one, other in edges)


@every_shape
@given(sizes)
def test_degrees_sum_to_twice_the_links(shape: Shape, n_agents: int) -> None:
    network = shape(n_agents)
    assert sum(network.degree(agent) for agent in range(n_agents)) == 2 * len(network.edges)


@every_shape
@given(sizes)
def test_everyone_can_be_reached(shape: Shape, n_agents: int) -> None:
    assert nx.is_connected(as_graph(shape(n_agents)))


@every_shape
@given(sizes)
def test_neighbours_are_those_linked_both_ways_and_in_order(shape: Shape, n_agents: int) -> None:
    network = shape(n_agents)
    graph = as_graph(network)
    for agent in range(n_agents):
        assert list(network.neighbours(agent)) == sorted(graph[agent])
        assert all(agent in network.neighbours(other) for other in network.neighbours(agent))


@every_shape
@given(sizes)
def test_a_network_is_rebuilt_from_its_links(shape: Shape, n_agents: int) -> None:
    network = shape(n_agents)
    assert from_edges(network.edges, n_agents) == network
    assert from_networkx(as_graph(network)) == network


@pytest.mark.parametrize(
    ("network", "graph"),
    [
        (path(6), nx.path_graph(6)),
        (ring(6), nx.cycle_graph(6)),
        (ring(3), nx.cycle_graph(3)),
        (ring(2), nx.path_graph(2)),
        (star(6), nx.star_graph(5)),
        (complete(6), nx.complete_graph(6)),
        (exponential(11), nx.circulant_graph(11, [1, 2, 4, 8])),
        (exponential(8), nx.circulant_graph(8, [1, 2, 4])),
        (grid(4), nx.grid_2d_graph(2, 2)),
        (grid(12), nx.grid_2d_graph(4, 3)),
        (grid(15), nx.grid_2d_graph(3, 5)),
        (grid(7), nx.path_graph(7)),
        (erdos_renyi(6, 1.0), nx.complete_graph(6)),
    ],
)
def test_a_shape_has_the_links_of_its_name(network: Network, graph: Any) -> None:
    assert network == from_networkx(graph)


@pytest.mark.parametrize("shape", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize(
    ("n_agents", "message"),
    [
        (0, "n_agents is 0; choose a number of at least 1"),
        (-3, "n_agents is -3; choose a number of at least 1"),
        (True, "n_agents must be an integer, not True; pass an int"),
        (4.0, "n_agents must be an integer, not 4.0; pass an int"),
    ],
)
def test_a_bad_number_of_agents_is_refused(shape: Shape, n_agents: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        shape(n_agents)


def test_the_seed_decides_a_random_network() -> None:
    assert erdos_renyi(20, 0.3, seed=1) == erdos_renyi(20, 0.3, seed=1)
    assert erdos_renyi(20, 0.3, seed=1) != erdos_renyi(20, 0.3, seed=2)


def test_pairs_are_linked_with_the_given_probability() -> None:
    n_pairs, probability = 60 * 59 // 2, 0.3
    links = len(erdos_renyi(60, probability).edges)
    # The number of links is binomial; five deviations.
    deviation = np.sqrt(n_pairs * probability * (1 - probability))
    assert abs(links - n_pairs * probability) < 5 * deviation


@pytest.mark.parametrize(
    ("probability", "message"),
    [
        (0.0, "100 random networks of 5 agents with probability 0 were all disconnected; choose"),
        (0.0, "last error: .*it has 5 components .*agent 0; agent 1"),
        (-0.1, "probability is -0.1; choose a finite number of at least 0"),
        (np.nan, "probability is nan; choose a finite number of at least 0"),
        (True, "probability must be a number, not True; pass a float"),
    ],
)
def test_a_bad_probability_is_refused(probability: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        erdos_renyi(5, probability)


def test_the_largest_agent_counts_where_no_number_is_given() -> None:
    assert from_edges(iter([(2, 0), (1, 2)])) == Network(3, ((0, 2), (1, 2)))


def test_no_link_at_all_is_one_lone_agent() -> None:
    assert from_edges([]) == Network(1, ())


def test_nodes_are_numbered_in_their_order() -> None:
    graph = nx.Graph()
    graph.add_nodes_from(["oslo", "bergen", "bodø"])
    graph.add_edges_from([("bodø", "bergen"), ("oslo", "bodø")])
    assert from_networkx(graph) == Network(3, ((0, 2), (1, 2)))


def test_parallel_links_of_a_graph_count_once() -> None:
    assert from_networkx(nx.MultiGraph([(0, 1), (0, 1)])) == path(2)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([(0, 1)]), r"the graph is directed; pass graph.to_undirected\(\)"),
        (nx.Graph([(0, 1), (1, 1)]), "agent 1 is linked to itself; remove that link"),
        (nx.Graph([(0, 1), (2, 3)]), r"2 components \(agents 0, 1; agents 2, 3\)"),
        (nx.Graph(), "n_agents is 0; choose a number of at least 1"),
    ],
)
def test_a_graph_that_is_no_network_is_refused(graph: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        from_networkx(graph)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1, 2)], r"the link \(0, 1, 2\) is not a pair; pass two agent numbers"),
        ([5], "the link 5 is not a pair"),
        ([(0, "a")], r"an agent of link \(0, a\) must be an integer, not 'a'"),
        ([(-2, -1)], r"an agent of link \(-2, -1\) is -2"),
    ],
)
def test_what_is_no_link_is_refused(edges: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        from_edges(edges)


def test_a_number_of_agents_may_come_from_numpy() -> None:
    number: Any = np.int64(8)
    assert exponential(number) == exponential(8)


def test_a_probability_is_at_most_one() -> None:
    with pytest.raises(NetworkError, match=r"probability is 1\.5; choose a number from 0 to 1"):
        erdos_renyi(4, 1.5)
