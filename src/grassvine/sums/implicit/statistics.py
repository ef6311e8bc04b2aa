"""Statistics of the events of all agents, by one sum, and the strengths that follow from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.sums.implicit.problem import ImplicitProblem
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce


@dataclass(frozen=True, slots=True, eq=False)
class EventStatistics:
    """Statistics of the events of all agents.

    Attributes
    ----------
    counts : array of shape (n_items,)
        The number of users of each item.
    rest_counts : array of shape (n_items,)
        The same without the events that agents would hold out.
    n_users : float
        The number of users with events.
    typical_count : float
        The geometric mean of the counts of events.
    """

    counts: Array
    rest_counts: Array
    n_users: float
    typical_count: float

    @property
    def n_known_items(self) -> int:
        """The number of items with events."""
        return int(np.count_nonzero(self.counts))

    @property
    def density(self) -> float:
        """p, of users and items with events."""
        return float(self.counts.sum()) / (self.n_users * max(self.n_known_items, 1))

    @property
    def information(self) -> float:
        """q: the singular value of the mean, in units of that of noise."""
        n_events = max(float(self.counts.sum()), 1.0)
        return 1.0 / (
            math.sqrt(max(self.n_known_items, 1) / n_events) + math.sqrt(self.n_users / n_events)
        )


def event_statistics(
    problem: Own[ImplicitProblem], rest: Own[ImplicitProblem], iterate: Iterate
) -> Subprogram[EventStatistics]:
    """Add up the statistics of all agents' events, and of the rest without those held out."""

    def own(data: Data) -> tuple[Array, Array, float, float]:
        whole = data[problem]
        counts, rest_counts = (
            np.bincount(one.events.items, minlength=one.n_items).astype(np.float64)
            for one in (whole, data[rest])
        )
        logarithms = float(np.log(whole.events.values).sum())
        return counts, rest_counts, float(whole.n_active), logarithms

    sums = yield from all_reduce(iterate, own)
    counts, _, _, logarithms = sums
    typical = math.exp(float(logarithms) / max(float(counts.sum()), 1.0))
    return _statistics(sums, (yield from agree(typical)))


def _statistics(sums: Sequence[Array], typical_count: float) -> EventStatistics:
    counts, rest_counts, n_users, _ = sums
    return EventStatistics(counts, rest_counts, max(float(n_users), 1.0), typical_count)


def chosen_at_random(counts: Array, n_users: float) -> bool:
    """Return whether the numbers of users of the items differ no more than by chance.

    If every item is chosen with the same probability p, Σ(n_i − n̄)²/(n̄(1 − p)) has about the mean
    m − 1 and the variance 2(m − 1). The test is at three standard deviations.
    """
    counts = counts[counts > 0.0]
    freedom = max(len(counts) - 1, 1)
    mean = float(counts.mean()) if len(counts) else 0.0
    by_chance = mean * max(1.0 - mean / max(n_users, 1.0), 1e-12)
    excess = float(np.sum((counts - mean) ** 2)) / max(by_chance, 1e-12)
    return excess <= freedom + 3.0 * math.sqrt(2.0 * freedom)
