"""Spanning trees, along which a network computes sums (all-reduce) without a server.

In a round, starting with the deepest agents, every agent sends its parent the sum over its subtree;
then the total is sent back down. A round takes 2(N−1) messages in 2·height slots, all between
neighbours. A single agent sends to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grassvine.networks.timetable import Delivery, Timetable, check_slots

if TYPE_CHECKING:
    from grassvine.networks.graph import Network

# Bounded, so that the cost is linear in the size of the network.
MAX_SEARCHES = 64


@dataclass(frozen=True, slots=True)
class Route:
    """When an agent sends in every round of sums, and to whom.

    Parameters
    ----------
    parent : int
        The agent that it sends partial sums to; −1 for the root.
    n_slots : int
        The number of slots of a round.
    n_upward : int
        The first slots of a round, in which partial sums go up; in the others totals go down.
    sends_up : int
        The slot of a round at which it sends its partial sum.
    sends_down : int
        The slot of a round at which it sends the total to its children; −1, the slot before the
        round, for an agent without children.
    """

    parent: int
    n_slots: int
    n_upward: int
    sends_up: int
    sends_down: int


@dataclass(frozen=True)
class Tree:
    """A rooted spanning tree, given by the parent of each agent; −1 for the root."""

    parents: tuple[int, ...]

    @property
    def root(self) -> int:
        """The agent without a parent."""
        return self.parents.index(-1)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The depth of each agent; 0 for the root."""
        depths = [0] * len(self.parents)
        level, depth = [self.root], 0
        while level:
            for agent in level:
                depths[agent] = depth
            level = [child for agent in level for child in self.children(agent)]
            depth += 1
        return tuple(depths)

    @cached_property
    def height(self) -> int:
        """The largest depth."""
        return max(self.depths)

    def children(self, agent: int) -> tuple[int, ...]:
        """Return the children of an agent in ascending order."""
        return self._children[agent]

    def rounds(self, n_rounds: int) -> Timetable:
        """Return the timetable of ``n_rounds`` sums."""
        check_rounds(len(self.parents), n_rounds)
        if not self.height:
            return Timetable.from_deliveries(1, [[(0, 0)]] * n_rounds)
        up: list[list[Delivery]] = [[] for _ in range(self.height)]
        for agent, route in enumerate(self.routes):
            if route.parent >= 0:
                up[route.sends_up].append((agent, route.parent))
        down = [[(parent, agent) for agent, parent in slot] for slot in reversed(up)]
        one = Timetable.from_deliveries(len(self.parents), [*up, *down])
        return one.rearranged(np.tile(np.arange(one.n_slots), n_rounds))

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The route of each agent in :meth:`rounds`; a single agent sends up to itself."""
        height = self.height
        return tuple(
            Route(
                parent=parent,
                n_slots=max(2 * height, 1),
                n_upward=max(height, 1),
                sends_up=height - depth,
                sends_down=height + depth if self.children(agent) else -1,
            )
            for agent, (parent, depth) in enumerate(zip(self.parents, self.depths, strict=True))
        )

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        children: list[list[int]] = [[] for _ in self.parents]
        for agent, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(agent)
        return tuple(map(tuple, children))


def check_rounds(n_agents: int, n_rounds: int) -> None:
    """Check the size of the timetable of ``n_rounds`` sums; no tree is needed for that."""
    check_slots(n_rounds, 2 * n_agents)


def spanning_tree(network: "Network") -> Tree:
    """Return a breadth-first tree of minimal or nearly minimal height.

    The height of the tree from v is the eccentricity of v. A search from v bounds the eccentricity
    of all others, ecc(w) ≥ max(d(v, w), ecc(v) − d(v, w)), so the next search starts where the
    bound is lowest, until no agent can be better; on a path that takes two searches. Where bounds
    are weak, as on a large random graph, the best of ``MAX_SEARCHES`` roots is used.
    """
    bounds = np.zeros(network.n_agents, dtype=np.int64)
    searched = np.zeros(network.n_agents, dtype=bool)
    best: tuple[int, int] | None = None  # height and root
    root = 0
    for _ in range(min(MAX_SEARCHES, network.n_agents)):
        distances = _distances(network, root)
        height = int(distances.max())
        searched[root] = True
        best = min(best or (height, root), (height, root))
        bounds = np.maximum(bounds, np.maximum(distances, height - distances))
        # Ties go to the smallest number, so the result does not depend on the search order.
        can_win = (bounds < best[0]) | ((bounds == best[0]) & (np.arange(len(bounds)) < best[1]))
        candidates = np.flatnonzero(can_win & ~searched)
        if not len(candidates):
            break
        root = int(candidates[np.argmin(bounds[candidates])])
    assert best is not None
    return _breadth_first(network, best[1])


def _distances(network: "Network", root: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the distances, in links, of all agents from one."""
    return np.array(_breadth_first(network, root).depths, dtype=np.int64)


def _breadth_first(network: "Network", root: int) -> Tree:
    parents = {root: -1}
    front: Sequence[int] = [root]
    while front:
        reached = []
        for agent in front:
            for other in network.neighbours(agent):
                if other not in parents:
                    parents[other] = agent
                    reached.append(other)
        front = reached
    return Tree(tuple(parents[agent] for agent in range(network.n_agents)))
