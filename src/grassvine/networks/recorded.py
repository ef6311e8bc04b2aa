"""A record of meetings, to be made again."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from numpy.random import Generator

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import whole_number
from grassvine.networks.graph import Network, as_edge
from grassvine.networks.timetable import Edge, Timetable


@dataclass(frozen=True, slots=True)
class Recorded:
    """The meetings of an earlier run, slot by slot; nothing is drawn.

    A run's meetings are its plan's timetable: ``Recorded.of(run.plan.timetable)`` replays it and
    yields the same bits. The record is part of the plan, in TOML and in the fingerprint.

    Parameters
    ----------
    n_agents : int
        How many agents there were.
    meetings : tuple of tuples of pairs
        Who met whom at each slot.
    """

    n_agents: int
    meetings: tuple[tuple[Edge, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        """Put the meetings in order and check them."""
        whole_number("n_agents", self.n_agents, least=1, error=NetworkError)
        if not _listed(self.meetings) or not all(_listed(slot) for slot in self.meetings):
            raise NetworkError(
                "meetings must be a list of slots, and a slot a list of pairs, such as "
                "[[[0, 1]], [[1, 2], [3, 4]]]; write them so."
            )
        slots = (sorted(as_edge(pair, self.n_agents) for pair in slot) for slot in self.meetings)
        object.__setattr__(self, "meetings", tuple(tuple(slot) for slot in slots))

    @classmethod
    def of(cls, timetable: Timetable) -> "Recorded":
        """Return the record of a timetable at whose meetings both sides send."""
        slots = tuple(tuple(timetable.meetings(slot)) for slot in range(timetable.n_slots))
        if 2 * sum(len(slot) for slot in slots) != len(timetable.senders):
            raise NetworkError(
                "the timetable sends one way only at some slots and is no record of meetings; give "
                "one of gossip, at whose meetings both sides send."
            )
        return cls(timetable.n_agents, slots)

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Return the first slots of the record, if they fit the network."""
        whole_number("n_slots", n_slots, least=0)
        if network.n_agents != self.n_agents:
            raise NetworkError(
                f"the record is of {self.n_agents} agents and the network has {network.n_agents}; "
                "give the network of the recorded run."
            )
        if n_slots > len(self.meetings):
            raise NetworkError(
                f"the record has {len(self.meetings)} slots and the run {n_slots}; choose n_slots "
                f"= {len(self.meetings)} or less."
            )
        slots = self.meetings[:n_slots]
        links = set(network.edges)
        for number, slot in enumerate(slots):
            if strangers := [pair for pair in slot if pair not in links]:
                one, other = strangers[0]
                raise NetworkError(
                    f"agents {one} and {other} meet at slot {number} of the record, and the "
                    "network has no such link; give the network of the recorded run."
                )
        return Timetable.from_meetings(self.n_agents, slots)


def _listed(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)
