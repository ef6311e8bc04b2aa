"""An engine for the contract suite: a process per agent, mutual TLS on loopback, journals on disk.

The processes are started once and run one agent after another. They have no common slot at which
to stop, so an observer's reason is found by going through the reports in order; if agents had moved
on by then, they are run again up to that slot. A process may be killed at an event of its member;
another one then goes on from its journal. ``python -m tests.engines.peers.loopback_engine NUMBER``
is such a process; the number is the file descriptor of its line to the engine.
"""

import asyncio
import hashlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from tests.engines.machines import REPOSITORY, THIS, Machine

from grassvine.engines.base import TIMETABLE_OVER, AgentFactory, EngineResult
from grassvine.engines.peers.member.conversation import Agreement
from grassvine.engines.peers.member.events import Effect, Event, Send
from grassvine.engines.peers.member.frames import Data
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.journal import Journal
from grassvine.foundations.errors import AgentError, GrassvineError
from grassvine.networks import Timetable
from grassvine.peers.identity.certificates import self_signed
from grassvine.protocol import Observer, StepReport
from grassvine.protocol.agent import State

TIMEOUT = 240.0  # without a word of any process
PLAN = b"contract" * 4


@dataclass(frozen=True)
class Task:
    """What a process needs to run an agent."""

    number: int
    n_agents: int
    factory: AgentFactory
    timetable: Timetable
    identity: Identity
    neighbours: tuple[Neighbour, ...]
    listen: str
    folder: Path
    checkpoint_bytes: int
    dies_at: int = 0  # the event at which the process is killed


@dataclass
class LoopbackEngine:
    """Runs each agent in a process of its own, which talks to its neighbours over mutual TLS.

    Attributes
    ----------
    kills : mapping of int to int
        The event of a member at which its process is killed.
    n_events : dict
        How many events each member took in the last run.
    killed : list of int
        The members that were killed.
    machines : sequence of Machine
        Where the members run; all on this machine, if empty.
    sent : set of tuples
        Member, slot, offset and digest of all that was sent in the last run, in all lives.
    """

    kills: Mapping[int, int] = field(default_factory=dict)
    n_events: dict[int, int] = field(default_factory=dict)
    killed: list[int] = field(default_factory=list)
    machines: Sequence[Machine] = ()
    sent: set[tuple[int, int, int, str]] = field(default_factory=set)
    checkpoint_bytes: int = 50_000  # so that the small runs of tests have some
    processes: list[tuple["subprocess.Popen[bytes]", "Connection[Any, Any]"]] = field(
        default_factory=list
    )

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run the agents to the end, or up to the slot that the observer asks for."""
        reports, ends, states = self._carry(factories, timetable)
        stop, reason = timetable.n_slots, ""
        finished = dict.fromkeys(range(len(factories)), False)
        for report in sorted(reports, key=lambda report: (report.slot, report.agent)):
            if report.slot >= stop:
                break
            finished[report.agent] = bool(report.finished)
            wish = observe(report)
            if wish and not reason:
                reason, stop = wish, report.slot + 1
        if reason and not all(finished.values()):
            first = timetable.rearranged(np.arange(stop))
            _, ends, states = self._carry(factories, first)
        for end in ends:
            observe(end._replace(slot=stop))
        return EngineResult(tuple(states), stop, reason or TIMETABLE_OVER)

    def close(self) -> None:
        """End the processes."""
        for process, connection in self.processes:
            process.kill()
            process.wait()
            connection.close()
        self.processes.clear()

    @cached_property
    def identities(self) -> list[Identity]:
        """Certificates and keys of up to eight members."""
        return [_identity(number) for number in range(8)]

    def _carry(
        self, factories: Sequence[AgentFactory], timetable: Timetable
    ) -> tuple[list[StepReport], list[StepReport], list[State]]:
        while len(self.processes) < len(factories):
            self.processes.append(self._start(len(self.processes)))
        with tempfile.TemporaryDirectory() as folder:
            tasks = self._tasks(factories, timetable, Path(folder))
            for task, (_, line) in zip(tasks, self.processes, strict=False):
                line.send(task)
            results = self._results(tasks)
            self.sent = {one for task in tasks for one in _noted(task)}
        self.n_events = {number: one[3] for number, one in enumerate(results)}
        return (
            [report for reports, _, _, _ in results for report in reports],
            [end for _, end, _, _ in results],
            [state for _, _, state, _ in results],
        )

    def _results(self, tasks: Sequence[Task]) -> list[Any]:
        found: dict[int, Any] = {}
        while len(found) < len(tasks):
            waiting = {self.processes[n][1]: n for n in range(len(tasks)) if n not in found}
            ready = wait(waiting, timeout=TIMEOUT)
            if not ready:
                self.close()
                raise AssertionError(f"only {sorted(found)} of {len(tasks)} agents came to an end")
            for line in ready:
                number = waiting[line]  # type: ignore[index]
                try:
                    result = self.processes[number][1].recv()
                except EOFError:  # it was killed
                    self._restart(tasks[number])
                    continue
                if isinstance(result, GrassvineError):
                    self.close()  # the others would wait
                    raise result
                found[number] = result
        return [found[number] for number in range(len(tasks))]

    def _restart(self, task: Task) -> None:
        process, line = self.processes[task.number]
        assert process.wait() == -signal.SIGKILL
        line.close()
        self.killed.append(task.number)
        self.processes[task.number] = self._start(task.number)
        self.processes[task.number][1].send(replace(task, dies_at=0))

    def _start(self, number: int) -> tuple["subprocess.Popen[bytes]", "Connection[Any, Any]"]:
        machine = self.machines[number] if self.machines else THIS
        here, there = multiprocessing.Pipe()
        process = subprocess.Popen(
            [machine.python, "-m", "tests.engines.peers.loopback_engine", str(there.fileno())],
            pass_fds=[there.fileno()],
            env=machine.environment,
            cwd=REPOSITORY,
        )
        there.close()
        return process, here

    def _tasks(
        self, factories: Sequence[AgentFactory], timetable: Timetable, folder: Path
    ) -> list[Task]:
        """The member with the greater number dials."""
        addresses = [f"127.0.0.1:{port}" for port in free_ports(len(factories))]
        pairs = set(zip(timetable.senders.tolist(), timetable.receivers.tolist(), strict=True))
        tasks = []
        for number, factory in enumerate(factories):
            others = {other for pair in pairs if number in pair for other in pair} - {number}
            neighbours = tuple(
                Neighbour(
                    other,
                    self.identities[other].name,
                    self.identities[other].certificate,
                    addresses[other] if other < number else None,
                )
                for other in sorted(others)
            )
            tasks.append(
                Task(
                    number,
                    len(factories),
                    factory,
                    timetable,
                    self.identities[number],
                    neighbours,
                    addresses[number],
                    folder / f"{number}",
                    self.checkpoint_bytes,
                    self.kills.get(number, 0),
                )
            )
        return tasks


def serve(line: "Connection[Any, Any]") -> None:
    """Run agents until the other end is closed."""
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        try:
            line.send(run_task(task))
        except AgentError as error:
            line.send(AgentError(error.agent, error.slot, error.cause))
        except GrassvineError as error:
            line.send(type(error)(str(error)))


class Mortal(Member):
    """A member that counts its events and notes what it sends, whose process is killed at one."""

    dies_at = 0
    n_events = 0
    notes = -1  # a file, which survives the process

    def handle(self, event: Event) -> list[Effect]:
        self.n_events += 1
        if self.n_events == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        effects = super().handle(event)
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.frame, Data):
                frame = effect.frame
                digest = hashlib.sha256(frame.body).hexdigest()
                os.write(self.notes, f"{frame.slot} {frame.offset} {digest}\n".encode())
        return effects


def _noted(task: Task) -> Iterator[tuple[int, int, int, str]]:
    for line in _notes_of(task).read_text().splitlines():
        slot, offset, digest = line.split()
        yield task.number, int(slot), int(offset), digest


def _notes_of(task: Task) -> Path:
    return task.folder.with_suffix(".sent")


def run_task(task: Task) -> tuple[list[StepReport], StepReport, State, int]:
    """Run an agent to its end; return its reports, the final one, its state, and its events."""
    journal = Journal.open(task.folder, task.number, PLAN)
    reports = list(journal.reports())
    agreement = Agreement(task.number, [f"m{n}" for n in range(task.n_agents)], PLAN)
    limits = Limits(grace=10.0, checkpoint_bytes=task.checkpoint_bytes)
    member = Mortal(agreement, task.factory, task.timetable, journal.recovered, limits)
    member.dies_at = task.dies_at
    member.notes = os.open(_notes_of(task), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    asyncio.run(
        run_member(
            member,
            task.number,
            task.identity,
            task.neighbours,
            journal,
            listen=task.listen,
            observe=reports.append,
        )
    )
    journal.close()
    os.close(member.notes)
    end = member.agent.conclude(task.timetable.n_slots)
    state = {name: np.array(array) for name, array in member.agent.state().items()}
    return reports, end, state, member.n_events


def _identity(number: int) -> Identity:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Identity(number, f"m{number}", self_signed(key, f"m{number}").encode(), pem)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    # A task names this module, not the one that was started.
    from tests.engines.peers import loopback_engine

    loopback_engine.serve(Connection(int(sys.argv[1])))
