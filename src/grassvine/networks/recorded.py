"""Recorded meetings, for replaying a run."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from numpy.random import Generator

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import whole_number
from grassvine.networks.graph import Network, as_edge
from grassvine.networks.timetable import Edge, Timetable, check_slots


@dataclass(frozen=True, slots=True)
class Recorded:
    """A schedule that replays the meetings of an earlier run; nothing is drawn.

    ``Recorded.of(run.plan.timetable)`` replays a run and reproduces it bit for bit. The record is
    part of the plan: of its TOML and its fingerprint.

    Parameters
    ----------
    n_agents : int
        Number of agents of the recorded run.
    meetings : tuple of tuples of pairs
        Pairs of agents that met, for each slot.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.networks import Recorded
    >>> replay = Recorded(3, meetings=(((0, 1),), ((1, 2),)))
    >>> plan = gv.Plan(10, 2, gv.networks.path(3), gv.Gossip(max_iter=2, schedule=replay))
    >>> plan.timetable.meetings(1)
    [(1, 2)]
    """

    n_agents: int
    meetings: tuple[tuple[Edge, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        """Sort and check the meetings."""
        whole_number("n_agents", self.n_agents, least=1, error=NetworkError)
        if not _is_list(self.meetings) or not all(_is_list(slot) for slot in self.meetings):
            raise NetworkError(
                "meetings must be a list of slots, each a list of pairs; pass for example "
                "[[[0, 1]], [[1, 2], [3, 4]]]."
            )
        slots = [sorted(as_edge(pair, self.n_agents) for pair in slot) for slot in self.meetings]
        for number, slot in enumerate(slots):
            if len(set(slot)) < len(slot):
                raise NetworkError(
                    f"slot {number} of meetings repeats a pair; list each pair of a slot once."
                )
        object.__setattr__(self, "meetings", tuple(tuple(slot) for slot in slots))

    @classmethod
    def of(cls, timetable: Timetable) -> "Recorded":
        """Record the meetings of a timetable in which both sides of every meeting send."""
        slots = tuple(tuple(timetable.meetings(slot)) for slot in range(timetable.n_slots))
        if 2 * sum(len(slot) for slot in slots) != len(timetable.senders):
            raise NetworkError(
                "the timetable has deliveries in one direction only, so it cannot be recorded as "
                "meetings; pass the timetable of a gossip run."
            )
        return cls(timetable.n_agents, slots)

    def check(self, network: Network, n_slots: int) -> None:
        """Check that the record covers a run on a network."""
        check_slots(n_slots, 0)
        if network.n_agents != self.n_agents:
            raise NetworkError(
                f"the record has {self.n_agents} agents but the network has {network.n_agents}; "
                "pass the network of the recorded run."
            )
        if n_slots > len(self.meetings):
            raise NetworkError(
                f"the record has {len(self.meetings)} slots but the run needs {n_slots}; choose at "
                f"most {len(self.meetings)} slots."
            )
        links = set(network.edges)
        for number, slot in enumerate(self.meetings[:n_slots]):
            if unlinked := [pair for pair in slot if pair not in links]:
                one, other = unlinked[0]
                raise NetworkError(
                    f"agents {one} and {other} meet at slot {number} of the record, but the "
                    "network has no such link; pass the network of the recorded run."
                )

    def draw(self, network: Network, n_slots: int, rng: Generator) -> Timetable:
        """Return the first ``n_slots`` slots of the record."""
        self.check(network, n_slots)
        return Timetable.from_meetings(self.n_agents, self.meetings[:n_slots])


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)
