"""Observers that may stop a run, and several as one."""

import math

from grassvine.foundations.options import real_number, whole_number
from grassvine.protocol.report import Observer, StepReport


class EarlyStop:
    """Stop when every agent has converged.

    An agent has converged after ``n_iter_no_change`` updates in a row in which its cost changed by
    at most the fraction ``cost_change`` and the neighbour it met was at most ``distance`` away.
    """

    def __init__(
        self,
        n_agents: int,
        *,
        cost_change: float = 1e-6,
        distance: float = math.inf,
        n_iter_no_change: int = 5,
    ):
        self._cost_change = real_number("cost_change", cost_change, least=0.0)
        self._distance = distance
        self._n_iter_no_change = whole_number("n_iter_no_change", n_iter_no_change, least=1)
        self._last_cost = [math.inf] * whole_number("n_agents", n_agents, least=1)
        self._content = [0] * n_agents

    def __call__(self, report: StepReport) -> str | None:
        """Judge one update."""
        last = self._last_cost[report.agent]
        settled = abs(last - report.cost) <= self._cost_change * abs(report.cost)
        near = not report.distance > self._distance
        self._content[report.agent] = self._content[report.agent] + 1 if settled and near else 0
        self._last_cost[report.agent] = report.cost
        if min(self._content) < self._n_iter_no_change:
            return None
        return (
            f"no agent's cost changed by more than {self._cost_change:g} of itself "
            f"in its last {self._n_iter_no_change} updates"
        )


class AllFinished:
    """Stop when every agent has said that it is done; the reason is the last one given."""

    only_watches = True  # until nobody moves any more

    def __init__(self, n_agents: int):
        self._working = set(range(whole_number("n_agents", n_agents, least=1)))

    def __call__(self, report: StepReport) -> str | None:
        """Cross off an agent that is done."""
        if not report.finished:
            return None
        self._working.discard(report.agent)
        return None if self._working else report.finished


class Audience:
    """Several observers as one; the first reason to stop counts."""

    def __init__(self, *observers: Observer):
        self._observers = observers
        self.only_watches = all(map(only_watches, observers))

    def __call__(self, report: StepReport) -> str | None:
        """Tell all."""
        reasons = [observer(report) for observer in self._observers]
        return next((reason for reason in reasons if reason), None)


def only_watches(observer: Observer) -> bool:
    """Tell whether an observer never stops agents that still move.

    Then an engine may be some slots ahead of what the observer has heard. Observers that promise
    it have an attribute of that name.
    """
    return getattr(observer, "only_watches", False)
