"""Run a plan on problems: the front door of the core."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from grassvine.engines.base import Engine
from grassvine.engines.local import LocalEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import PlanError
from grassvine.problems import Problem, ProblemSource
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.history import History, Recorder
from grassvine.protocol.observers import AllFinished, Audience
from grassvine.protocol.report import Observer
from grassvine.runs.plan import Plan


@dataclass(frozen=True, eq=False)
class Run:
    """What came of a plan.

    Attributes
    ----------
    plan : Plan
        What was run.
    bases : tuple of arrays
        The basis of each agent.
    states : tuple of mappings
        All that each agent has learned, as named arrays; its basis is one of them.
    history : History
        All updates and the final states.
    n_slots : int
        How many slots were run.
    stop_reason : str
        Why it ended.
    incidents : tuple of str
        What was lost on the way and done again, a sentence each; empty in a run without failures.
    """

    plan: Plan
    bases: tuple[Array, ...]
    states: tuple[State, ...]
    history: History
    n_slots: int
    stop_reason: str
    incidents: tuple[str, ...] = ()

    @cached_property
    def mean(self) -> Array:
        """The Fréchet mean of the agents' bases."""
        with one_blas_thread():
            return self.plan.geometry.mean(self.bases)

    @cached_property
    def neighbour_distance(self) -> float:
        """The largest distance between the final bases of two linked agents."""
        with one_blas_thread():
            return max(
                (
                    self.plan.geometry.distance(self.bases[one], self.bases[other])
                    for one, other in self.plan.network.edges
                ),
                default=0.0,
            )

    @property
    def agreement_degrees(self) -> float:
        """The largest distance between two linked agents, in degrees."""
        return math.degrees(self.neighbour_distance)

    @property
    def messages(self) -> int:
        """How many messages were sent."""
        return int(self.history["messages"].sum())

    @property
    def bytes(self) -> int:
        """How many bytes of arrays were sent."""
        return int(self.history["bytes"].sum())


def run(
    plan: Plan,
    problems: Sequence[ProblemSource],
    *,
    engine: Engine | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Run a plan: one agent for each problem, meeting as the plan's timetable says.

    Parameters
    ----------
    plan : Plan
        What all agents agree on.
    problems : sequence of Problem, or of functions
        One for each agent of the plan's network. A function takes nothing and returns a problem; it
        is called where the agent lives, so that data are loaded where they are used.
    engine : Engine, optional
        Where to run; one agent after the other in this thread by default.
    observers : sequence of callables
        Called with each :class:`StepReport`, in order of slot and agent; one that returns a
        sentence stops the run after the slot.
    """
    if len(problems) != plan.network.n_agents:
        raise PlanError(
            f"there are {len(problems)} problems for {plan.network.n_agents} agents; "
            "give one problem to each agent."
        )
    factories = [_AgentFactory(plan, number, given) for number, given in enumerate(problems)]
    recorder = Recorder()
    observe = Audience(recorder, AllFinished(len(factories)), *observers)
    outcome = (engine or LocalEngine()).run(factories, plan.timetable, observe)
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
    """Makes an agent, again where it has to be brought back; its problem is loaded once."""

    plan: Plan
    number: int
    given: ProblemSource

    def __call__(self) -> Agent:
        """Make the agent."""
        return self.plan.agent(self.number, self._problem)

    @cached_property
    def _problem(self) -> Problem:
        if isinstance(self.given, Problem):
            return self.given
        problem: object = self.given() if callable(self.given) else self.given
        if not isinstance(problem, Problem):
            where = "its function returned" if callable(self.given) else "it was given"
            raise PlanError(
                f"agent {self.number} has no problem: {where} a {type(problem).__name__}; give a "
                "problem such as CompletionProblem(ratings), or a function that returns one."
            )
        return problem
