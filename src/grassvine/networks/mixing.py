r"""Mixing: how agents average by talking to their neighbours only.

A round of the Metropolis matrix W, w_ij = 1/(1 + max(degree_i, degree_j)) for linked agents and the
rest on the diagonal, keeps the average and shrinks what differs from it by σ, the second largest
size of an eigenvalue. FastMix (J. Liu, A. S. Morse 2011; H. Ye et al. 2020) is about as fast as σ
with its distance to 1 replaced by the root of that:

.. math::

    x_{k+1} = (1+η)Wx_k − ηx_{k−1}, \qquad x_{−1} = x_0, \qquad
    η = \frac{1 − \sqrt{1−σ²}}{1 + \sqrt{1−σ²}}

After K rounds x is p_K(W)x₀ with a polynomial p_K(1) = 1: the average is kept, and the contraction
is the largest |p_K| at the other eigenvalues. All know the network, so all know K.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import real_number
from grassvine.networks.graph import Network


@dataclass(frozen=True, slots=True, eq=False)
class Mixing:
    """Rounds of averaging: n_rounds of them with the matrix W and the momentum η."""

    matrix: Array
    eta: float
    n_rounds: int

    def average(self, agent: int, own: Array, arrived: Mapping[int, Array]) -> Array:
        """Return row i of Wx: the average of an agent's array and its neighbours'."""
        average = self.matrix[agent, agent] * own
        for sender, other in arrived.items():
            average += self.matrix[agent, sender] * other
        return average

    def round(self, agent: int, own: Array, before: Array, arrived: Mapping[int, Array]) -> Array:
        """Return row i of (1+η)Wx − ηx₋₁."""
        return (1.0 + self.eta) * self.average(agent, own, arrived) - self.eta * before


def metropolis_matrix(network: Network) -> Array:
    """Return W: symmetric, its rows add up to 1, nothing but links and the diagonal."""
    matrix = np.zeros((network.n_agents, network.n_agents))
    for one, other in network.edges:
        weight = 1.0 / (1 + max(network.degree(one), network.degree(other)))
        matrix[one, other] = matrix[other, one] = weight
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


def second_eigenvalue(network: Network) -> float:
    """Return σ, the largest size of an eigenvalue of W but for the one that is 1."""
    others = np.linalg.eigvalsh(metropolis_matrix(network))[:-1]
    return float(np.abs(others).max(initial=0.0))


def spectral_gap(network: Network) -> float:
    """Return 1 − σ: the share of what differs that a round of W takes away at least."""
    return 1.0 - second_eigenvalue(network)


def plain_mixing(network: Network) -> Mixing:
    """Return one round of W itself."""
    return Mixing(metropolis_matrix(network), eta=0.0, n_rounds=1)


@lru_cache(maxsize=8)
def fast_mixing(network: Network, contraction: float) -> Mixing:
    """Return the fewest rounds of FastMix that shrink differences to the given share or less.

    There are never fewer than the network is wide: what one agent knows, all know after them.
    """
    if real_number("contraction", contraction, least=0.0, below=1.0, error=NetworkError) == 0.0:
        raise NetworkError("no number of rounds makes differences vanish; choose contraction > 0.")
    sigma = second_eigenvalue(network)
    root = math.sqrt(max(0.0, 1.0 - sigma * sigma))
    eta = (1.0 - root) / (1.0 + root)
    matrix = metropolis_matrix(network)
    others = np.linalg.eigvalsh(matrix)[:-1]
    now = before = np.ones(len(others))
    n_rounds, width = 0, diameter(network)
    while n_rounds < width or np.abs(now).max(initial=0.0) > contraction:
        now, before = (1.0 + eta) * others * now - eta * before, now
        n_rounds += 1
    return Mixing(matrix, eta, n_rounds)


def diameter(network: Network) -> int:
    """Return how many links lie between the two agents farthest apart."""
    return max(_reach(network, agent) for agent in range(network.n_agents))


def _reach(network: Network, agent: int) -> int:
    reached = front = {agent}
    steps = -1
    while front:
        steps += 1
        front = {other for one in front for other in network.neighbours(one)} - reached
        reached = reached | front
    return steps
