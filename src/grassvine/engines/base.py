"""The engine interface and the rules that all engines follow.

Each slot has two phases: all messages are created before any agent updates its state. Every message
is checked before an agent receives it (``checked_message``); inboxes are sorted by sender. Reports
reach the observer ordered by slot, then agent; after the last slot each agent reports its final
state. BLAS uses one thread. A plan and its data therefore give bitwise identical results on every
engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import AgentError
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.report import Observer

Result = TypeVar("Result")

# Agents are created in the process they run in: they need not be serialisable, nor their data.
AgentFactory = Callable[[], Agent]


@dataclass(frozen=True, slots=True, eq=False)
class EngineResult:
    """The result of a run.

    Attributes
    ----------
    states : tuple of mappings
        The final state of each agent.
    n_slots : int
        Number of slots that were run.
    stop_reason : str
        The reason returned by an observer, or ``TIMETABLE_OVER``.
    incidents : tuple of str
        Losses and recoveries during the run, one sentence each.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip(max_iter=5))
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> agents = [lambda number=number: plan.agent(number, problem) for number in (0, 1)]
    >>> result = gv.LocalEngine().run(agents, plan.timetable, lambda report: None)
    >>> result.n_slots, result.stop_reason
    (5, 'the timetable ended')
    """

    states: tuple[State, ...]
    n_slots: int
    stop_reason: str
    incidents: tuple[str, ...] = ()


class Engine(Protocol):
    """Interface of an engine: creates agents and runs them by a timetable.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.engines import Engine
    >>> class Counting:  # an engine of your own: the local one, with a count of the reports
    ...     count = 0
    ...     def run(self, factories, timetable, observe):
    ...         def counted(report):
    ...             self.count += 1
    ...             return observe(report)
    ...         return gv.LocalEngine().run(factories, timetable, counted)
    >>> engine: Engine = Counting()
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip(max_iter=5))
    >>> result = gv.run(plan, [gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])] * 2, engine=engine)
    >>> engine.count == len(result.history)
    True
    """

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        ...


TIMETABLE_OVER = "the timetable ended"


def create_agents(factories: Sequence[AgentFactory]) -> list[Agent]:
    """Create agents in this process; their first pass over the data also uses one BLAS thread."""
    with one_blas_thread():
        return [make() for make in factories]


def attributed(agent: Agent, slot: int, action: Callable[..., Result], *arguments: Any) -> Result:
    """Run an action of an agent; errors are raised as AgentError with the agent and slot."""
    try:
        return action(*arguments)
    except Exception as cause:
        raise AgentError(agent.id, slot, f"{type(cause).__name__}: {cause}") from cause
