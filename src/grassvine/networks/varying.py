"""Time-varying networks: each epoch has its own links, and their union is connected."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.random import Generator

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import whole_number
from grassvine.networks.graph import Network, as_edge
from grassvine.networks.recorded import Recorded
from grassvine.networks.schedule import Schedule
from grassvine.networks.timetable import Edge, Timetable

Epoch = tuple[int, tuple[Edge, ...]]  # number of slots, links


@dataclass(frozen=True, slots=True)
class Epochs:
    """A schedule that cycles through epochs, each with its own links.

    The plan's network is the *union* of all epochs, returned by ``union(n_agents)``. The union must
    be connected; single epochs need not be, and an epoch without links is a pause.

    The shares α_i are those of the union: an agent with three links puts a third of its cost into
    each meeting, even in an epoch with only one of them. If link e meets c_e times per cycle on
    average, gossip minimises Σ_i w_i f_i + ½ρ Σ_e c_e d_e², where w_i is the mean of c_e over the
    links of agent i. With equal c_e that is the objective on the union; otherwise links that are
    present more often have more weight, and so do the costs of the agents they link.

    Parameters
    ----------
    schedule : Schedule
        Draws the meetings from the links of an epoch.
    epochs : tuple of (n_slots, edges)
        Length and links of each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.networks import AllEdges, Epochs
    >>> by_day, by_night = ((0, 1), (1, 2)), ((0, 2),)
    >>> schedule = Epochs(AllEdges(), epochs=((2, by_day), (1, by_night)))
    >>> timetable = schedule.draw(schedule.union(3), n_slots=3, rng=np.random.default_rng(0))
    >>> [timetable.meetings(slot) for slot in range(3)]
    [[(0, 1), (1, 2)], [(0, 1), (1, 2)], [(0, 2)]]
    """

    schedule: Schedule
    epochs: tuple[Epoch, ...]

    def __post_init__(self) -> None:
        """Sort and check the links."""
        if isinstance(self.schedule, Epochs | Recorded):
            raise NetworkError(
                f"{type(self.schedule).__name__} cannot be used within epochs; choose a schedule "
                "such as OneEdge()."
            )
        try:
            epochs = tuple((n_slots, tuple(edges)) for n_slots, edges in self.epochs)
        except (TypeError, ValueError):
            raise NetworkError(
                "epochs must be a list of (n_slots, edges) pairs; pass for example "
                "[(50, [(0, 1), (2, 3)]), (50, [(1, 2)])]."
            ) from None
        if not epochs:
            raise NetworkError("epochs is empty; pass at least one epoch.")
        ordered = tuple(
            (
                whole_number(f"the length of epoch {number}", n_slots, least=1, error=NetworkError),
                tuple(sorted({as_edge(edge) for edge in edges})),
            )
            for number, (n_slots, edges) in enumerate(epochs)
        )
        object.__setattr__(self, "epochs", ordered)

    def union(self, n_agents: int) -> Network:
        """Return the network with the links of all epochs."""
        return Network(n_agents, tuple(edge for _, edges in self.epochs for edge in edges))

    def check(self, network: Network, n_slots: int) -> None:
        """Check that the network is the union of all epochs."""
        if unmatched := set(network.edges) ^ {edge for _, edges in self.epochs for edge in edges}:
            one, other = min(unmatched)
            found = "no epoch" if (one, other) in network.edges else "an epoch but not the network"
            raise NetworkError(
                f"the link ({one}, {other}) is in {found}; use epochs.union(n_agents) as the "
                "network of the plan."
            )
        for _, edges in self.epochs:
            self.schedule.check(_EpochNetwork(network.n_agents, edges), n_slots)

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once, epoch by epoch."""
        self.check(network, n_slots)
        tables = [
            self.schedule.draw(_EpochNetwork(network.n_agents, edges), length, rng)
            for length, edges in self._until(n_slots)
        ]
        return _concatenated(network.n_agents, tables)

    def _until(self, n_slots: int) -> Iterator[Epoch]:
        """Yield the epochs of a run; the last one may be truncated."""
        for length, edges in cycle(self.epochs):
            if n_slots <= 0:
                return
            yield min(length, n_slots), edges
            n_slots -= length


@dataclass(frozen=True)
class _EpochNetwork(Network):
    """The links of one epoch, without the check that they connect all agents."""

    def _check_connected(self) -> None:
        """Accept any links."""


def _concatenated(n_agents: int, tables: list[Timetable]) -> Timetable:
    """Concatenate timetables."""
    empty = Timetable.from_deliveries(n_agents, [])
    tables = [empty, *tables]
    lengths = np.concatenate([np.diff(table.offsets) for table in tables])
    return Timetable(
        n_agents,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([table.senders for table in tables]),
        np.concatenate([table.receivers for table in tables]),
    )
