"""The default engine: agents run one after another in the calling thread."""

from collections.abc import Sequence
from dataclasses import dataclass

from grassvine.engines.base import AgentFactory, EngineResult, create_agents
from grassvine.engines.slots import run_slots
from grassvine.networks.timetable import Timetable
from grassvine.protocol.report import Observer


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Engine that runs agents one after another."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        agents = create_agents(factories)
        return run_slots(agents, timetable, observe, lambda actions: (act() for act in actions))
