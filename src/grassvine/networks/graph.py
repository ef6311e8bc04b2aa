"""Networks: connected undirected graphs of agents 0 … N−1."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.options import whole_number
from grassvine.networks.timetable import Edge
from grassvine.networks.tree import Tree, spanning_tree

N_NAMED = 4  # components that an error names


@dataclass(frozen=True)
class Network:
    """A connected network of agents; a disconnected one is an error that lists its components.

    Parameters
    ----------
    n_agents : int
        Number of agents.
    edges : tuple of pairs
        Links, stored sorted with the smaller agent first; duplicates are removed.

    Examples
    --------
    >>> from grassvine.networks import Network
    >>> network = Network(n_agents=4, edges=((0, 1), (1, 2), (2, 3)))
    >>> network.neighbours(1), network.degree(3)
    ((0, 2), 1)
    """

    n_agents: int
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        """Sort and check the edges."""
        whole_number("n_agents", self.n_agents, least=1, error=NetworkError)
        ordered = sorted({as_edge(edge, self.n_agents) for edge in self.edges})
        object.__setattr__(self, "edges", tuple(ordered))
        self._check_connected()

    def neighbours(self, agent: int) -> tuple[int, ...]:
        """Return the neighbours of an agent in ascending order."""
        return self._neighbours[agent]

    def degree(self, agent: int) -> int:
        """Return the number of links of an agent."""
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

    def _check_connected(self) -> None:
        count, first = _components(self.n_agents, self.edges)
        if count > 1:
            named = "; ".join(_name_part(part) for part in first)
            raise NetworkError(
                f"the network is not connected: it has {count} components ({named}"
                f"{'; …' if count > len(first) else ''}); add a link between them."
            )


def as_edge(link: Any, n_agents: int | None = None) -> Edge:
    """Return a link with its smaller agent first, or raise :class:`NetworkError`."""
    try:
        one, other = link
    except (TypeError, ValueError):
        raise NetworkError(f"the link {link!r} is not a pair; pass two agent numbers.") from None
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
        raise NetworkError(f"agent {one} is linked to itself; remove that link.")
    return (min(agents), max(agents))


def _components(n_agents: int, edges: Iterable[Edge]) -> tuple[int, list[list[int]]]:
    """Return the number of connected components, and the first four of them.

    The cost is linear in the number of links, whatever number of agents a file claims to have.
    """
    near: dict[int, list[int]] = {}
    for one, other in edges:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    seen: set[int] = set()
    found = []
    for agent in sorted(near):
        if agent not in seen:
            seen.add(agent)
            reached = [agent]
            for one in reached:  # grows during the loop
                new = [other for other in near[one] if other not in seen]
                seen.update(new)
                reached += new
            found.append(sorted(reached))
    alone = islice((agent for agent in range(n_agents) if agent not in near), N_NAMED)
    first = sorted([*found, *([agent] for agent in alone)])[:N_NAMED]
    return len(found) + n_agents - len(near), first


def _name_part(part: list[int]) -> str:
    shown = ", ".join(str(agent) for agent in part[:8])
    return f"{'agent' if len(part) == 1 else 'agents'} {shown}{', …' if len(part) > 8 else ''}"
