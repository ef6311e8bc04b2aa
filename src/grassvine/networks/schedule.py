"""Schedules, which draw the meetings of a timetable."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from grassvine.networks.graph import Network
from grassvine.networks.timetable import Edge, Timetable, check_slots


class Schedule(Protocol):
    """A distribution of the meetings on a network.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import Timetable, path
    >>> class Alternating:  # a schedule of your own: links take turns
    ...     def check(self, network, n_slots):
    ...         pass
    ...     def draw(self, network, n_slots, rng):
    ...         turns = [[network.edges[k % len(network.edges)]] for k in range(n_slots)]
    ...         return Timetable.from_meetings(network.n_agents, turns)
    >>> Alternating().draw(path(3), 3, np.random.default_rng(0)).meetings(2)
    [(0, 1)]
    """

    def check(self, network: Network, n_slots: int) -> None:
        """Raise :class:`NetworkError` if the slots cannot be drawn on a network."""
        ...

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once."""
        ...


@dataclass(frozen=True, slots=True)
class OneEdge:
    """One link per slot, uniformly at random: the paper's stochastic gossip.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import OneEdge, ring
    >>> timetable = OneEdge().draw(ring(4), n_slots=3, rng=np.random.default_rng(0))
    >>> [len(timetable.meetings(slot)) for slot in range(3)]
    [1, 1, 1]
    """

    def check(self, network: Network, n_slots: int) -> None:
        """Check the size of the timetable."""
        check_slots(n_slots, 2)

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once."""
        self.check(network, n_slots)
        return _pick(network, [[edge] for edge in network.edges], n_slots, rng)


@dataclass(frozen=True, slots=True)
class Matchings:
    """One edge colour per slot, uniformly at random: the paper's parallel gossip.

    Links of one colour share no agent, so the meetings of a slot are disjoint. On a path the
    colours are the paper's red and black.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import Matchings, ring
    >>> timetable = Matchings().draw(ring(4), n_slots=2, rng=np.random.default_rng(0))
    >>> timetable.meetings(0)
    [(0, 3), (1, 2)]
    """

    def check(self, network: Network, n_slots: int) -> None:
        """Check the size of the timetable; a slot has at most one meeting per two agents."""
        check_slots(n_slots, network.n_agents)

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once."""
        self.check(network, n_slots)
        return _pick(network, edge_colouring(network), n_slots, rng)


@dataclass(frozen=True, slots=True)
class AllEdges:
    """All links in every slot; nothing is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import AllEdges, path
    >>> timetable = AllEdges().draw(path(3), n_slots=2, rng=np.random.default_rng(0))
    >>> timetable.meetings(0)
    [(0, 1), (1, 2)]
    """

    def check(self, network: Network, n_slots: int) -> None:
        """Check the size of the timetable."""
        check_slots(n_slots, 2 * len(network.edges))

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Return a timetable with all links in every slot."""
        self.check(network, n_slots)
        links = Timetable.from_meetings(network.n_agents, [network.edges])
        return links.rearranged(np.zeros(n_slots, dtype=np.int64))


def edge_colouring(network: Network) -> list[list[Edge]]:
    """Colour the links so that links of one colour share no agent.

    Greedy: each link takes the first colour that is free at both ends. This needs two colours on a
    consecutively numbered path, and never more than 2·(maximum degree) − 1.
    """
    colours: list[list[Edge]] = []
    taken: list[set[int]] = []
    for one, other in network.edges:
        free = next((c for c, busy in enumerate(taken) if not busy & {one, other}), len(colours))
        if free == len(colours):
            colours.append([])
            taken.append(set())
        colours[free].append((one, other))
        taken[free] |= {one, other}
    return colours


def _pick(network: Network, choices: list[list[Edge]], n_slots: int, rng: Generator) -> Timetable:
    choices = choices or [[]]  # a single agent has no links, so its slots are empty
    each_once = Timetable.from_meetings(network.n_agents, choices)
    return each_once.rearranged(rng.integers(len(choices), size=n_slots))
