"""Agents: all that an engine may know of a method."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError
from grassvine.geometry import Geometry
from grassvine.gossip.message import Message, Shapes
from grassvine.gossip.recalled import as_counts, recalled, refuse_lessons
from grassvine.gossip.report import StepReport
from grassvine.gossip.step import gossip_step
from grassvine.problems.base import Evaluation, LocalProblem

if TYPE_CHECKING:
    from grassvine.gossip.method import Gossip

State = Mapping[str, NDArray[np.generic]]


class Agent(Protocol):
    """Says what it sends, takes what it receives; knows how to move, never where it runs.

    An agent that has reported that it is ``finished`` does not move any more: further meetings
    leave its state, its memory and what it concludes as they are.

    An agent whose process died is brought back by making it anew, from the same plan and data,
    and telling it again what it learned: the lessons of its meetings, in order, and its memory.
    Both may hold what is private; they are for whoever holds the data.
    """

    @property
    def id(self) -> int:
        """Its number."""
        ...

    def preparation(self, slot: int) -> Callable[[], None] | None:
        """Return what it can do before a slot without hearing anybody, or None.

        An engine may let many agents do so at once, or none: what is not prepared is done when it
        is needed, and nothing else can be seen of it.
        """
        ...

    def outgoing(self, slot: int) -> Message:
        """Return what it sends at a slot; has no side effect."""
        ...

    def expected(self, slot: int) -> Shapes:
        """Return the names and shapes of the arrays that it accepts at a slot."""
        ...

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Take the messages of a slot, sorted by sender, and move: the only mutation in a run."""
        ...

    def conclude(self, slot: int) -> StepReport:
        """Report the state after the last slot; does not move."""
        ...

    def state(self) -> State:
        """Return what it has learned, as named arrays."""
        ...

    def lesson(self) -> State:
        """Return what the last meeting taught that :meth:`memory` does not tell; often nothing.

        It is asked right after the meeting, and has no side effect: an agent keeps no lessons.
        """
        ...

    def memory(self) -> State:
        """Return the rest of what an agent made anew must be told; has no side effect.

        It may be asked between any two slots.
        """
        ...

    def recall(self, lessons: Iterable[State], memory: State) -> None:
        """Bring an agent that was just made to where the one stood that told this.

        From then on it sends, accepts, reports and tells the same bits. Lessons are taken one at a
        time; empty ones may be left out. An agent that refuses what it is told is of no use.
        """
        ...


class GossipAgent:
    """An agent of the paper's gossip: its state is one basis and the number of its updates."""

    def __init__(
        self,
        number: int,
        problem: LocalProblem,
        start: Array,
        degree: int,
        method: "Gossip",
        geometry: Geometry,
    ):
        self._id = number
        self._problem = problem
        self._basis = start
        self._degree = degree
        self._method = method
        self._geometry = geometry
        self._updates = 0

    @property
    def id(self) -> int:
        """Its number."""
        return self._id

    def preparation(self, slot: int) -> None:
        """Return nothing: all that it does depends on whom it hears."""

    def outgoing(self, slot: int) -> Message:
        """Send the basis."""
        return Message(self._id, slot, {"basis": self._basis})

    def expected(self, slot: int) -> Shapes:
        """Accept a basis."""
        n_items, rank = self._basis.shape
        return {"basis": (n_items, rank)}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Evaluate the task once and step."""
        neighbours = [self._point_of(message) for message in inbox]
        evaluation = self._problem.evaluate(self._basis)
        move = gossip_step(
            self._geometry,
            self._method,
            self._basis,
            evaluation,
            neighbours,
            degree=self._degree,
            slot=self._updates if self._method.clock == "own" else slot,
        )
        farthest = max(range(len(inbox)), key=move.distances.__getitem__)
        report = StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=move.gradient_norm,
            neighbour=inbox[farthest].sender,
            distance=move.distances[farthest],
            step=move.step,
            messages=len(inbox),
            bytes=sum(message.nbytes for message in inbox),
        )
        self._basis = move.point
        self._updates += 1
        return report

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the task once more, at the final basis."""
        evaluation = self._problem.evaluate(self._basis)
        gradient = self._geometry.project(self._basis, evaluation.gradient)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=float(np.linalg.norm(gradient)),
        )

    def state(self) -> State:
        """Return the basis and the number of updates."""
        return {"basis": self._basis, "updates": np.array([self._updates], dtype=np.int64)}

    def lesson(self) -> State:
        """Return nothing: the basis tells what was learned."""
        return {}

    def memory(self) -> State:
        """Return the state, which is all that moves."""
        return self.state()

    def recall(self, lessons: Iterable[State], memory: State) -> None:
        """Take basis and number of updates."""
        refuse_lessons(lessons, self._id)
        what = f"the memory of agent {self._id}"
        n_items, rank = self._basis.shape
        told = recalled(memory, {"basis": (n_items, rank), "updates": (1,)}, what)
        self._basis = self._geometry.as_point(
            told["basis"], n_items=n_items, rank=rank, name=f"'basis' in {what}", error=MessageError
        )
        (self._updates,) = as_counts(told["updates"], what)

    def _point_of(self, message: Message) -> Array:
        n_items, rank = self._basis.shape
        return self._geometry.as_point(
            message.arrays["basis"],
            n_items=n_items,
            rank=rank,
            name=f"the basis that agent {message.sender} sent at slot {message.slot}",
            error=MessageError,
        )

    def _mse(self, evaluation: Evaluation) -> float:
        count = self._problem.n_values
        return evaluation.squared_error / count if count else math.nan
