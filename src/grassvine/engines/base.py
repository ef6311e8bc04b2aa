"""What an engine does, and the law that all engines keep.

*Two phases a slot*: every message of a slot is made before anyone moves. An inbox is sorted by
sender. Reports reach the observer ordered by slot, then agent, and after the last slot each agent
concludes. BLAS has one thread. So one plan and one set of data give the same bits on every engine.
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

# An agent is made where it will live: programs cannot travel, and data need not.
AgentFactory = Callable[[], Agent]


@dataclass(frozen=True, slots=True, eq=False)
class EngineResult:
    """How a run ended.

    Attributes
    ----------
    states : tuple of mappings
        What each agent has learned.
    n_slots : int
        How many slots were run.
    stop_reason : str
        An observer's reason, or that the timetable was over.
    incidents : tuple of str
        What was lost on the way and done again, a sentence each.
    """

    states: tuple[State, ...]
    n_slots: int
    stop_reason: str
    incidents: tuple[str, ...] = ()


class Engine(Protocol):
    """Something that makes agents and runs them by a timetable."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable is over or the observer gives a reason to stop."""
        ...


TIMETABLE_OVER = "the timetable was over"


def create_agents(factories: Sequence[AgentFactory]) -> list[Agent]:
    """Make agents here; their first passes over the data keep the law too."""
    with one_blas_thread():
        return [make() for make in factories]


def attributed(agent: Agent, slot: int, action: Callable[[], Result]) -> Result:
    """Do something with an agent; where it fails, say which agent it was and when."""
    try:
        return action()
    except Exception as cause:
        raise AgentError(agent.id, slot, f"{type(cause).__name__}: {cause}") from cause
