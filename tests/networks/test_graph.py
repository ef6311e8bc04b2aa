from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import NetworkError
from grassvine.networks import Network, erdos_renyi

networks = st.builds(erdos_renyi, st.integers(1, 9), st.floats(0.6, 1.0), seed=st.integers(0, 1000))


def test_links_are_kept_sorted_with_the_smaller_agent_first() -> None:
    assert Network(4, ((3, 2), (2, 0), (1, 0))).edges == ((0, 1), (0, 2), (2, 3))


def test_a_link_given_twice_counts_once() -> None:
    assert Network(2, ((0, 1), (1, 0), (0, 1))).edges == ((0, 1),)


def test_neighbours_are_given_in_order() -> None:
    network = Network(4, ((3, 2), (2, 0), (1, 2)))
    assert network.neighbours(2) == (0, 1, 3)
    assert [network.degree(agent) for agent in range(4)] == [1, 1, 3, 1]


@given(networks, st.randoms(use_true_random=False))
def test_networks_are_equal_in_whatever_order_links_are_given(network: Network, rng: Any) -> None:
    edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in network.edges]
    rng.shuffle(edges)
    again = Network(network.n_agents, tuple(edges))
    assert again == network and hash(again) == hash(network)


def test_agents_numbered_by_numpy_become_plain_ints() -> None:
    (edge,) = Network(2, ((np.int32(1), np.int64(0)),)).edges  # type: ignore[arg-type]
    assert edge == (0, 1) and {type(agent) for agent in edge} == {int}


def test_a_network_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError, match="n_agents"):
        Network(2, ((0, 1),)).n_agents = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("n_agents", "edges", "parts"),
    [
        (5, ((0, 1), (2, 3)), r"3 components \(agents 0, 1; agents 2, 3; agent 4\)"),
        (4, ((0, 3), (1, 2)), r"2 components \(agents 0, 3; agents 1, 2\)"),
        (6, (), r"6 components \(agent 0; agent 1; agent 2; agent 3; …\)"),
        (
            11,
            tuple((0, i) for i in range(1, 10)),
            r"2 components \(agents 0, 1, .*, 7, …; agent 10\)",
        ),
    ],
)
def test_a_network_in_parts_is_refused_and_the_parts_are_named(
    n_agents: int, edges: Any, parts: str
) -> None:
    with pytest.raises(NetworkError, match=f"not connected: .*{parts}; add a link between them"):
        Network(n_agents, edges)


@given(networks, networks)
def test_two_networks_side_by_side_are_refused(one: Network, other: Network) -> None:
    shifted = tuple((i + one.n_agents, j + one.n_agents) for i, j in other.edges)
    with pytest.raises(NetworkError, match="it has 2 components"):
        Network(one.n_agents + other.n_agents, one.edges + shifted)


@pytest.mark.parametrize(
    ("n_agents", "edges", "message"),
    [
        (3, ((0, 1), (2, 2)), "agent 2 is linked to itself; remove that link"),
        (3, ((0, 3),), r"an agent of link \(0, 3\) is 3, but there are 3 agents; .* from 0 to 2"),
        (3, ((-1, 0),), r"an agent of link \(-1, 0\) is -1, but .*; choose a number from 0 to 2"),
        (2, ((0, True),), r"an agent of link \(0, True\) must be an integer, not True"),
        (2, ((0.0, 1),), r"an agent of link \(0.0, 1\) must be an integer, not 0.0"),
        (2, (("a", "b"),), r"an agent of link \(a, b\) must be an integer, not 'a'"),
        (3, ((0, 1, 2),), r"the link \(0, 1, 2\) is not a pair; pass two agent numbers"),
        (3, (1,), "the link 1 is not a pair; pass two agent numbers"),
        (0, (), "n_agents is 0; choose a number of at least 1"),
        (True, (), "n_agents must be an integer, not True; pass an int"),
        (2.0, ((0, 1),), "n_agents must be an integer, not 2.0; pass an int"),
    ],
)
def test_what_is_no_network_is_refused(n_agents: Any, edges: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Network(n_agents, edges)
