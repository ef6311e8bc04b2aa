"""Run a plan on problems."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.engines.base import Engine
from grassvine.engines.in_process import LocalEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.described import Described, size_in_words
from grassvine.foundations.errors import PlanError
from grassvine.problems import Problem, ProblemSource
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.history import History, Recorder
from grassvine.protocol.observers import (
    AllFinished,
    CombinedObserver,
    RunObserver,
    RunStart,
    TimetableShare,
    told,
)
from grassvine.protocol.report import Observer
from grassvine.runs.plan import Plan
from grassvine.sums.course import SharedPrograms
from grassvine.sums.progress import PREFIX


@dataclass(frozen=True, eq=False, repr=False)
class Run(Described):
    """The result of a run.

    Attributes
    ----------
    plan : Plan
        The plan that was run.
    bases : tuple of arrays of shape (n_items, rank)
        Final basis of each agent.
    states : tuple of mappings
        Learned state of each agent as named arrays, including its basis.
    history : History
        All updates and the final states.
    n_slots : int
        Number of slots that were run.
    stop_reason : str
        Why the run ended.
    incidents : tuple of str
        Failures from which the run recovered, one sentence each; empty if there were none.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> result.mean.shape, result.recovered
    ((30, 2), False)
    >>> bool(result.agreement_degrees < 1e-6)
    True
    """

    plan: Plan
    bases: tuple[Array, ...]
    states: tuple[State, ...]
    history: History
    n_slots: int
    stop_reason: str
    incidents: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {
            "method": type(self.plan.method).__name__,
            "agents": self.plan.network.n_agents,
            "items": self.plan.n_items,
            "rank": self.plan.rank,
            "slots": self.n_slots,
            "sent": size_in_words(self.bytes),
            "agreement": f"{self.agreement_degrees:.2g}°",
            "stop_reason": repr(self.stop_reason),
            **({} if self.recovered is None else {"recovered": self.recovered}),
            **({"incidents": len(self.incidents)} if self.incidents else {}),
        }

    def _picture(self) -> str:
        return self.history._picture()

    @cached_property
    def mean(self) -> Array:
        """The Fréchet mean of the agents' bases."""
        if not any(self._distinct):
            return self.bases[0]
        with one_blas_thread():
            return self.plan.geometry.mean(self.bases)

    @cached_property
    def _distinct(self) -> tuple[int, ...]:
        """The first agent whose basis has the same bits as that of each agent."""
        first: dict[bytes, int] = {}
        digests = (hashlib.sha256(basis.tobytes()).digest() for basis in self.bases)
        return tuple(first.setdefault(digest, agent) for agent, digest in enumerate(digests))

    @cached_property
    def neighbour_distance(self) -> float:
        """The largest distance between the final bases of two linked agents."""
        of = self._distinct
        pairs = {(of[one], of[other]) for one, other in self.plan.network.edges}
        with one_blas_thread():
            return max(
                (
                    self.plan.geometry.distance(self.bases[one], self.bases[other])
                    for one, other in sorted(pairs)
                    if one != other
                ),
                default=0.0,
            )

    @property
    def agreement_degrees(self) -> float:
        """The largest distance between two linked agents, in degrees."""
        return math.degrees(self.neighbour_distance)

    @property
    def validation_path(self) -> Mapping[str, Array] | None:
        """The candidates that the agents validated, or None if the method validates none."""
        found = {
            name.removeprefix(PREFIX): array.astype(np.float64)
            for name, array in self.states[0].items()
            if name.startswith(PREFIX)
        }
        return found or None

    @property
    def recovered(self) -> bool | None:
        """Whether a table without noise is certified to be recovered.

        None if the method has no certificate: only ``Exact`` has, without regularisation.
        """
        found = self.states[0].get("recovered")
        return None if found is None else bool(found[0])

    @property
    def messages(self) -> int:
        """The number of messages sent."""
        return self.history.n_messages

    @property
    def bytes(self) -> int:
        """The total size of the arrays sent, in bytes."""
        return self.history.n_bytes


def run(
    plan: Plan,
    problems: Sequence[ProblemSource],
    *,
    engine: Engine | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Run a plan with one agent per problem.

    Parameters
    ----------
    plan : Plan
        Network, method and options of the run.
    problems : sequence of Problem or callable
        One problem per agent, or a function without arguments that returns it. The function is
        called in the process of the agent, so that data are loaded where they are used.
    engine : Engine, optional
        Engine that runs the agents; by default one after another in this thread.
    observers : sequence of callables, default=()
        Called with each :class:`StepReport`, ordered by slot and agent. An observer that returns a
        string stops the run after the slot, for that reason. A :class:`RunObserver`, such as
        :class:`ProgressWriter`, is also told of the beginning, the incidents and the end.

    Returns
    -------
    Run
        Final bases and states, and the history of the run.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> bool(result.history.final()["mse"].max() < 1e-10)
    True
    """
    if len(problems) != plan.network.n_agents:
        raise PlanError(
            f"got {len(problems)} problems for {plan.network.n_agents} agents; "
            "pass one problem per agent."
        )
    programs = SharedPrograms()
    factories = [
        _AgentFactory(plan, programs, number, source) for number, source in enumerate(problems)
    ]
    timetable, recorder = plan.timetable, Recorder()
    watching = [TimetableShare(timetable.n_slots, observer) for observer in observers]
    observe = CombinedObserver(recorder, AllFinished(len(factories)), *watching)
    one_cost = getattr(plan.method, "works_alone", False)
    start = RunStart(plan.network, timetable, type(plan.method).__name__, one_cost)
    with told(observers, start):
        outcome = (engine or LocalEngine()).run(factories, timetable, observe)
    for one in observers:
        if isinstance(one, RunObserver):
            one.end("finished", outcome.stop_reason)
    return Run(
        plan=plan,
        bases=tuple(plan.geometry.as_point(state["basis"]) for state in outcome.states),
        states=outcome.states,
        history=recorder.history(),
        n_slots=outcome.n_slots,
        stop_reason=outcome.stop_reason,
        incidents=outcome.incidents,
    )


@dataclass(frozen=True, eq=False)
class _AgentFactory:
    """Creates an agent, again if it has to be restored; its problem is loaded once."""

    plan: Plan
    programs: SharedPrograms
    number: int
    source: ProblemSource

    def __call__(self) -> Agent:
        """Create the agent."""
        return self.plan.agent(self.number, self._problem, self.programs)

    @cached_property
    def _problem(self) -> Problem:
        """The problem; a function that loads it is called here, where the agent runs."""
        source = self.source
        return source() if callable(source) and not isinstance(source, Problem) else source
