"""The agent of programs over sums: it adds up along a spanning tree."""

import math
from collections.abc import Callable, Iterable, Sequence
from zlib import crc32

import numpy as np

from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.networks.tree import Tree
from grassvine.problems.base import Problem
from grassvine.protocol.agent import State
from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import checked_arrays, require_equal_state
from grassvine.sums.program import Compute, Program, ProgramOutcome, flat, shaped


class SumAgent:
    """An agent that runs a program and adds up along a tree.

    A sum is passed on before the part of the next is computed: all agents compute theirs at the
    same time, whatever the tree.

    It is brought back by its sums: the program is sent them again, and no part is computed but the
    one of the sum under way. A checksum of all sums tells whether they are the right ones, for what
    shapes they have is known only to who computes the parts.
    """

    def __init__(self, number: int, problem: Problem, program: Program, tree: Tree):
        self._id = number
        self._problem = problem
        self._program = program
        self._parent = tree.parents[number]
        self._tree = tree
        self._updates = 0
        self._checksum = 0
        self._finished = ""
        self._total = np.zeros(0)
        self._log_entry: list[Array] = []
        with one_blas_thread():
            part = next(program)
        self._iterate = part.iterate
        self._to_compute: Compute | None = part.compute  # of the sum under way
        self._part = self._partial = np.zeros(0)
        self._shapes: list[tuple[int, ...]] = []

    @property
    def id(self) -> int:
        """Its number."""
        return self._id

    def outgoing(self, slot: int) -> Message:
        """Send up what is known so far, or down what all have; after the last sum, nothing."""
        over = bool(self._finished) and slot >= self._tree.first_slot(self._updates)
        if not (self._tree.is_upward(slot) or over):
            return Message(self._id, slot, {"sum": self._total})
        self._begin()
        return Message(self._id, slot, {"sum": self._partial})

    def expected(self, slot: int) -> Shapes:
        """Accept as many numbers as its own part has."""
        self._begin()
        return {"sum": self._part.shape}

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Compute its part of the sum under way, unless the last one is still to be passed on."""
        forwarded = self._tree.forwarding_slot(self._id, self._updates - 1)
        return self._begin if self._to_compute and slot > forwarded else None

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Add what the children send; with the sum of all, go on with the program.

        A lone agent hears its own part, which is the sum.
        """
        self._begin()
        arrived = [self._numbers_of(message) for message in inbox]
        others = [message for message in inbox if message.sender != self._id]
        self._log_entry = []
        if not self._finished:
            if not others or inbox[0].sender == self._parent:
                self._learn(arrived[0], self._shapes)
            else:
                self._partial = self._part + sum(arrived)
                if self._parent < 0:
                    self._learn(self._partial, self._shapes)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=self._iterate.cost,
            mse=math.nan,
            gradient_norm=self._iterate.gradient_norm,
            neighbour=inbox[0].sender,
            distance=0.0,
            messages=len(others),
            bytes=sum(message.nbytes for message in others),
            finished=self._finished,
        )

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the fitted model on the agent's own data."""
        cost, squared_error = self._iterate.fit_to(self._problem)
        count = self._problem.n_values
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=cost,
            mse=squared_error / count if count else math.nan,
            gradient_norm=self._iterate.gradient_norm,
        )

    def state(self) -> State:
        """Return the arrays of the model and the number of sums."""
        return {**self._iterate.arrays(), "updates": np.array([self._updates], dtype=np.int64)}

    def log_entry(self) -> State:
        """Return the arrays of the sum with which it went on, named by their places, if it did."""
        return {str(place): array for place, array in enumerate(self._log_entry)}

    def snapshot(self) -> State:
        """Return what is known of the sum under way, and by what to know that all were told."""
        self._begin()
        return {**self._learned(), "partial": self._partial}

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Go through the sums again, and compute this agent's part of the one under way."""
        with one_blas_thread():
            for log_entry in log_entries:
                if log_entry:
                    self._relearn(log_entry)
            what, learned = f"the snapshot of agent {self._id}", self._learned()
            shapes = {name: array.shape for name, array in learned.items()}
            size = np.size(snapshot.get("partial", ()))
            told = checked_arrays(snapshot, {**shapes, "partial": (size,)}, what)
            require_equal_state(told, learned, what)
            self._begin()
        if size != self._part.size:
            raise MessageError(
                f"'partial' in {what} has {size} numbers where {self._part.size} belong; "
                "give what the same agent of the same plan told."
            )
        self._partial = told["partial"]

    def _learned(self) -> State:
        return {**self.state(), "checksum": np.array([self._checksum], dtype=np.int64)}

    def _relearn(self, log_entry: State) -> None:
        what = f"log entry {self._updates} of agent {self._id}"
        if self._finished:
            raise MessageError(f"there is a {what}, whose program ended before; leave it out.")
        places = [str(place) for place in range(len(log_entry))]
        shapes = {place: np.shape(log_entry[place]) for place in places if place in log_entry}
        told = checked_arrays(log_entry, shapes, what)
        try:
            self._learn(*flat(list(told.values())))
        except Exception as cause:
            raise MessageError(
                f"the program cannot follow {what} ({cause}); "
                "give what the same agent of the same plan told."
            ) from cause

    def _learn(self, total: Array, shapes: Sequence[tuple[int, ...]]) -> None:
        """Send the program a sum."""
        self._total, self._log_entry = total, shaped(total, shapes)
        self._updates += 1
        self._checksum = crc32(total.data, crc32(repr(shapes).encode(), self._checksum))
        try:
            part = self._program.send(self._log_entry)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            self._iterate, self._finished = ending.iterate, ending.reason
            # The others may need this agent to pass on messages for a while: empty ones.
            self._to_compute = lambda: (np.zeros(0),)
        else:
            self._iterate, self._to_compute = part.iterate, part.compute

    def _begin(self) -> None:
        """Compute its part of the sum under way, if that is not done."""
        if self._to_compute:
            self._part, self._shapes = flat(self._to_compute())
            self._partial, self._to_compute = self._part, None

    def _numbers_of(self, message: Message) -> Array:
        name = f"the sum that agent {message.sender} sent at slot {message.slot}"
        numbers = as_numbers(message.arrays["sum"], name=name, error=MessageError)
        if numbers.shape != self._part.shape:
            raise MessageError(
                f"agent {message.sender} sent {numbers.size} numbers at slot {message.slot} where "
                f"{self._part.size} belong; it follows another plan."
            )
        return numbers
