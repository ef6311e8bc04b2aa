"""An engine that runs the agents of a slot in threads; the kernels and BLAS release the GIL."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from grassvine.engines.base import AgentFactory, EngineResult, create_agents
from grassvine.engines.slots import run_slots
from grassvine.foundations.options import whole_number
from grassvine.networks.timetable import Timetable
from grassvine.protocol.report import Observer


@dataclass(frozen=True, slots=True)
class ThreadsEngine:
    """Engine that updates the agents of a slot in threads.

    Parameters
    ----------
    workers : int, default=2
        Maximum number of threads.
    """

    workers: int = 2

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("workers", self.workers, least=1)

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        agents = create_agents(factories)
        with ThreadPoolExecutor(self.workers, thread_name_prefix="grassvine-agent") as pool:
            return run_slots(
                agents, timetable, observe, lambda actions: pool.map(lambda act: act(), actions)
            )
