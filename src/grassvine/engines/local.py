"""The embedded default: one agent after the other, in this thread."""

from collections.abc import Sequence
from dataclasses import dataclass

from grassvine.engines.base import Outcome
from grassvine.engines.slots import run_slots
from grassvine.gossip.agent import Agent
from grassvine.gossip.report import Observer
from grassvine.network.timetable import Timetable


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs agents one after the other."""

    def run(self, agents: Sequence[Agent], timetable: Timetable, observe: Observer) -> Outcome:
        """Run until the timetable is over or the observer gives a reason to stop."""
        return run_slots(agents, timetable, observe, lambda actions: (act() for act in actions))
