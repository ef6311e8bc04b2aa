"""Agents whose methods follow one another on one timetable.

Each stage has slots of its own and an agent that counts them from 0; it is created from the states
of the stages before. Nothing is sent between stages.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError, MessageError
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import as_counts, checked_arrays

# Creates the agent of a stage from the merged states of the stages before.
Create: TypeAlias = Callable[[State], Agent]
STAGE, INHERITED, OWN, UPDATES = "stage", "inherited.", "agent.", "updates"


def one_after_another(timetables: Sequence[Timetable]) -> Timetable:
    """Return a timetable with the slots of several, in order."""
    counts = np.concatenate([np.diff(one.offsets) for one in timetables])
    return Timetable(
        timetables[0].n_agents,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([one.senders for one in timetables]),
        np.concatenate([one.receivers for one in timetables]),
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """The agent of a stage, and the merged states of the stages before."""

    number: int
    agent: Agent
    inherited: State

    @property
    def updates_before(self) -> int:
        """The number of updates in the stages before."""
        return int(self.inherited[UPDATES][0]) if self.inherited else 0

    def state(self) -> State:
        """Return the states of all stages so far, the latest first in case of equal names."""
        return merged(self.inherited, self.agent.state())


def merged(before: State, own: State) -> State:
    """Return the state of the stages before with that of a further one; updates are added up."""
    n_before = int(before[UPDATES][0]) if before else 0
    updates = np.array([n_before + int(own[UPDATES][0])], dtype=np.int64)
    return {**before, **own, UPDATES: updates}


class StagedAgent:
    """An agent that is one agent after another.

    The agent of the next stage is created at its first slot, and takes the place of the last one at
    its first meeting: no other call changes the state.

    Parameters
    ----------
    number : int
    starts : sequence of int
        The first slot of each stage.
    creates : sequence of functions
        Create the agents of the stages.
    """

    def __init__(self, number: int, starts: Sequence[int], creates: Sequence[Create]):
        self._id = number
        self._starts = tuple(starts)
        self._creates = tuple(creates)
        self._current = Stage(0, creates[0]({}), {})
        self._coming: Stage | None = None

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Return what the agent of the stage can compute without messages."""
        return self._at(slot).agent.precompute(self._within(slot))

    def outgoing(self, slot: int) -> Message:
        """Return the message of the agent of the stage."""
        message = self._at(slot).agent.outgoing(self._within(slot))
        return Message(self._id, slot, message.arrays)

    def expected(self, slot: int) -> Shapes:
        """Return what the agent of the stage accepts."""
        return self._at(slot).agent.expected(self._within(slot))

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Pass the messages on; the agent has finished if the agent of the last stage has."""
        self._current, self._coming = self._at(slot), None
        within = self._within(slot)
        messages = [Message(one.sender, within, one.arrays) for one in inbox]
        return self._report(slot, self._current.agent.meet(within, messages))

    def conclude(self, slot: int) -> StepReport:
        """Report the final state of the agent of the current stage."""
        return self._report(slot, self._current.agent.conclude(self._within(slot)))

    def state(self) -> State:
        """Return the states of all stages so far."""
        return self._current.state()

    def log_entry(self) -> State:
        """Return the entry of the agent of the stage, with its number."""
        entry = self._current.agent.log_entry()
        return {f"{self._current.number}.{name}": array for name, array in entry.items()}

    def snapshot(self) -> State:
        """Return the snapshot of the agent of the stage, and the states of the stages before."""
        stage = self._current
        return {
            STAGE: np.array([stage.number], dtype=np.int64),
            **{f"{INHERITED}{name}": array for name, array in stage.inherited.items()},
            **{f"{OWN}{name}": array for name, array in stage.agent.snapshot().items()},
        }

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Create the agent of the stage and restore it; entries of stages before are skipped."""
        what = f"the snapshot of agent {self._id}"
        if STAGE not in snapshot:
            raise MessageError(f"{what} names no stage; pass what the same agent recorded.")
        (number,) = as_counts(
            checked_arrays({STAGE: snapshot[STAGE]}, {STAGE: (1,)}, what)[STAGE], what
        )
        if number >= len(self._creates):
            raise MessageError(f"{what} is of stage {number}; pass what the same agent recorded.")
        given = {
            name.removeprefix(INHERITED): np.asarray(array)
            for name, array in snapshot.items()
            if name.startswith(INHERITED)
        }
        inherited: State = checked_arrays(
            given, {name: array.shape for name, array in given.items()}, what
        )
        if number:
            inherited = {**inherited, UPDATES: _counts(inherited, what)}
            try:
                self._current = Stage(number, self._creates[number](inherited), inherited)
            except (KeyError, InputError) as cause:
                raise MessageError(
                    f"{what} does not fit the plan ({cause}); pass what the same agent recorded."
                ) from None
        own = {
            name.removeprefix(OWN): array
            for name, array in snapshot.items()
            if name.startswith(OWN)
        }
        mark = f"{number}."
        entries = (
            {
                name.removeprefix(mark): array
                for name, array in entry.items()
                if name.startswith(mark)
            }
            for entry in log_entries
        )
        self._current.agent.restore((entry for entry in entries if entry), own)
        self._coming = None

    def _at(self, slot: int) -> Stage:
        """Return the stage of a slot; an agent may have had no meeting in the stage before."""
        stage = self._current
        if self._coming is not None and slot >= self._starts[self._coming.number]:
            stage = self._coming
        while stage.number + 1 < len(self._starts) and slot >= self._starts[stage.number + 1]:
            number, inherited = stage.number + 1, stage.state()
            self._coming = stage = Stage(number, self._creates[number](inherited), inherited)
        return stage

    def _within(self, slot: int) -> int:
        return slot - max(start for start in self._starts if start <= slot)

    def _report(self, slot: int, report: StepReport) -> StepReport:
        last = self._current.number == len(self._starts) - 1
        return report._replace(
            slot=slot,
            update=self._current.updates_before + report.update,
            finished=report.finished if last else "",
            share=math.nan,
        )


def _counts(inherited: State, what: str) -> Array:
    if UPDATES not in inherited or inherited[UPDATES].shape != (1,):
        raise MessageError(f"{what} does not count updates; pass what the same agent recorded.")
    return np.array(as_counts(inherited[UPDATES].astype(np.float64), what), dtype=np.int64)
