"""Clocks: every agent calls a neighbour when its own clock rings, and nobody waits for a slot."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable


@dataclass(frozen=True, slots=True)
class PoissonClocks:
    """Asynchronous gossip: an agent whose clock rings meets one of its neighbours, at random.

    Clock i is a Poisson process of rate ν_i. Together they are one of rate ν = Σν_i, whose next
    ring is agent i's with probability ν_i/ν, whatever the time. Two rings at the same time have
    probability zero, so **a slot is one meeting**, slots are in the order of the rings, and the
    times themselves are not needed. The link {i, j} meets at a slot with probability

        p_ij = (ν_i/deg_i + ν_j/deg_j)/ν.

    Gossip then descends on Σ_i w_i f_i + ½ρ Σ_e p_e d_e², where w_i is the mean of p_e over the
    links of agent i: who is seldom met counts less. All p_e are equal for equal rates on a network
    of equal degrees, such as a ring; on a path the two end links meet 1.5 times as often as others.
    An agent without any link calls nobody, and its rings make no slots.

    Parameters
    ----------
    rates : tuple of float, optional
        How often each agent's clock rings, in any unit of time; all equally often by default.
    """

    rates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check the rates."""
        if self.rates is None:
            return
        if not isinstance(self.rates, Iterable):
            raise PlanError(f"rates must be a list, not {self.rates!r}; give one rate an agent.")
        rates = tuple(
            real_number(f"the rate of agent {agent}", rate, least=0.0)
            for agent, rate in enumerate(self.rates)
        )
        if 0.0 in rates:
            raise PlanError(
                f"the rate of agent {rates.index(0.0)} is 0 and its clock would never ring; "
                "choose a positive number."
            )
        object.__setattr__(self, "rates", rates)

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once: first whose clocks ring, then whom each of them meets."""
        whole_number("n_slots", n_slots, least=0)
        n_agents = network.n_agents
        rates = np.ones(n_agents) if self.rates is None else np.array(self.rates)
        if len(rates) != n_agents:
            raise NetworkError(
                f"there are {len(rates)} rates for {n_agents} agents; give one rate an agent."
            )
        degrees = np.array([network.degree(agent) for agent in range(n_agents)])
        if not network.edges:
            return Timetable.from_meetings(n_agents, [[]] * n_slots)
        rates = np.where(degrees > 0, rates, 0.0)
        rates = rates / rates.max()  # whose sum is finite
        callers = rng.choice(n_agents, size=n_slots, p=rates / rates.sum())
        choices = rng.integers(degrees[callers])
        calls = [
            [(agent, neighbour)]
            for agent in range(n_agents)
            for neighbour in network.neighbours(agent)
        ]
        firsts = np.cumsum(degrees) - degrees  # where the calls of each agent begin
        return Timetable.from_meetings(n_agents, calls).rearranged(firsts[callers] + choices)
