"""An engine for the contract suite: every agent in its own process, nothing but bytes between them.

Messages wait in a shuffled heap and some arrive twice; an agent takes them from a mailbox keyed by
(slot, sender), which stands before the bytes of a message. There is no barrier: each process goes
through its own slots at its own pace.
"""

import multiprocessing
import multiprocessing.connection
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.random import Generator

from grassvine.engines.base import (
    TIMETABLE_OVER,
    AgentFactory,
    EngineResult,
    attributed,
    create_agents,
)
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import AgentError
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable
from grassvine.protocol import Agent, Observer, StepReport, decode, encode

TIMEOUT = 600.0  # only a deadlock: the first slot may compile kernels on a busy machine
ADDRESS = struct.Struct("<qq")  # slot, sender


@dataclass(frozen=True)
class ProcessEngine:
    """Forks a process for each agent and carries their bytes."""

    seed: int = 0
    duplicates: list[int] = field(default_factory=list)

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run the agents to the end, or up to the slot that the observer asks for.

        Processes have no common slot at which to stop, so an observer's reason is found by
        replaying the reports in order; the agents are then run again up to that slot. (They moved
        in forked processes: here they still stand at their start.)
        """
        agents = create_agents(factories)
        reports, states = self._carry(agents, timetable, timetable.n_slots)
        stop = timetable.n_slots
        reason = None
        for report in sorted(reports, key=lambda report: (report.slot, report.agent)):
            if report.slot >= stop:
                break
            wish = observe(report)
            if wish and not reason:
                reason, stop = wish, report.slot + 1
        if reason:
            reports, states = self._carry(agents, timetable, stop)
        for report in sorted(reports, key=lambda report: report.agent):
            if report.slot == stop:
                observe(report)
        return EngineResult(
            tuple(states[agent.id] for agent in agents), stop, reason or TIMETABLE_OVER
        )

    def _carry(
        self, agents: Sequence[Agent], timetable: Timetable, n_slots: int
    ) -> tuple[list[StepReport], dict[int, dict[str, Any]]]:
        rng = stream(self.seed, "process engine")
        fork = multiprocessing.get_context("fork")
        lines: dict[Connection, int] = {}
        ends: dict[int, Connection] = {}
        processes = []
        for agent in agents:
            here, there = fork.Pipe()
            process = fork.Process(target=_live, args=(agent, timetable, n_slots, there))
            process.start()
            there.close()
            lines[here] = agent.id
            ends[agent.id] = here
            processes.append(process)
        try:
            return self._route(lines, ends, rng)
        except AgentError as error:
            failed = error
        finally:
            for process in processes:
                process.kill()
                process.join()
        # Another agent may have failed at an earlier slot and not have said so yet: run up to here.
        if failed.slot < n_slots:
            self._carry(agents, timetable, failed.slot)
        raise failed

    def _route(
        self, lines: dict[Connection, int], ends: dict[int, Connection], rng: Generator
    ) -> tuple[list[StepReport], dict[int, dict[str, Any]]]:
        reports: list[StepReport] = []
        states: dict[int, dict[str, Any]] = {}
        waiting: list[tuple[int, bytes]] = []
        while len(states) < len(ends):
            ready = multiprocessing.connection.wait(list(lines), timeout=0 if waiting else TIMEOUT)
            assert ready or waiting, "the agents wait for each other"
            for line in ready:
                assert isinstance(line, Connection)
                kind, content = line.recv()
                if kind == "mail":
                    waiting.append(content)
                elif kind == "report":
                    reports.append(StepReport(**content))
                elif kind == "state":
                    states[lines[line]] = content
                else:
                    raise AgentError(*content)
            if waiting:
                receiver, data = waiting.pop(int(rng.integers(len(waiting))))
                if rng.random() < 0.3:
                    waiting.append((receiver, data))
                    self.duplicates.append(receiver)
                if receiver not in states:
                    ends[receiver].send_bytes(data)
        return reports, states


def _live(agent: Agent, timetable: Timetable, n_slots: int, line: Connection) -> None:
    """Go through the slots of one agent; what is sent at a slot is made before moving in it."""
    heard = dict(timetable.meetings_of(agent.id))
    mailbox: dict[tuple[int, int], bytes] = {}
    try:
        with one_blas_thread():
            for slot in range(n_slots):
                for sender, receiver in timetable.deliveries(slot):
                    if sender == agent.id:
                        address = ADDRESS.pack(slot, agent.id)
                        line.send(("mail", (receiver, address + encode(agent.outgoing(slot)))))
                if slot in heard:
                    _collect(slot, heard[slot], mailbox, line)
                    data = {sender: mailbox.pop((slot, sender)) for sender in heard[slot]}
                    report = _attributed_meeting(agent, slot, data)
                    line.send(("report", report._asdict()))
            end = attributed(agent, n_slots, lambda: agent.conclude(n_slots))
            line.send(("report", end._asdict()))
        line.send(("state", {name: np.array(array) for name, array in agent.state().items()}))
    except AgentError as error:
        line.send(("error", (error.agent, error.slot, error.cause)))
    while True:  # until this process is ended; late and doubled messages are of no use any more
        line.recv_bytes()


def _attributed_meeting(agent: Agent, slot: int, data: dict[int, bytes]) -> StepReport:
    def meet() -> StepReport:
        # Only now: what a slot may bring is known when it is due, for shapes may change on the way.
        shapes = agent.expected(slot)
        inbox = [decode(sent, shapes, sender=sender, slot=slot) for sender, sent in data.items()]
        return agent.meet(slot, inbox)

    return attributed(agent, slot, meet)


def _collect(
    slot: int,
    senders: tuple[int, ...],
    mailbox: dict[tuple[int, int], bytes],
    line: Connection,
) -> None:
    while not all((slot, sender) in mailbox for sender in senders):
        data = line.recv_bytes()
        when, sender = ADDRESS.unpack(data[: ADDRESS.size])
        if when >= slot:
            mailbox[when, sender] = data[ADDRESS.size :]
