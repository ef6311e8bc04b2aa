"""Methods made of averages: all agents run one program, and hear their neighbours only.

A program is a generator that yields what it sends to all neighbours and is sent what they send. All
agents run it in step. :func:`mix` averages arrays over the network in several rounds.
"""

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.geometry import Grassmann
from grassvine.gossip.agent import State
from grassvine.gossip.message import Message, Shapes
from grassvine.gossip.recalled import as_counts, recalled, require_same
from grassvine.gossip.report import StepReport
from grassvine.network.mixing import Mixing
from grassvine.problems.base import Evaluation, LocalProblem

if TYPE_CHECKING:
    from grassvine.gossip.plan import Plan

# The array of a message whose columns span the sender's subspace; by it neighbours are compared.
FRAME = "frame"

Arrays: TypeAlias = Mapping[str, Array]
Inbox: TypeAlias = Mapping[int, Arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where a program stands, what the agent's task says there, and how it came there."""

    basis: Array
    evaluation: Evaluation
    gradient_norm: float
    step: float = 0.0
    updates: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """What a program sends to all neighbours, and where it stands.

    In the later rounds of a mixing the frames are half mixed and say nothing of how far agents
    are apart: then ``fresh`` is False.
    """

    arrays: Arrays
    standing: Standing
    fresh: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """Where a program ended, and why."""

    standing: Standing
    reason: str


# Yields what it sends to all neighbours; is sent what they send, by sender.
Program: TypeAlias = Generator[Exchange, Inbox, Ending]


class NeighbourAgent:
    """An agent that runs a program and at every slot tells all its neighbours the same.

    All agents run the same program in step: a message has the shapes of one's own.
    """

    def __init__(self, number: int, problem: LocalProblem, program: Program):
        self._id = number
        self._problem = problem
        self._program = program
        self._finished = ""
        self._heard: Inbox = {}  # at the last meeting
        self._n_heard = self._checksum = 0
        self._farthest = (-1, math.nan)  # the neighbour whose subspace is, and its distance
        with one_blas_thread():
            self._exchange = next(program)

    @property
    def id(self) -> int:
        """Its number."""
        return self._id

    def preparation(self, slot: int) -> None:
        """Return nothing: all that it does depends on whom it hears."""

    def outgoing(self, slot: int) -> Message:
        """Send what the program has to say; nothing after its end."""
        return Message(self._id, slot, self._exchange.arrays)

    def expected(self, slot: int) -> Shapes:
        """Accept arrays like its own."""
        return {name: array.shape for name, array in self._exchange.arrays.items()}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Go on with the program."""
        arrived = {message.sender: self._arrays_of(message) for message in inbox}
        standing = self._exchange.standing
        self._hear(arrived)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=standing.updates,
            cost=standing.evaluation.cost,
            mse=self._mse(standing.evaluation),
            gradient_norm=standing.gradient_norm,
            neighbour=self._farthest[0],
            distance=self._farthest[1],
            step=standing.step,
            messages=len(inbox),
            bytes=sum(message.nbytes for message in inbox),
            finished=self._finished,
        )

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the task at the final basis."""
        evaluation = self._problem.evaluate(self._exchange.standing.basis)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._exchange.standing.updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=self._exchange.standing.gradient_norm,
        )

    def state(self) -> State:
        """Return the basis and the number of updates."""
        updates = np.array([self._exchange.standing.updates], dtype=np.int64)
        return {"basis": self._exchange.standing.basis, "updates": updates}

    def lesson(self) -> State:
        """Return who sent something, and what arrived, by name and one after the other."""
        if not self._heard:
            return {}
        names = next(iter(self._heard.values()))
        stacked = {
            name: np.stack([arrays[name] for arrays in self._heard.values()]) for name in names
        }
        return {"senders": np.array(list(self._heard), dtype=np.int64), **stacked}

    def memory(self) -> State:
        """Return where it stands, and a checksum by which it knows whether all was told."""
        return {**self.state(), "checksum": np.array([self._checksum], dtype=np.int64)}

    def recall(self, lessons: Iterable[State], memory: State) -> None:
        """Hear everything again.

        All is computed anew, the passes over the data too: what an agent sends depends on them, and
        nobody else knows what they found.
        """
        with one_blas_thread():
            for lesson in lessons:
                if lesson:
                    self._hear(self._inbox_of(lesson))
        what, stands = f"the memory of agent {self._id}", self.memory()
        shapes = {name: array.shape for name, array in stands.items()}
        require_same(recalled(memory, shapes, what), stands, what)

    def _hear(self, arrived: Inbox) -> None:
        """Look around and go on with the program, if it has not ended."""
        self._heard = {}
        if not self._finished:
            self._look_around(arrived)
            self._go_on(arrived)
            self._heard = arrived
            self._n_heard += 1
            for sender, arrays in arrived.items():
                for name, array in arrays.items():
                    told = f"{sender} {name} {array.shape}".encode()
                    self._checksum = crc32(array.tobytes(), crc32(told, self._checksum))

    def _go_on(self, arrived: Inbox) -> None:
        try:
            self._exchange = self._program.send(arrived)
        except StopIteration as end:
            ending: Ending = end.value
            self._exchange, self._finished = Exchange({}, ending.standing), ending.reason

    def _look_around(self, arrived: Inbox) -> None:
        """Find the neighbour whose subspace is farthest; before any was seen, it is the first."""
        arrays = self._exchange.arrays
        if self._farthest[0] < 0:
            self._farthest = (min(arrived), math.nan)
        if FRAME in arrays and self._exchange.fresh:
            own = np.linalg.qr(arrays[FRAME])[0]
            self._farthest = max(
                (
                    (sender, Grassmann().distance(own, np.linalg.qr(other[FRAME])[0]))
                    for sender, other in arrived.items()
                ),
                key=lambda pair: pair[1],
            )

    def _inbox_of(self, lesson: State) -> Inbox:
        what = f"lesson {self._n_heard} of agent {self._id}"
        count = np.size(lesson.get("senders", ()))
        shapes = {name: (count, *shape) for name, shape in self.expected(self._n_heard).items()}
        told = recalled(lesson, {"senders": (count,), **shapes}, what)
        senders = as_counts(told["senders"], what)
        if senders != sorted(set(senders)):
            raise MessageError(
                f"the senders of {what} are {senders}; give each once, in ascending order."
            )
        return {
            sender: {name: told[name][place].copy() for name in shapes}
            for place, sender in enumerate(senders)
        }

    def _arrays_of(self, message: Message) -> Arrays:
        where = f"that agent {message.sender} sent at slot {message.slot}"
        arrays = {}
        for name, shape in self.expected(message.slot).items():
            if name not in message.arrays:
                raise MessageError(f"there is no {name} in the message {where}; mend the sender.")
            array = as_numbers(message.arrays[name], name=f"the {name} {where}", error=MessageError)
            if array.shape != shape or not np.isfinite(array).all():
                raise MessageError(
                    f"the {name} {where} is of shape {array.shape} where {shape} was expected, or "
                    "not finite; the sender follows another plan, or its steps are too long."
                )
            arrays[name] = array
        return arrays

    def _mse(self, evaluation: Evaluation) -> float:
        count = self._problem.n_values
        return evaluation.squared_error / count if count else math.nan


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """What came of a mixing: averages, and whether all were content when it began.

    ``distance`` is how far the farthest neighbour's frame was from one's own, relative to that.
    """

    arrays: Arrays
    distance: float
    all_content: bool


MixingRounds: TypeAlias = Generator[Exchange, Inbox, Mixed]


def mix(
    mixing: Mixing, number: int, arrays: Arrays, standing: Standing, content: bool = False
) -> MixingRounds:
    """Average arrays with all others, nearly; for use with ``yield from``."""
    now = before = arrays
    least, distance = float(content), 0.0
    for turn in range(mixing.n_rounds):
        sent = {**now, "content": np.array([least])}
        arrived = yield Exchange(sent, standing, fresh=turn == 0)
        if turn == 0 and FRAME in arrays:
            gaps = [np.linalg.norm(other[FRAME] - now[FRAME]) for other in arrived.values()]
            distance = float(max(gaps) / np.linalg.norm(now[FRAME]))
        least = min(least, *(float(other["content"][0]) for other in arrived.values()))
        mixed = {}
        for name, own in now.items():
            others = {sender: other[name] for sender, other in arrived.items()}
            mixed[name] = mixing.round(number, own, before[name], others)
        now, before = mixed, now
    return Mixed(now, distance, least > 0.0)


def polar(matrix: Array) -> Array:
    """Return Z(ZᵀZ)^{−½}, the orthonormal matrix nearest to Z."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.ascontiguousarray(left @ right)


def require_subspaces(plan: "Plan", name: str) -> None:
    """Refuse a plan whose points are no subspaces."""
    if not isinstance(plan.geometry, Grassmann):
        raise PlanError(
            f"{name} averages orthonormal bases; use the plan's default geometry, Grassmann()."
        )
