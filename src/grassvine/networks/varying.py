"""Networks that vary: other links in every epoch, connected over time."""

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

Epoch = tuple[int, tuple[Edge, ...]]  # for how many slots, which links


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epochs of slots with links of their own, one after the other and then from the first again.

    The plan's network is the *union* of all epochs: it is connected, single epochs need not be, and
    an epoch without links is a pause. ``union(n_agents)`` makes it.

    α_i = n/deg_i is taken from the union: an agent with one of its three links at hand puts a third
    of its task into each meeting, as it would if all three were there. If a cycle of epochs lets
    link e meet c_e times in the mean, gossip descends on Σ_i w_i f_i + ½ρ Σ_e c_e d_e², where w_i
    is the mean of c_e over the links of agent i. With equal c_e that is the objective of the union;
    else links that are there more often weigh more, and so do the tasks at their ends.

    Parameters
    ----------
    schedule : Schedule
        How meetings are drawn from the links of an epoch.
    epochs : tuple of (n_slots, edges)
        The length and the links of each epoch.
    """

    schedule: Schedule
    epochs: tuple[Epoch, ...]

    def __post_init__(self) -> None:
        """Put the links in order and check them."""
        if isinstance(self.schedule, Epochs | Recorded):
            raise NetworkError(
                f"{type(self.schedule).__name__} cannot be drawn epoch by epoch; choose a schedule "
                "such as OneEdge()."
            )
        try:
            epochs = tuple((n_slots, tuple(edges)) for n_slots, edges in self.epochs)
        except (TypeError, ValueError):
            raise NetworkError(
                "an epoch is a number of slots and its links, such as (50, ((0, 1), (2, 3))); "
                "give a list of those."
            ) from None
        if not epochs:
            raise NetworkError("there are no epochs; give at least one.")
        ordered = tuple(
            (
                whole_number(f"the length of epoch {number}", n_slots, least=1, error=NetworkError),
                tuple(sorted({as_edge(edge) for edge in edges})),
            )
            for number, (n_slots, edges) in enumerate(epochs)
        )
        object.__setattr__(self, "epochs", ordered)

    def union(self, n_agents: int) -> Network:
        """Return the network of all links; an error names its parts if they are never connected."""
        return Network(n_agents, tuple(edge for _, edges in self.epochs for edge in edges))

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Draw all slots at once, epoch by epoch."""
        whole_number("n_slots", n_slots, least=0)
        if strangers := set(network.edges) ^ {edge for _, edges in self.epochs for edge in edges}:
            one, other = min(strangers)
            missing = "no epoch" if (one, other) in network.edges else "an epoch, not the network"
            raise NetworkError(
                f"the link ({one}, {other}) is in {missing}; give the plan the network "
                "epochs.union(n_agents)."
            )
        tables = [
            self.schedule.draw(_Momentary(network.n_agents, edges), length, rng)
            for length, edges in self._until(n_slots)
        ]
        return _joined(network.n_agents, tables)

    def _until(self, n_slots: int) -> Iterator[Epoch]:
        """The epochs of a run, the last one cut short."""
        for length, edges in cycle(self.epochs):
            if n_slots <= 0:
                return
            yield min(length, n_slots), edges
            n_slots -= length


@dataclass(frozen=True)
class _Momentary(Network):
    """The links of one epoch: all agents count as one part, for they are connected over time."""

    def _parts(self) -> list[list[int]]:
        return [list(range(self.n_agents))]


def _joined(n_agents: int, tables: list[Timetable]) -> Timetable:
    """One timetable after the other."""
    empty = Timetable.from_deliveries(n_agents, [])
    tables = [empty, *tables]
    lengths = np.concatenate([np.diff(table.item_biases) for table in tables])
    return Timetable(
        n_agents,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([table.senders for table in tables]),
        np.concatenate([table.receivers for table in tables]),
    )
