"""A network: agents 0 … N−1 and undirected links between them, connected."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import whole_number
from grassvine.networks.timetable import Edge
from grassvine.networks.tree import Tree, spanning_tree


@dataclass(frozen=True)
class Network:
    """Agents and links; an error names the parts where it is not connected.

    Parameters
    ----------
    n_agents : int
        How many agents there are.
    edges : tuple of pairs
        The links, kept sorted with the smaller agent first; a repeated link counts once.
    """

    n_agents: int
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        """Put the edges in order and check them."""
        whole_number("n_agents", self.n_agents, least=1, error=NetworkError)
        ordered = sorted({as_edge(edge, self.n_agents) for edge in self.edges})
        object.__setattr__(self, "edges", tuple(ordered))
        parts = self._parts()
        if len(parts) > 1:
            named = "; ".join(_name_part(part) for part in parts[:4])
            raise NetworkError(
                f"the network is not connected: it falls into {len(parts)} parts ({named}"
                f"{'; …' if len(parts) > 4 else ''}). Add a link between them."
            )

    def neighbours(self, agent: int) -> tuple[int, ...]:
        """The agents linked to this one, in order."""
        return self._neighbours[agent]

    def degree(self, agent: int) -> int:
        """The number of links of an agent."""
        return len(self._neighbours[agent])

    @cached_property
    def tree(self) -> Tree:
        """The spanning tree along which sums are computed."""
        return spanning_tree(self)

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        linked: list[list[int]] = [[] for _ in range(self.n_agents)]
        for one, other in self.edges:
            linked[one].append(other)
            linked[other].append(one)
        return tuple(tuple(sorted(agents)) for agents in linked)

    def _parts(self) -> list[list[int]]:
        """The connected parts, each sorted, in order of their first agent."""
        unseen = set(range(self.n_agents))
        parts = []
        while unseen:
            reached = {min(unseen)}
            front = list(reached)
            while front:
                near = {other for agent in front for other in self._neighbours[agent]} - reached
                reached |= near
                front = list(near)
            parts.append(sorted(reached))
            unseen -= reached
        return parts


def as_edge(link: Any, n_agents: int | None = None) -> Edge:
    """Return a link with its smaller agent first, or say what is wrong with it."""
    try:
        one, other = link
    except (TypeError, ValueError):
        raise NetworkError(f"the link {link!r} is not a pair; give two agent numbers.") from None
    agents = [
        whole_number(
            f"an agent of link ({one}, {other})",
            agent,
            least=0,
            most=None if n_agents is None else n_agents - 1,
            why="" if n_agents is None else f"there are {n_agents} agents",
            error=NetworkError,
        )
        for agent in (one, other)
    ]
    if agents[0] == agents[1]:
        raise NetworkError(f"agent {one} is linked to itself; leave that link out.")
    return (min(agents), max(agents))


def _name_part(part: list[int]) -> str:
    shown = ", ".join(str(agent) for agent in part[:8])
    return f"{'agent' if len(part) == 1 else 'agents'} {shown}{', …' if len(part) > 8 else ''}"
