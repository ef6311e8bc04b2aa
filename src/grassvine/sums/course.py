"""The course of a program, which the agents of one process follow together.

All agents are sent the same totals, so a program that has no data of its own takes the same course
for each of them. It is run once: the first agent of a process that has a total advances the
program, and the others find what follows from it. A step is forgotten when all agents are past it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from threading import Lock
from typing import Any
from weakref import ref
from zlib import crc32

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.problems.base import Problem
from grassvine.protocol.agent import State
from grassvine.protocol.message import SAME_PLAN
from grassvine.sums.decisions import Decisions, packed
from grassvine.sums.program import (
    Iterate,
    Part,
    Program,
    ProgramOutcome,
    first_part,
    kind_of,
    next_part,
    shaped,
)

Shapes = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Where a program is after some of its sums.

    Attributes
    ----------
    part : Part
        How to compute a part of the next sum; empty at the end of the program.
    finished : str
        Why the program ended; empty before.
    n_sums : int
        The number of sums so far.
    checksum : int
        Of all totals and decisions.
    decisions : list of float
        The decisions since the last total.
    checksum_message, message : array
        The checksum and the decisions, as they are sent.
    logged : dict of arrays
        The last total, by position, and the decisions.
    kind : str
        Names the quantities of the next sum.
    """

    part: Part
    finished: str = ""
    n_sums: int = 0
    checksum: int = 0
    decisions: Sequence[float] = ()
    checksum_message: Array = field(default_factory=lambda: np.zeros(1))
    message: Array = field(default_factory=lambda: packed([]))
    logged: State = field(default_factory=dict)
    kind: str = ""

    @property
    def iterate(self) -> Iterate:
        """The current iterate."""
        return self.part.iterate


class Place:
    """A place in a course: a step, and what follows from the total of the next sum."""

    __slots__ = ("__weakref__", "_course", "_next", "_step", "_total")

    def __init__(self, course: "Course", step: Step | None = None):
        self._course = course
        self._step = step
        self._total: tuple[Array, Shapes] = np.zeros(0), ()
        self._next: Place | None = None

    @property
    def step(self) -> Step:
        """The step here."""
        if self._step is None:
            with self._course.lock:
                self._step = self._step or self._course.begin()
        return self._step

    def after(
        self, total: Array, shapes: Shapes, given: Sequence[float] | None, agent: int
    ) -> "Place":
        """Return the place after a total, with the decisions given or those that are due.

        ``agent`` is the agent that asks.
        """
        step = self.step
        with self._course.lock:
            if self._next is None:
                found = self._course.advanced(step, total, shapes, given, agent)
                self._total, self._next = (total, list(shapes)), Place(self._course, found)
                return self._next
        known, of_shapes = self._total
        if of_shapes != list(shapes) or not _same_bits(known, total):
            raise _strayed(agent, step, "another total")
        if given is not None and given != self._next.step.decisions:
            # Names the decision that is missing or superfluous, if there is one.
            follower = Decisions(agent, step.n_sums, given)
            for value in self._next.step.decisions:
                follower.decide(value)
            follower.require_all()
            raise _strayed(agent, step, "other decisions")
        return self._next


class Course:
    """One run of a program, as far as an agent has come."""

    def __init__(self, program: Program):
        self.lock = Lock()
        self._program = program

    def begin(self) -> Step:
        """Return the first step."""
        with one_blas_thread():
            part = first_part(self._program)
        return Step(part, kind=kind_of(part.compute))

    def advanced(
        self, step: Step, total: Array, shapes: Shapes, given: Sequence[float] | None, agent: int
    ) -> Step:
        """Send the program a total, decide or follow the decisions given; return the next step."""
        arrays, decisions = shaped(total, shapes), Decisions(agent, step.n_sums, given)
        finished = ""
        try:
            part = next_part(self._program, arrays, decisions.decide)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            finished = ending.reason
            # Other agents may still need this one to forward messages, now empty.
            part = Part(_nothing, ending.iterate)
        decisions.require_all()
        taken = np.array(decisions.taken, dtype=np.float64)
        checksum = crc32(total.data, crc32(repr(list(shapes)).encode(), step.checksum))
        checksum = crc32(taken.data, checksum)
        logged = {str(place): array for place, array in enumerate(arrays)}
        return Step(
            part,
            finished,
            step.n_sums + 1,
            checksum,
            decisions.taken,
            np.array([checksum], dtype=np.float64),
            packed(decisions.taken),
            {**logged, "decisions": taken},
            kind_of(part.compute),
        )


class SharedPrograms:
    """The programs of the agents that one process runs, by what programs see of their problems."""

    def __init__(self) -> None:
        self._starts: list[tuple[Any, ref[Place]]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """Share nothing with another process."""
        return SharedPrograms, ()

    def join(self, problem: Problem, start: Place) -> Place:
        """Return where an agent with a problem starts: with others of its kind, or alone."""
        kind = _kind(problem)
        self._starts = [one for one in self._starts if one[1]() is not None]
        for other, known in self._starts:
            place = known()
            if place is not None and other == kind:
                return place
        self._starts.append((kind, ref(start)))
        return start


def _kind(problem: Problem) -> tuple[Any, ...]:
    """Return the type of a problem and its options, without the data."""
    names = [one.name for one in fields(problem)] if is_dataclass(problem) else vars(problem)
    given = {name: getattr(problem, name) for name in names}
    options = {
        name: one for name, one in given.items() if isinstance(one, bool | int | float | str)
    }
    return type(problem), problem.n_items, options


def _nothing(data: object) -> tuple[Array]:
    return (np.zeros(0),)


def _same_bits(one: Array, other: Array) -> bool:
    return one is other or (
        one.shape == other.shape and np.array_equal(one.view(np.uint64), other.view(np.uint64))
    )


def _strayed(agent: int, step: Step, what: str) -> MessageError:
    return MessageError(
        f"agent {agent} got {what} for sum {step.n_sums} than other agents of its process; "
        f"{SAME_PLAN}"
    )
