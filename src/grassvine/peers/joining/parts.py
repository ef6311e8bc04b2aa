"""The parts of a run in which members meet without a timetable.

Sums before, gossip, and sums after are runs of their own, one after another, each with a journal. A
finished part leaves the state in a file of the run's folder, so a restart skips it.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from grassvine.engines.peers.member.walk import OwnClock
from grassvine.foundations.errors import CheckpointError
from grassvine.foundations.files import write_whole
from grassvine.networks.timetable import Timetable
from grassvine.peers.fit.methods import LearnByMeetings
from grassvine.peers.fit.stages import Create, merged
from grassvine.peers.identity.identity import OwnIdentity
from grassvine.peers.joining.meetings import save_meetings
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent, State

Course: TypeAlias = Timetable | OwnClock
MEETINGS = "meetings"  # among the arrays that an agent without a timetable ends with


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a run.

    Attributes
    ----------
    number : int
        Which part it is, from 1.
    n_parts : int
    before : int
        The slots of the parts before; an own update counts as a slot.
    n_slots : int
        The slots of all parts.
    """

    number: int
    n_parts: int
    before: int
    n_slots: int

    def digest(self, plan: bytes) -> bytes:
        """Return a digest of the plan and the part."""
        return hashlib.sha256(b"%bpart %d" % (plan, self.number)).digest()


class RunPart(Protocol):
    """Runs one member until it has finished a part, and returns the state of its agent."""

    def __call__(
        self,
        plan: GroupPlan,
        identity: OwnIdentity,
        create: Callable[[], Agent],
        course: Course,
        journal: Path,
        patience: float,
        /,
        *,
        part: Part,
    ) -> State:
        """Run the member."""
        ...


def courses_of(plan: GroupPlan, number: int) -> tuple[Course, ...]:
    """Return what takes a member through each part; one timetable for a run without parts."""
    method = plan.run_plan.method
    if not isinstance(method, LearnByMeetings):
        return (plan.run_plan.timetable,)
    before, after = method.around(plan.network)
    neighbours, meetings = plan.network.neighbours(number), method.n_meetings(plan.network)
    return before, OwnClock(neighbours, meetings, plan.seed), after


def n_slots_of(courses: tuple[Course, ...]) -> int:
    """Return the number of slots and own updates of all parts."""
    return sum(map(_length, courses))


def run_parts(
    plan: GroupPlan,
    identity: OwnIdentity,
    data: Problem,
    folder: Path,
    patience: float,
    run_part: RunPart,
) -> State:
    """Run a member through all parts that it has not finished, and return its final state."""
    method, number = plan.run_plan.method, plan.number_of(identity.card.name)
    assert isinstance(method, LearnByMeetings)
    courses = courses_of(plan, number)
    state: State = {}
    for part, course, create in _parts(courses, method.stages(plan.run_plan, number, data)):
        path = folder / f"part-{part.number}.safetensors"
        if path.exists():
            state = _read(path)
            continue
        own = dict(
            run_part(
                plan,
                identity,
                partial(create, state),
                course,
                folder / f"part-{part.number}",
                patience,
                part=part,
            )
        )
        if MEETINGS in own:
            save_meetings(folder, plan, own.pop(MEETINGS))
        state = merged(state, own)
        _write(path, state)
    return state


def _parts(
    courses: tuple[Course, ...], creates: tuple[Create, ...]
) -> Iterator[tuple[Part, Course, Create]]:
    before, total = 0, n_slots_of(courses)
    for number, (course, create) in enumerate(zip(courses, creates, strict=True), start=1):
        yield Part(number, len(courses), before, total), course, create
        before += _length(course)


def _length(course: Course) -> int:
    return course.updates if isinstance(course, OwnClock) else course.n_slots


def _write(path: Path, state: State) -> None:
    write_whole(path, save({name: np.ascontiguousarray(one) for name, one in state.items()}))


def _read(path: Path) -> State:
    try:
        return load(path.read_bytes())
    except (SafetensorError, OSError, ValueError) as cause:
        raise CheckpointError(
            f"{path} is damaged ({cause}); restore the folder from a copy, or begin a new plan."
        ) from None
