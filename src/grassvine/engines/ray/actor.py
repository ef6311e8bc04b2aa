"""The Ray actor that creates agents, runs their updates and writes their checkpoints."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import isclose, isnan
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from grassvine.engines.base import AgentFactory, attributed
from grassvine.engines.checkpoints import AgentFiles, Checkpoint, LogRecord
from grassvine.foundations.errors import CheckpointError
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import decode, encode
from grassvine.protocol.report import StepReport

Inbox = tuple[int, tuple[int, ...]]  # receiver, senders

# Machines may differ in the last bits of a cost; different data change it by more.
ORIGIN_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MessageRef:
    """A reference to a message in the object store; Ray would resolve one that is not wrapped."""

    reference: Any


class AgentActor:
    """Agents that share one Ray actor, by number."""

    def __init__(self, timeout: float) -> None:
        import ray

        self._ray = ray
        self._timeout = timeout
        # Never exited, so it holds for the life of the actor.
        self._limit = threadpool_limits(limits=1, user_api="blas")
        self._factories: Mapping[int, AgentFactory] = {}
        self._agents: dict[int, Agent] = {}
        self._checkpoints: CheckpointWriter | None = None
        self._encoded: tuple[int, dict[int, bytes]] = (-1, {})  # slot, messages by sender
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="grassvine-prepare")
        self._precomputing: dict[int, Future[None]] = {}

    def set_factories(self, factories: Mapping[int, AgentFactory]) -> None:
        """Copy the factories, because arrays from Ray are read-only views of its object store."""
        self._factories = copy.deepcopy(factories)

    def begin(self, folder: str | None, mark: Checkpoint) -> None:
        """Create the agents and restore them from a checkpoint, if there is one."""
        wait(self._precomputing.values())  # of discarded agents; ignore their errors
        self._precomputing.clear()
        self._agents = {}  # their programs are not shared with the agents that replace them
        self._agents = {number: make() for number, make in self._factories.items()}
        self._encoded = (-1, {})
        self._checkpoints = CheckpointWriter(Path(folder), self._agents) if folder else None
        if self._checkpoints and mark.segments:
            self._checkpoints.restore(mark)

    def outgoing(self, slot: int, senders: Sequence[int]) -> dict[int, MessageRef]:
        """Put messages to agents in other actors into the object store."""
        sent = {
            sender: MessageRef(self._ray.put(self._message_bytes(slot, sender)))
            for sender in senders
        }
        self._precompute(slot + 1, senders)
        return sent

    def meet(
        self, slot: int, inboxes: Sequence[Inbox], *sent: Mapping[int, MessageRef]
    ) -> list[StepReport]:
        """Update the receivers from their messages, some of which come from other actors."""
        refs = {sender: ref for some in sent for sender, ref in some.items()}
        wanted = sorted({sender for _, senders in inboxes for sender in senders})
        remote = [sender for sender in wanted if sender not in self._agents]
        fetched = self._ray.get(
            [refs[sender].reference for sender in remote], timeout=self._timeout
        )
        messages_by_sender = dict(zip(remote, fetched, strict=True))
        # Create all messages before any agent updates its state.
        local = [sender for sender in wanted if sender in self._agents]
        messages_by_sender |= {sender: self._message_bytes(slot, sender) for sender in local}
        reports = [
            self._meeting(slot, receiver, {s: messages_by_sender[s] for s in senders})
            for receiver, senders in inboxes
        ]
        self._precompute(slot + 1, {*local, *(receiver for receiver, _ in inboxes)})
        return reports

    def write_checkpoint(self, epoch: int, slot: int, previous: Checkpoint) -> None:
        """Write the files of all agents and drop log records that ``previous`` contains."""
        assert self._checkpoints is not None
        self._wait_for_all()
        self._checkpoints.write(epoch, slot, previous)

    def conclude(self, slot: int) -> list[StepReport]:
        """Return the reports on the final states."""
        self._wait_for_all()
        return [
            attributed(agent, slot, _concluding(agent, slot)) for agent in self._agents.values()
        ]

    def states(self) -> list[State]:
        """Return the states of the agents."""
        return [agent.state() for agent in self._agents.values()]

    def ping(self) -> bool:
        """Return True, to show that the actor is alive."""
        return True

    def _precompute(self, slot: int, numbers: Iterable[int]) -> None:
        """Start the agents' precomputations in a thread, so that other actors need not wait."""
        for number in sorted(numbers):
            action = self._agents[number].precompute(slot)
            if action:
                self._precomputing[number] = self._executor.submit(
                    attributed, self._agents[number], slot, action
                )

    def _idle_agent(self, number: int) -> Agent:
        """Return an agent once its precomputation has finished."""
        if number in self._precomputing:
            self._precomputing.pop(number).result()
        return self._agents[number]

    def _wait_for_all(self) -> None:
        for number in self._agents:
            self._idle_agent(number)

    def _message_bytes(self, slot: int, sender: int) -> bytes:
        """Return an encoded message; it is encoded once for all receivers."""
        if self._encoded[0] != slot:
            self._encoded = slot, {}
        messages = self._encoded[1]
        if sender not in messages:
            agent = self._idle_agent(sender)
            messages[sender] = attributed(agent, slot, lambda: encode(agent.outgoing(slot)))
        return messages[sender]

    def _meeting(self, slot: int, receiver: int, messages: Mapping[int, bytes]) -> StepReport:
        agent = self._idle_agent(receiver)

        def meet() -> StepReport:
            shapes = agent.expected(slot)
            inbox = [
                decode(data, shapes, sender=sender, slot=slot) for sender, data in messages.items()
            ]
            return agent.meet(slot, inbox)

        report = attributed(agent, slot, meet)
        if self._checkpoints:
            self._checkpoints.record(agent, report)
        return report


def _concluding(agent: Agent, slot: int) -> Callable[[], StepReport]:
    return lambda: agent.conclude(slot)


class CheckpointWriter:
    """Records the log of agents, writes their checkpoints and restores them."""

    def __init__(self, folder: Path, agents: Mapping[int, Agent]):
        self._agents = agents
        self._files = {number: AgentFiles(folder, number) for number in agents}
        self._records: dict[int, list[LogRecord]] = {number: [] for number in agents}
        # The cost before slot 0 identifies an agent's data.
        self._origins = {number: agent.conclude(0).cost for number, agent in agents.items()}

    def record(self, agent: Agent, report: StepReport) -> None:
        """Record the log entry and the report of a meeting."""
        self._records[agent.id].append(LogRecord(report.slot, agent.log_entry(), report))

    def write(self, epoch: int, slot: int, previous: Checkpoint) -> None:
        """Write the records since the previous checkpoint, and the snapshots."""
        for number, agent in self._agents.items():
            records = [record for record in self._records[number] if record.slot >= previous.slot]
            self._records[number] = records
            origin = self._origins[number]
            self._files[number].write((epoch, slot), records, agent.snapshot(), origin)

    def restore(self, mark: Checkpoint) -> None:
        """Restore newly created agents from a checkpoint."""
        for number, agent in self._agents.items():
            files = self._files[number]
            then, now = files.origin(mark), self._origins[number]
            if not (isclose(then, now, rel_tol=ORIGIN_TOLERANCE) or (isnan(then) and isnan(now))):
                raise CheckpointError(
                    f"agent {number} has different data or a different plan than its checkpoint: "
                    f"its initial cost was {then:g} and now is {now:g}; use the same data and "
                    "plan, or start again in another folder."
                )
            agent.restore(files.log_entries(mark), files.snapshot(mark))
