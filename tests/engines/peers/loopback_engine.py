"""An engine for the contract suite: one process per agent, mutual TLS on loopback, journals on disk.

The processes are started once and run one agent after another. They have no common slot at which to
stop, so an observer's reason is found by going through the reports in order; if agents had moved on
by then, they are run again up to that slot.
"""

import asyncio
import multiprocessing
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.engines.base import TIMETABLE_OVER, AgentFactory, EngineResult
from grassvine.engines.peers.conversation import Agreement
from grassvine.engines.peers.credentials import Identity, Neighbour
from grassvine.engines.peers.driver import run_member
from grassvine.engines.peers.journal import Journal
from grassvine.engines.peers.member import Limits, Member
from grassvine.foundations.errors import AgentError
from grassvine.networks import Timetable
from grassvine.peers.certificates import self_signed
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


@dataclass
class LoopbackEngine:
    """Runs each agent in a process of its own, which talks to its neighbours over mutual TLS."""

    processes: list[tuple[Any, Connection]] = field(default_factory=list)

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
            observe(replace(end, slot=stop))
        return EngineResult(tuple(states), stop, reason or TIMETABLE_OVER)

    def close(self) -> None:
        """End the processes."""
        for process, connection in self.processes:
            process.kill()
            process.join()
            connection.close()
        self.processes.clear()

    @cached_property
    def identities(self) -> list[Identity]:
        """Certificates and keys of up to eight members."""
        return [_identity(number) for number in range(8)]

    def _carry(
        self, factories: Sequence[AgentFactory], timetable: Timetable
    ) -> tuple[list[StepReport], list[StepReport], list[State]]:
        self._start(len(factories))
        lines = {line: number for number, (_, line) in enumerate(self.processes[: len(factories)])}
        for task, line in zip(self._tasks(factories, timetable), lines, strict=True):
            line.send(task)
        found: dict[int, tuple[list[StepReport], StepReport, State]] = {}
        while len(found) < len(lines):
            ready = wait([line for line in lines if lines[line] not in found], timeout=TIMEOUT)
            if not ready:
                self.close()
                raise AssertionError(f"only {sorted(found)} of {len(lines)} agents came to an end")
            for line in ready:
                assert isinstance(line, Connection)
                result = line.recv()
                if isinstance(result, AgentError):
                    self.close()  # the others would wait
                    raise result
                found[lines[line]] = result
        in_order = [found[number] for number in range(len(factories))]
        return (
            [report for reports, _, _ in in_order for report in reports],
            [end for _, end, _ in in_order],
            [state for _, _, state in in_order],
        )

    def _start(self, count: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        while len(self.processes) < count:
            here, there = spawn.Pipe()
            process = spawn.Process(target=serve, args=(there,), daemon=True)
            process.start()
            there.close()
            self.processes.append((process, here))

    def _tasks(self, factories: Sequence[AgentFactory], timetable: Timetable) -> list[Task]:
        """The member with the greater number dials."""
        addresses = [f"127.0.0.1:{port}" for port in _free_ports(len(factories))]
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
                )
            )
        return tasks


def serve(line: Connection) -> None:
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


def run_task(task: Task) -> tuple[list[StepReport], StepReport, State]:
    """Run an agent to its end; return its reports, the final one, and its state."""
    reports: list[StepReport] = []
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.open(Path(folder), task.number, PLAN)
        agreement = Agreement(task.number, [f"m{n}" for n in range(task.n_agents)], PLAN)
        member = Member(
            agreement, task.factory, task.timetable, journal.recovered, Limits(grace=10.0)
        )
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
    end = member.agent.conclude(task.timetable.n_slots)
    state = {name: np.array(array) for name, array in member.agent.state().items()}
    return reports, end, state


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


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
