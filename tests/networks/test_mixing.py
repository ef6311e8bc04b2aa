"""Mixing: the matrix, and what a number of rounds does to differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import NetworkError
from grassvine.foundations.seeds import stream
from grassvine.networks.mixing import (
    Mixing,
    diameter,
    fast_mixing,
    metropolis_matrix,
    plain_mixing,
    second_eigenvalue,
    spectral_gap,
)

NETWORKS = {
    "pair": gv.networks.path(2),
    "path": gv.networks.path(9),
    "ring": gv.networks.ring(6),
    "star": gv.networks.star(7),
    "grid": gv.networks.grid(12),
    "complete": gv.networks.complete(5),
    "exponential": gv.networks.exponential(16),
    "random": gv.networks.erdos_renyi(12, 0.3, seed=3),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
CONTRACTIONS = [0.5, 0.03, 0.003, 1e-6]


def mix_all(mixing: Mixing, network: gv.networks.Network, values: list[Array]) -> list[Array]:
    """All rounds, as agents do them: each knows its own array and its neighbours'."""
    now = before = values
    for _ in range(mixing.n_rounds):
        arrived = [{j: now[j] for j in network.neighbours(i)} for i in range(len(values))]
        rounds = [mixing.round(i, now[i], before[i], arrived[i]) for i in range(len(values))]
        now, before = rounds, now
    return now


def differences(values: list[Array]) -> float:
    stacked = np.stack(values)
    return float(np.linalg.norm(stacked - stacked.mean(axis=0)))


# The matrix


@every_network
def test_the_matrix_is_symmetric_its_rows_add_up_to_one_and_only_neighbours_have_weights(
    network: gv.networks.Network,
) -> None:
    matrix = metropolis_matrix(network)
    assert np.array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-15)  # a dozen roundings
    assert matrix.diagonal().min() > 0.0
    for agent in range(network.n_agents):
        linked = tuple(np.flatnonzero(np.delete(matrix[agent], agent)).tolist())
        neighbours = [other - (other > agent) for other in network.neighbours(agent)]
        assert list(linked) == neighbours
        for other in network.neighbours(agent):
            degrees = network.degree(agent), network.degree(other)
            assert matrix[agent, other] == 1.0 / (1 + max(degrees))


@every_network
def test_sigma_is_what_a_round_shrinks_differences_by_at_worst(
    network: gv.networks.Network,
) -> None:
    n_agents = network.n_agents
    across = metropolis_matrix(network) - np.full((n_agents, n_agents), 1.0 / n_agents)
    # Two decompositions of one matrix of norm 1.
    assert second_eigenvalue(network) == pytest.approx(np.linalg.norm(across, 2), abs=1e-14)


def test_known_values() -> None:
    # A ring of six has the weights 1/3: its eigenvalues are (1 + 2cos(kπ/3))/3.
    assert second_eigenvalue(gv.networks.ring(6)) == pytest.approx(2 / 3, abs=1e-15)
    assert second_eigenvalue(gv.networks.complete(5)) == pytest.approx(0.0, abs=1e-15)
    assert second_eigenvalue(gv.networks.Network(1, ())) == 0.0
    assert spectral_gap(gv.networks.ring(6)) == pytest.approx(1 / 3, abs=1e-15)
    assert spectral_gap(gv.networks.Network(1, ())) == 1.0
    # A path of two has the weights 1/2: one round is the average.
    assert spectral_gap(gv.networks.path(2)) == pytest.approx(1.0, abs=1e-15)
    assert (
        spectral_gap(gv.networks.path(30))
        < spectral_gap(gv.networks.ring(30))
        < spectral_gap(gv.networks.exponential(30))
    )
    # FastMix rounds to 0.003 that a prototype of the method counted.
    networks = (
        gv.networks.path(20),
        gv.networks.ring(20),
        gv.networks.grid(20),
        gv.networks.exponential(20),
    )
    assert [fast_mixing(network, 0.003).n_rounds for network in networks] == [62, 31, 19, 7]


@pytest.mark.parametrize(
    ("network", "links"),
    [
        (gv.networks.path(7), 6),
        (gv.networks.ring(7), 3),
        (gv.networks.star(9), 2),
        (gv.networks.complete(4), 1),
        (gv.networks.path(1), 0),
    ],
)
def test_the_diameter(network: gv.networks.Network, links: int) -> None:
    assert diameter(network) == links


# Rounds


@every_network
@pytest.mark.parametrize("contraction", CONTRACTIONS)
def test_a_mixing_keeps_the_average_and_shrinks_differences_as_promised(
    network: gv.networks.Network, contraction: float
) -> None:
    mixing = fast_mixing(network, contraction)
    rng = stream(1, "data", "mixing")
    values = [rng.standard_normal((4, 2)) for _ in range(network.n_agents)]
    after = mix_all(mixing, network, values)
    # Some dozens of rounds, each rounding numbers of about 1.
    np.testing.assert_allclose(np.mean(after, axis=0), np.mean(values, axis=0), atol=1e-13)
    assert differences(after) <= contraction * differences(values) + 1e-13
    assert mixing.n_rounds >= diameter(network)


@every_network
@pytest.mark.parametrize("contraction", CONTRACTIONS)
def test_one_round_less_would_not_do_or_not_reach_all(
    network: gv.networks.Network, contraction: float
) -> None:
    mixing = fast_mixing(network, contraction)
    fewer = Mixing(mixing.matrix, mixing.eta, mixing.n_rounds - 1)
    units = list(np.eye(network.n_agents))
    after = np.stack(mix_all(fewer, network, units))
    worst = np.linalg.norm(after - after.mean(axis=0), 2)
    assert worst > contraction or fewer.n_rounds < diameter(network)


def test_momentum_needs_about_the_root_of_the_rounds() -> None:
    network = gv.networks.path(30)
    plain = np.log(0.003) / np.log(second_eigenvalue(network))
    assert fast_mixing(network, 0.003).n_rounds < 3.0 * np.sqrt(plain)


def test_equal_values_stay() -> None:
    network = gv.networks.grid(12)
    value = stream(2, "data", "mixing").standard_normal((3, 2))
    for after in mix_all(fast_mixing(network, 0.003), network, [value] * 12):
        np.testing.assert_allclose(after, value, atol=1e-13)


@given(st.integers(2, 8), st.floats(0.3, 1.0), st.integers(0, 100))
def test_plain_mixing_is_one_product_with_the_matrix(n: int, p: float, seed: int) -> None:
    network = gv.networks.erdos_renyi(n, p, seed=seed)
    values = stream(seed, "data", "mixing").standard_normal((n, 3))
    mixing = plain_mixing(network)
    assert mixing.n_rounds == 1
    wanted = metropolis_matrix(network) @ values
    np.testing.assert_allclose(mix_all(mixing, network, list(values)), wanted, atol=1e-14)


@pytest.mark.parametrize("contraction", [0.0, 1.0, -0.1, np.nan])
def test_an_impossible_contraction_is_refused(contraction: float) -> None:
    with pytest.raises(NetworkError, match="contraction"):
        fast_mixing(gv.networks.path(3), contraction)


def test_a_dense_matrix_has_a_limit() -> None:
    with pytest.raises(NetworkError, match=r"has 2001 agents, .* choose at most 2000 agents"):
        metropolis_matrix(gv.networks.path(2001))
