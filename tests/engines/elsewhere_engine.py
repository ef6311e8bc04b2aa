"""An engine whose agents live in one other process, where they are made too."""

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from grassvine.engines import AgentFactory, EngineResult, LocalEngine
from grassvine.networks import Timetable
from grassvine.protocol import Observer, StepReport
from grassvine.protocol.observers import AllFinished, CombinedObserver


@dataclass(frozen=True)
class ElsewhereEngine:
    """Runs a local engine elsewhere; observers are told afterwards and cannot stop it.

    By ``spawn`` the other process is a new interpreter that knows nothing but what it is sent.
    """

    start: str = "spawn"

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        context = multiprocessing.get_context(self.start)
        here, there = context.Pipe()
        process = context.Process(  # type: ignore[attr-defined]
            target=_live, args=(factories, timetable, there)
        )
        process.start()
        there.close()
        failure, reports, outcome = here.recv()
        process.join()
        if failure is not None:
            raise failure
        for report in reports:
            observe(report)
        return EngineResult(*outcome)


def _live(factories: Sequence[AgentFactory], timetable: Timetable, line: Connection) -> None:
    reports: list[StepReport] = []
    observe = CombinedObserver(reports.append, AllFinished(len(factories)))
    try:
        outcome = LocalEngine().run(factories, timetable, observe)
    except Exception as failure:
        line.send((failure, None, None))
        return
    states = tuple(dict(state) for state in outcome.states)
    line.send((None, reports, (states, outcome.n_slots, outcome.stop_reason)))
