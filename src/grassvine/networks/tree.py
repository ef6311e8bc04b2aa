"""Spanning trees: how a network adds up numbers without a server.

In a round every agent sends to its parent what it and those below it hold, the deepest first; then
the sum goes down again. That is 2(N−1) messages in twice as many slots as the tree is deep, and
each agent talks to its neighbours only. The root adds and passes on like all others. A lone agent
tells itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.networks.graph import Network
from grassvine.networks.timetable import Delivery, Timetable


@dataclass(frozen=True)
class Tree:
    """The parent of each agent; −1 for the root."""

    parents: tuple[int, ...]

    @property
    def root(self) -> int:
        """The agent without a parent."""
        return self.parents.index(-1)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many links lie between each agent and the root."""
        return tuple(self._depth(agent) for agent in range(len(self.parents)))

    @property
    def height(self) -> int:
        """The largest depth."""
        return max(self.depths)

    def children(self, agent: int) -> tuple[int, ...]:
        """The agents whose parent this one is, in order."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == agent)

    def rounds(self, n_rounds: int) -> Timetable:
        """The timetable of so many sums."""
        if not self.height:
            return Timetable.from_deliveries(1, [[(0, 0)]] * n_rounds)
        up: list[list[Delivery]] = [[] for _ in range(self.height)]
        for agent, parent in enumerate(self.parents):
            if parent >= 0:
                up[self.height - self.depths[agent]].append((agent, parent))
        down = [[(parent, agent) for agent, parent in slot] for slot in reversed(up)]
        one = Timetable.from_deliveries(len(self.parents), [*up, *down])
        return one.rearranged(np.tile(np.arange(one.n_slots), n_rounds))

    def _depth(self, agent: int) -> int:
        depth = 0
        while (agent := self.parents[agent]) >= 0:
            depth += 1
        return depth


def spanning_tree(network: Network) -> Tree:
    """Return a tree of shortest ways from a centre of the network, the flattest there is."""
    trees = [_from(network, root) for root in range(network.n_agents)]
    return min(trees, key=lambda tree: tree.height)


def _from(network: Network, root: int) -> Tree:
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
