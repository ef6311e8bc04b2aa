"""Observers that can stop a run, and their combination."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.protocol.report import Observer, StepReport


class EarlyStop:
    """An observer that stops a run when every agent has converged.

    Parameters
    ----------
    n_agents : int
        Number of agents of the run.
    cost_change : float, default=1e-6
        Largest relative change of the cost in an update of a converged agent.
    distance : float, default=inf
        Largest distance between a converged agent and the neighbour that it meets.
    n_iter_no_change : int, default=5
        Number of consecutive updates in which an agent must meet both conditions.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), gv.Gossip(max_iter=2000))
    >>> stop = gv.EarlyStop(4, cost_change=0.01)
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts], observers=[stop])
    >>> result.n_slots < 2000
    True
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
        self._n_steady = [0] * n_agents

    def __call__(self, report: StepReport) -> str | None:
        """Return the reason to stop, or None."""
        last = self._last_cost[report.agent]
        steady = abs(last - report.cost) <= self._cost_change * abs(report.cost)
        near = not report.distance > self._distance
        self._n_steady[report.agent] = self._n_steady[report.agent] + 1 if steady and near else 0
        self._last_cost[report.agent] = report.cost
        if min(self._n_steady) < self._n_iter_no_change:
            return None
        return (
            f"no agent's relative cost change exceeded {self._cost_change:g} "
            f"in its last {self._n_iter_no_change} updates"
        )


class AllFinished:
    """An observer that stops a run when every agent has finished, for the last reason reported."""

    only_watches = True  # it stops a run only after all agents have finished

    def __init__(self, n_agents: int):
        self._working = set(range(whole_number("n_agents", n_agents, least=1)))

    def __call__(self, report: StepReport) -> str | None:
        """Return the reason to stop, or None."""
        if not report.finished:
            return None
        self._working.discard(report.agent)
        return None if self._working else report.finished


@dataclass(frozen=True, slots=True, eq=False)
class RunStart:
    """What is known when a run begins.

    Attributes
    ----------
    network : Network
    timetable : Timetable
    method : str
        The name of the method's class.
    one_cost : bool
        Whether all agents report one cost, that of all data, as in methods by sums.
    """

    network: Network
    timetable: Timetable
    method: str
    one_cost: bool


@runtime_checkable
class RunObserver(Protocol):
    """An observer that is also told when a run begins, has an incident, and ends."""

    def __call__(self, report: StepReport) -> str | None:
        """Take a report."""
        ...

    def begin(self, start: RunStart) -> None:
        """Note that a run begins; a fit may consist of several runs, one after another."""
        ...

    def incident(self, text: str) -> None:
        """Note a failure from which the run recovers, in one sentence."""
        ...

    def end(self, state: str, reason: str) -> None:
        """Note that the run is ``"finished"``, ``"failed"`` or ``"stopped"`` from outside."""
        ...


@contextmanager
def told(observers: Sequence[Observer], start: RunStart) -> Iterator[None]:
    """Tell observers that ask for it that a run begins, and how the enclosed block failed."""
    asking = [one for one in observers if isinstance(one, RunObserver)]
    for one in asking:
        one.begin(start)
    try:
        yield
    except BaseException as error:
        outside = isinstance(error, KeyboardInterrupt | SystemExit)
        for one in asking:
            if outside:
                one.end("stopped", "the run was stopped from outside")
            else:
                one.end("failed", str(error) or type(error).__name__)
        raise


def tell_incident(observer: Observer, text: str) -> None:
    """Tell an observer, if it asks for it, about a failure from which the run recovers."""
    if isinstance(observer, CombinedObserver | TimetableShare | RunObserver):
        observer.incident(text)


class TimetableShare:
    """An observer that adds the share of the timetable to reports without an estimate of their own.

    For methods without a stopping criterion this share is exact.
    """

    def __init__(self, n_slots: int, observer: Observer):
        self._n_slots, self._observer = n_slots, observer
        self.only_watches = only_watches(observer)

    def __call__(self, report: StepReport) -> str | None:
        """Pass a report on to the observer."""
        if math.isnan(report.share) and report.neighbour != -1:
            report = report._replace(share=(report.slot + 1) / self._n_slots)
        return self._observer(report)

    def incident(self, text: str) -> None:
        """Pass an incident on."""
        tell_incident(self._observer, text)


class CombinedObserver:
    """Several observers combined; the first reason to stop counts."""

    def __init__(self, *observers: Observer):
        self._observers = observers
        self.only_watches = all(map(only_watches, observers))

    def __call__(self, report: StepReport) -> str | None:
        """Call all observers and return the first reason to stop, or None."""
        reason = None
        for observer in self._observers:
            found = observer(report)
            reason = reason or found
        return reason

    def incident(self, text: str) -> None:
        """Pass an incident on to all observers."""
        for observer in self._observers:
            tell_incident(observer, text)


def only_watches(observer: Observer) -> bool:
    """Return whether an observer never stops a run before all agents have finished.

    An engine may then run some slots ahead of the observer. Such observers declare it by an
    attribute of this name.
    """
    return getattr(observer, "only_watches", False)
