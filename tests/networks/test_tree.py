import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.networks import tree as tree_module
from grassvine.networks.tree import Tree, spanning_tree

NETWORKS = {
    "path": gv.networks.path(7),
    "ring": gv.networks.ring(8),
    "star": gv.networks.star(6),
    "grid": gv.networks.grid(12),
    "complete": gv.networks.complete(5),
    "exponential": gv.networks.exponential(9),
    "random": gv.networks.erdos_renyi(12, 0.3, seed=2),
    "pair": gv.networks.path(2),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_tree_follows_links_and_reaches_all(name: str) -> None:
    network = NETWORKS[name]
    tree = spanning_tree(network)
    assert tree.parents.count(-1) == 1
    for agent, parent in enumerate(tree.parents):
        if parent >= 0:
            assert parent in network.neighbours(agent)
            assert tree.depths[agent] == tree.depths[parent] + 1
            assert agent in tree.children(parent)


@pytest.mark.parametrize(
    ("network", "height"),
    [
        (gv.networks.path(7), 3),
        (gv.networks.path(8), 4),
        (gv.networks.star(9), 1),
        (gv.networks.ring(9), 4),
    ],
)
def test_it_is_as_flat_as_the_network_allows(network: gv.networks.Network, height: int) -> None:
    assert spanning_tree(network).height == height


@given(st.integers(2, 30), st.integers(0, 5))
def test_adding_up_by_the_timetable_gives_everyone_the_sum(n_agents: int, seed: int) -> None:
    tree = spanning_tree(gv.networks.erdos_renyi(n_agents, 0.3, seed=seed))
    rounds = tree.rounds(2)
    for start in (0, rounds.n_slots // 2):
        partial = list(range(n_agents))
        total: list[int | None] = [None] * n_agents
        for slot in range(start, start + tree.height):
            for sender, receiver in rounds.deliveries(slot):
                assert tree.parents[sender] == receiver
                partial[receiver] += partial[sender]
        total[tree.root] = partial[tree.root]
        for slot in range(start + tree.height, start + 2 * tree.height):
            for sender, receiver in rounds.deliveries(slot):
                assert total[receiver] is None and total[sender] is not None
                total[receiver] = total[sender]
        assert total == [sum(range(n_agents))] * n_agents


def test_a_sum_takes_two_messages_a_link_of_the_tree() -> None:
    rounds = spanning_tree(gv.networks.ring(10)).rounds(3)
    assert len(rounds.senders) == 3 * 2 * 9


def test_a_long_path_needs_no_recursion() -> None:
    assert Tree((-1, *range(4999))).height == 4999


@given(st.integers(2, 30), st.floats(0.1, 0.9), st.integers(0, 20))
def test_the_root_is_the_first_agent_of_least_eccentricity(
    n_agents: int, probability: float, seed: int
) -> None:
    try:
        network = gv.networks.erdos_renyi(n_agents, probability, seed=seed)
    except gv.NetworkError:
        return
    heights = [tree_module._breadth_first(network, root).height for root in range(n_agents)]
    assert spanning_tree(network).root == heights.index(min(heights))


@pytest.mark.parametrize("shape", ["path", "ring", "star", "exponential"])
def test_searches_are_few_and_the_tree_is_computed_once(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[int] = []
    original = tree_module._breadth_first

    def counted(network: gv.networks.Network, root: int) -> Tree:
        searches.append(root)
        return original(network, root)

    monkeypatch.setattr(tree_module, "_breadth_first", counted)
    network = getattr(gv.networks, shape)(300)
    for _ in range(3):
        assert network.tree.height == network.tree.height
    assert len(searches) <= tree_module.MAX_SEARCHES + 1
    if shape == "path":
        assert len(searches) <= 3 and network.tree.height == 150


@pytest.mark.parametrize("network", [*NETWORKS.values(), gv.networks.path(1)])
def test_a_route_says_when_an_agent_sends_in_every_round(network: gv.networks.Network) -> None:
    tree, n_rounds = spanning_tree(network), 3
    rounds = tree.rounds(n_rounds)
    up, down = set(), set()
    for agent, route in enumerate(tree.routes):
        assert n_rounds * route.n_slots == rounds.n_slots
        assert route.parent == tree.parents[agent]
        for first in range(0, rounds.n_slots, route.n_slots):
            if route.parent >= 0:
                up.add((first + route.sends_up, agent, route.parent))
            for child in tree.children(agent):
                down.add((first + route.sends_down, agent, child))
        assert (route.sends_down == -1) == (not tree.children(agent))
    drawn = {(slot, *pair) for slot in range(rounds.n_slots) for pair in rounds.deliveries(slot)}
    expected = up | down if network.n_agents > 1 else {(slot, 0, 0) for slot in range(n_rounds)}
    assert drawn == expected
    assert all(slot % tree.routes[0].n_slots < tree.routes[0].n_upward for slot, *_ in up)
    assert all(slot % tree.routes[0].n_slots >= tree.routes[0].n_upward for slot, *_ in down)
