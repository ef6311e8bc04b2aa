"""Asynchronous schedules: each agent contacts a neighbour when its own clock ticks."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.foundations.options import real_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable, check_slots


@dataclass(frozen=True, slots=True)
class PoissonClocks:
    """Asynchronous gossip: an agent whose clock ticks meets a neighbour chosen uniformly at random.

    Clock i is a Poisson process of rate ν_i. Their superposition is a Poisson process of rate
    ν = Σν_i, and each tick belongs to agent i with probability ν_i/ν, independently of the time.
    Simultaneous ticks have probability zero, so **a slot is one meeting**, slots follow the order
    of the ticks, and the times themselves are not needed. A slot uses the link {i, j} with
    probability

        p_ij = (ν_i/deg_i + ν_j/deg_j)/ν.

    Gossip then minimises Σ_i w_i f_i + ½ρ Σ_e p_e d_e², where w_i is the mean of p_e over the
    links of agent i, so agents that meet rarely have less weight. All p_e are equal if the rates
    and the degrees are equal, as on a ring; on a path the two end links are used 1.5 times as
    often as the others. The clock of an agent without links produces no slots.

    Parameters
    ----------
    rates : tuple of float, optional
        Rate of each agent's clock, in any unit; equal rates by default.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import PoissonClocks, ring
    >>> clocks = PoissonClocks(rates=(1.0, 1.0, 4.0))  # the third agent is the fastest
    >>> timetable = clocks.draw(ring(3), n_slots=1000, rng=np.random.default_rng(0))
    >>> int(np.bincount(timetable.receivers).argmax())
    2
    """

    rates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check the rates."""
        if self.rates is None:
            return
        if not isinstance(self.rates, Iterable):
            raise PlanError(f"rates must be a list, not {self.rates!r}; pass one rate per agent.")
        rates = tuple(
            real_number(f"the rate of agent {agent}", rate, least=0.0)
            for agent, rate in enumerate(self.rates)
        )
        if 0.0 in rates:
            raise PlanError(
                f"the rate of agent {rates.index(0.0)} is 0, so its clock would never tick; "
                "choose a positive number."
            )
        object.__setattr__(self, "rates", rates)

    def check(self, network: Network, n_slots: int) -> None:
        """Check that there is one rate per agent."""
        check_slots(n_slots, 2)
        if self.rates is not None and len(self.rates) != network.n_agents:
            raise NetworkError(
                f"got {len(self.rates)} rates for {network.n_agents} agents; pass one rate per "
                "agent."
            )

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once: first the agents that tick, then the neighbours they meet."""
        self.check(network, n_slots)
        n_agents = network.n_agents
        rates = np.ones(n_agents) if self.rates is None else np.array(self.rates)
        degrees = np.array([network.degree(agent) for agent in range(n_agents)])
        if not network.edges:
            return Timetable.from_meetings(n_agents, [[]] * n_slots)
        rates = np.where(degrees > 0, rates, 0.0)
        rates = rates / rates.max()  # avoids overflow in the sum
        active = rng.choice(n_agents, size=n_slots, p=rates / rates.sum())
        choices = rng.integers(degrees[active])
        directed = [
            [(agent, neighbour)]
            for agent in range(n_agents)
            for neighbour in network.neighbours(agent)
        ]
        firsts = np.cumsum(degrees) - degrees  # index of the first link of each agent
        return Timetable.from_meetings(n_agents, directed).rearranged(firsts[active] + choices)
