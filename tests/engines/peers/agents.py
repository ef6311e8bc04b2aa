"""Agents that cost nothing, whose states show every message that was lost, doubled or swapped."""

from collections.abc import Iterable, Sequence

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.networks import Timetable
from grassvine.protocol import Message, StepReport
from grassvine.protocol.agent import State
from grassvine.protocol.message import Shapes

SIZE = 3


class MixingAgent:
    """Its state is a vector, mixed with all messages of a slot in an order that matters.

    With ``logs`` it is restored from its log entries, as agents of sums are; otherwise from its
    snapshot. It finishes at the slot ``ends`` if one is given.
    """

    def __init__(self, number: int, timetable: Timetable, *, logs: bool = False, ends: int = -1):
        self.number, self.logs, self.ends = number, logs, ends
        self.vector: Array = np.arange(1.0, SIZE + 1.0) * (number + 1)
        self.n_meetings = 0
        self.last: list[Array] = []
        self.over = False

    @property
    def id(self) -> int:
        return self.number

    def precompute(self, slot: int) -> None:
        return None

    def outgoing(self, slot: int) -> Message:
        return Message(self.number, slot, {"x": self.vector})

    def expected(self, slot: int) -> Shapes:
        return {"x": (SIZE,)}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        self.last = []
        if not self.over:
            self.mix([message.arrays["x"] for message in inbox])
            self.over = slot >= self.ends >= 0
        finished = "enough" if self.over else ""
        cost = float(self.vector.sum())
        return StepReport(
            self.number, slot, self.n_meetings, cost, 0.0, 0.0, inbox[0].sender, finished=finished
        )

    def mix(self, arrived: list[Array]) -> None:
        self.last = arrived
        for place, other in enumerate(arrived):
            self.vector = np.mod(1.7 * self.vector + (place + 1.3) * other[::-1] + 0.1, 97.0)
        self.n_meetings += 1

    def conclude(self, slot: int) -> StepReport:
        return StepReport(self.number, slot, self.n_meetings, float(self.vector.sum()), 0.0, 0.0)

    def state(self) -> State:
        return {"basis": self.vector, "meetings": np.array([self.n_meetings])}

    def log_entry(self) -> State:
        return {str(place): one for place, one in enumerate(self.last)} if self.logs else {}

    def snapshot(self) -> State:
        return {**self.state(), "over": np.array([self.over])}

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        for log_entry in log_entries:
            if log_entry:
                self.mix([np.array(log_entry[key]) for key in sorted(log_entry)])
        if self.logs:
            assert self.vector.tobytes() == np.array(snapshot["basis"]).tobytes()
        self.vector = np.array(snapshot["basis"])
        self.n_meetings = int(snapshot["meetings"][0])
        self.over = bool(snapshot["over"][0])
