r"""Mixing: averaging by exchanging messages with neighbours only.

One round with the Metropolis matrix W, w_ij = 1/(1 + max(degree_i, degree_j)) for linked agents and
a diagonal that makes the rows sum to 1, preserves the average and contracts deviations from it by
σ, the second-largest absolute eigenvalue. FastMix (J. Liu, A. S. Morse 2011; H. Ye et al. 2020)
contracts by about 1 − √(1−σ) per round instead:

.. math::

    x_{k+1} = (1+η)Wx_k − ηx_{k−1}, \qquad x_{−1} = x_0, \qquad
    η = \frac{1 − \sqrt{1−σ²}}{1 + \sqrt{1−σ²}}

After K rounds x = p_K(W)x₀ with a polynomial p_K, p_K(1) = 1: the average is preserved, and the
contraction is the largest |p_K| at the other eigenvalues. Every agent knows the network, hence K.
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

MAX_AGENTS = 2000  # a dense matrix of 32 MB, whose eigenvalues take seconds


@dataclass(frozen=True, slots=True, eq=False)
class Mixing:
    """Averaging by ``n_rounds`` rounds with the matrix W and momentum η."""

    matrix: Array
    eta: float
    n_rounds: int

    def average(self, agent: int, own: Array, received: Mapping[int, Array]) -> Array:
        """Return row i of Wx: the weighted average of an agent's array and its neighbours'."""
        average = self.matrix[agent, agent] * own
        for sender, other in received.items():
            average += self.matrix[agent, sender] * other
        return average

    def round(self, agent: int, own: Array, before: Array, received: Mapping[int, Array]) -> Array:
        """Return row i of (1+η)Wx − ηx₋₁."""
        return (1.0 + self.eta) * self.average(agent, own, received) - self.eta * before


def metropolis_matrix(network: Network) -> Array:
    """Return W: symmetric, rows sum to 1, nonzero only on links and the diagonal."""
    if network.n_agents > MAX_AGENTS:
        raise NetworkError(
            f"the network has {network.n_agents} agents, and averaging takes a dense matrix of "
            f"all pairs; choose at most {MAX_AGENTS} agents, or a method over sums, as Exact()."
        )
    matrix = np.zeros((network.n_agents, network.n_agents))
    for one, other in network.edges:
        weight = 1.0 / (1 + max(network.degree(one), network.degree(other)))
        matrix[one, other] = matrix[other, one] = weight
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


def second_eigenvalue(network: Network) -> float:
    """Return σ, the second-largest absolute eigenvalue of W."""
    others = np.linalg.eigvalsh(metropolis_matrix(network))[:-1]
    return float(np.abs(others).max(initial=0.0))


def spectral_gap(network: Network) -> float:
    """Return 1 − σ, the least fraction of the deviation that one round with W removes."""
    return 1.0 - second_eigenvalue(network)


def plain_mixing(network: Network) -> Mixing:
    """Return a single round with W, without momentum."""
    return Mixing(metropolis_matrix(network), eta=0.0, n_rounds=1)


@lru_cache(maxsize=8)
def fast_mixing(network: Network, contraction: float) -> Mixing:
    """Return the fewest rounds of FastMix that reduce deviations to the given fraction or less.

    There are at least as many rounds as the diameter, so information from every agent reaches all.
    """
    if real_number("contraction", contraction, least=0.0, below=1.0, error=NetworkError) == 0.0:
        raise NetworkError(
            "contraction is 0, which no number of rounds reaches; choose a number above 0."
        )
    sigma = second_eigenvalue(network)
    root = math.sqrt(max(0.0, 1.0 - sigma * sigma))
    eta = (1.0 - root) / (1.0 + root)
    matrix = metropolis_matrix(network)
    others = np.linalg.eigvalsh(matrix)[:-1]
    now = before = np.ones(len(others))
    n_rounds, least = 0, diameter(network)
    while n_rounds < least or np.abs(now).max(initial=0.0) > contraction:
        now, before = (1.0 + eta) * others * now - eta * before, now
        n_rounds += 1
    return Mixing(matrix, eta, n_rounds)


def diameter(network: Network) -> int:
    """Return the largest distance between two agents, in links."""
    return max(_eccentricity(network, agent) for agent in range(network.n_agents))


def _eccentricity(network: Network, agent: int) -> int:
    reached = front = {agent}
    steps = -1
    while front:
        steps += 1
        front = {other for one in front for other in network.neighbours(one)} - reached
        reached = reached | front
    return steps
