"""The engine of the contract suite names the earliest failure, however the processes race."""

import multiprocessing
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np
import pytest
from tests.engines.process_engine import ProcessEngine

from grassvine.foundations.errors import AgentError
from grassvine.networks import Timetable
from grassvine.protocol import Message, StepReport

FORK = multiprocessing.get_context("fork")
EARLY, LATE = (0, 1), (2, 3)  # senders and receivers at slots 0 and 2


@dataclass
class Failing:
    """An agent that fails where it first hears of another; agent 1 is too late to say so once."""

    id: int
    attempts: "Synchronized[int]"
    never: Event

    def outgoing(self, slot: int) -> Message:
        return Message(self.id, slot, {"x": np.zeros(1)})

    def expected(self, slot: int) -> dict[str, tuple[int, ...]]:
        return {"x": (1,)}

    def meet(self, slot: int, inbox: list[Message]) -> StepReport:
        if self.id == EARLY[1]:
            self.attempts.value += 1
            if self.attempts.value == 1:
                self.never.wait()
        raise ValueError("spoilt")

    def conclude(self, n_slots: int) -> StepReport:
        return StepReport(self.id, n_slots, 0, 0.0, 0.0, 0.0, neighbour=-1)

    def state(self) -> dict[str, Any]:
        return {}


def test_the_earliest_failure_is_raised_even_if_another_agent_tells_of_its_own_first() -> None:
    attempts, never = FORK.Value("q", 0), FORK.Event()
    timetable = Timetable.from_deliveries(4, [[EARLY], [], [LATE]])
    factories: list[Any] = [lambda i=i: Failing(i, attempts, never) for i in range(4)]
    with pytest.raises(AgentError, match="agent 1 failed at slot 0: ValueError: spoilt"):
        ProcessEngine().run(factories, timetable, lambda report: None)
    assert attempts.value == 2
