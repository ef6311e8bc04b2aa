"""The engine interface and the rules that all engines follow.

Each slot has two phases: all messages are created before any agent updates its state. Every message
is checked before an agent receives it (``checked_message``); inboxes are sorted by sender. Reports
reach the observer ordered by slot, then agent; after the last slot each agent reports its final
state. BLAS uses one thread. A plan and its data therefore give bitwise identical results on every
engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

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
    """

    states: tuple[State, ...]
    n_slots: int
    stop_reason: str
    incidents: tuple[str, ...] = ()


class Engine(Protocol):
    """Interface of an engine: creates agents and runs them by a timetable."""

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


def attributed(agent: Agent, slot: int, action: Callable[[], Result]) -> Result:
    """Run an action of an agent; errors are raised as AgentError with the agent and slot."""
    try:
        return action()
    except Exception as cause:
        raise AgentError(agent.id, slot, f"{type(cause).__name__}: {cause}") from cause
