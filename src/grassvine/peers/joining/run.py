"""Run one member with its neighbours: plan, keys and journal joined to the engine."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from grassvine.engines.peers.member.conversation import PART, Agreement
from grassvine.engines.peers.member.events import (
    Disconnected,
    Effect,
    Event,
    Received,
    Send,
    Tick,
)
from grassvine.engines.peers.member.frames import Status as StatusFrame
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.member.walk import OwnClock
from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.journal import Journal
from grassvine.engines.peers.transport.links import Traffic
from grassvine.foundations.errors import PlanError
from grassvine.peers.identity.identity import OwnIdentity
from grassvine.peers.identity.signatures import sign_plan, verify_plan
from grassvine.peers.joining.join import RUNS, metrics
from grassvine.peers.joining.parts import MEETINGS, Course, Part, n_slots_of
from grassvine.peers.joining.progress import MemberProgress
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.status import Status, write_status
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.report import StepReport

STATUS_SECONDS = 2.0

log = logging.getLogger("grassvine.peers")


def run_peer(
    plan: GroupPlan,
    identity: OwnIdentity,
    create: Callable[[], Agent],
    course: Course,
    journal: Path,
    patience: float,
    observe: Callable[[StepReport], object] = lambda report: None,
    part: Part | None = None,
) -> State:
    """Run a member until it has finished, and return the final state of its agent.

    SIGTERM and Ctrl-C end the run cleanly; started again, it goes on where it was. Without a
    timetable the state has the meetings, too.
    """
    name = identity.card.name
    number = plan.number_of(name)
    part = part or Part(1, 1, 0, n_slots_of((course,)))
    agreement = agreement_of(plan, identity, part)
    records = Journal.open(journal, number, agreement.plan)
    try:
        limits, linked = Limits(patience=patience), plan.network.neighbours(number)
        member = Member(agreement, create, course, records.recovered, limits, linked)
        told = _Told(member, plan, identity, part)

        def report(one: StepReport) -> None:
            counted = one._replace(slot=part.before + one.slot)
            told.progress.report(counted, told.traffic)
            observe(counted)

        try:
            asyncio.run(_run(told, plan, identity, records, report))
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt | SystemExit)
            told.write("stopped", "it was stopped from outside" if stopped else str(error))
            raise
        state = dict(member.agent.state())
        if part.number == part.n_parts:
            told.write("finished", held_out_error=metrics(state).get("held_out_rmse"))
        if isinstance(course, OwnClock):
            state[MEETINGS] = np.array(member.meetings, dtype=np.int64).reshape(-1, 2)
        return state
    finally:
        records.close()


def agreement_of(plan: GroupPlan, identity: OwnIdentity, part: Part | None = None) -> Agreement:
    """Return what the members have agreed on, with this member's signature."""
    digest, digests = plan.digest, plan.digests
    if part is not None and part.n_parts > 1:
        digest = part.digest(digest)
        digests = {**digests, PART: digest}

    def verified(member: int, signature: bytes) -> bool:
        try:
            verify_plan(plan.members[member], digest, signature)
        except PlanError:
            return False
        return True

    return Agreement(
        member=plan.number_of(identity.card.name),
        names=[card.name for card in plan.members],
        plan=digest,
        digests=digests,
        signature=sign_plan(identity.key, digest),
        verify=verified,
        max_message=plan.limits.message_bytes,
    )


def neighbours_of(plan: GroupPlan, name: str) -> list[Neighbour]:
    """Return the neighbours of a member, with an address where it dials."""
    dialled = set(plan.dials(name))
    return [
        Neighbour(
            number=plan.number_of(other),
            name=other,
            certificate=plan.members[plan.number_of(other)].certificate.encode(),
            address=plan.members[plan.number_of(other)].address if other in dialled else None,
        )
        for other in sorted({*dialled, *plan.dialled_by(name)})
    ]


async def _run(
    told: "_Told",
    plan: GroupPlan,
    identity: OwnIdentity,
    journal: Journal,
    observe: Callable[[StepReport], object],
) -> None:
    name = identity.card.name
    own = Identity(plan.number_of(name), name, identity.card.certificate.encode(), identity.key_pem)
    listens = identity.card.address if plan.dialled_by(name) else None
    running = asyncio.ensure_future(
        run_member(
            told,
            own.number,
            own,
            neighbours_of(plan, name),
            journal,
            listen=listens and bind_address(listens),
            observe=observe,
            seed=plan.seed,
            traffic=told.traffic,
        )
    )
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        running.cancel()

    with suppress(NotImplementedError, ValueError):  # not on Windows, nor outside the main thread
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        await running
    except asyncio.CancelledError:
        if not stopped:
            raise
        log.warning("the run was stopped; run the same command again, and it goes on where it was")
        raise SystemExit(128 + signal.SIGTERM) from None


def bind_address(address: str) -> str:
    """Return where to listen for an address that others dial: its port, on all interfaces.

    A name may belong to a router in front of this computer. An address of this computer alone stays
    as it is.
    """
    host, _, port = address.rpartition(":")
    return address if host in ("127.0.0.1", "[::1]", "localhost") else f"[::]:{port}"


class _Told:
    """A member that tells where it is, in its status file."""

    def __init__(self, member: Member, plan: GroupPlan, identity: OwnIdentity, part: Part):
        self._member = member
        self._plan = plan
        self._identity = identity
        self._part = part
        self._written = 0.0
        self._clocks: dict[int, float] = {}
        self._lost: set[int] = set()  # neighbours whose link has ended
        self.traffic: dict[int, Traffic] = {}
        folder = identity.folder / RUNS / plan.digest.hex()
        self.progress = MemberProgress(folder, plan, plan.number_of(identity.card.name), part)

    def start(self) -> Sequence[Effect]:
        """Begin."""
        return self._member.start()

    def handle(self, event: Event) -> Sequence[Effect]:
        """Pass an event on; what the member sends about itself gets the time of the clock."""
        if isinstance(event, Disconnected | Received):
            self._note_link(event)
        effects = [_with_time(effect) for effect in self._member.handle(event)]
        if isinstance(event, Received) and isinstance(event.frame, StatusFrame):
            self._clocks[event.neighbour] = event.frame.clock - time.time()
        if isinstance(event, Tick) and event.now >= self._written + STATUS_SECONDS:
            self._written = event.now
            self.write(self._state())
        return effects

    def write(self, state: str, reason: str = "", held_out_error: float | None = None) -> None:
        """Write the status file."""
        member, names = self._member, [card.name for card in self._plan.members]
        status = Status(
            member=self._identity.card.name,
            plan=self._plan.digest.hex(),
            pid=os.getpid(),
            updated=time.time(),
            slot=self._part.before + member.slot,
            n_slots=self._part.n_slots,
            state=state,
            connected=tuple(
                names[other] for other, one in member.conversations.items() if one.greeted
            ),
            waiting_for=()
            if state == "finished"
            else tuple(names[other] for other in member.waiting_for),
            bytes_sent=sum(one.bytes_sent for one in self.traffic.values()),
            bytes_received=sum(one.bytes_received for one in self.traffic.values()),
            held_out_error=held_out_error,
            reason=reason,
            clocks={names[other]: round(ahead, 3) for other, ahead in self._clocks.items()},
        )
        write_status(self._identity.folder, status)
        self.progress.write(status, self.traffic)

    def _note_link(self, event: Disconnected | Received) -> None:
        """Note as incidents that the link to a neighbour has ended, and that it is open again."""
        other = event.neighbour
        name, slot = self._plan.members[other].name, self._part.before + self._member.slot
        if isinstance(event, Received):
            if other in self._lost:
                self._lost.remove(other)
                self.progress.incident(f"the link to {name} is open again", slot)
        elif self._member.conversations[other].greeted and not self._member.finished:
            self._lost.add(other)
            self.progress.incident(f"the link to {name} has ended", slot)

    def _state(self) -> str:
        if self._member.finished and self._part.number == self._part.n_parts:
            return "finished"
        if not any(one.greeted for one in self._member.conversations.values()):
            return "connecting"
        return "waiting" if self._member.waiting_for else "running"


def _with_time(effect: Effect) -> Effect:
    if isinstance(effect, Send) and isinstance(effect.frame, StatusFrame):
        return Send(effect.neighbour, replace(effect.frame, clock=time.time()))
    return effect
