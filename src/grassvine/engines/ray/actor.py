"""The actor in which agents live: it makes them, lets them meet, and writes them down."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import isclose, isnan
from pathlib import Path
from typing import Any

from grassvine.engines.base import AgentFactory, attributed
from grassvine.engines.checkpoints import AgentFiles, Checkpoint, LogRecord
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import CheckpointError
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import decode, encode
from grassvine.protocol.report import StepReport

Inbox = tuple[int, tuple[int, ...]]  # receiver, senders

# Machines differ in the last bits of a cost; other data differ by more.
SAME_ORIGIN = 1e-9


@dataclass(frozen=True)
class MessageRef:
    """The reference of a message in the object store; Ray opens references that lie open."""

    reference: Any


class AgentActor:
    """Some agents, by number."""

    def __init__(self, timeout: float) -> None:
        import ray

        self._ray = ray
        self._timeout = timeout
        self._limit = one_blas_thread()  # holds from here on, as nobody leaves it
        self._factories: Mapping[int, AgentFactory] = {}
        self._agents: dict[int, Agent] = {}
        self._checkpoints: _CheckpointWriter | None = None
        self._written: tuple[int, dict[int, bytes]] = (-1, {})  # the messages of one slot
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="grassvine-prepare")
        self._preparing: dict[int, Future[None]] = {}

    def set_factories(self, factories: Mapping[int, AgentFactory]) -> None:
        """Take the makers; a copy, as arrays that Ray hands over are views of its store."""
        self._factories = copy.deepcopy(factories)

    def begin(self, folder: str | None, mark: Checkpoint) -> None:
        """Make the agents, and bring them to where they stood at a checkpoint."""
        wait(self._preparing.values())  # for agents that are given up: how they fared is no matter
        self._preparing.clear()
        self._agents = {number: make() for number, make in self._factories.items()}
        self._written = (-1, {})
        self._checkpoints = _CheckpointWriter(Path(folder), self._agents) if folder else None
        if self._checkpoints and mark.segments:
            self._checkpoints.restore(mark)

    def outgoing(self, slot: int, writers: Sequence[int]) -> dict[int, MessageRef]:
        """Put messages for agents in other hosts into the object store."""
        sent = {
            writer: MessageRef(self._ray.put(self._message_bytes(slot, writer)))
            for writer in writers
        }
        self._prepare(slot + 1, writers)
        return sent

    def meet(
        self, slot: int, inboxes: Sequence[Inbox], *sent: Mapping[int, MessageRef]
    ) -> list[StepReport]:
        """Let agents take their messages, of which some are from other hosts, and move."""
        refs = {sender: ref for some in sent for sender, ref in some.items()}
        wanted = sorted({sender for _, senders in inboxes for sender in senders})
        remote = [sender for sender in wanted if sender not in self._agents]
        fetched = self._ray.get(
            [refs[sender].reference for sender in remote], timeout=self._timeout
        )
        messages_by_sender = dict(zip(remote, fetched, strict=True))
        # All of them before anyone moves.
        local = [sender for sender in wanted if sender in self._agents]
        messages_by_sender |= {sender: self._message_bytes(slot, sender) for sender in local}
        reports = [
            self._meeting(slot, receiver, [messages_by_sender[sender] for sender in senders])
            for receiver, senders in inboxes
        ]
        self._prepare(slot + 1, {*local, *(receiver for receiver, _ in inboxes)})
        return reports

    def write_checkpoint(self, epoch: int, slot: int, kept: Checkpoint) -> None:
        """Write down all agents; what is kept up to a mark is forgotten."""
        assert self._checkpoints is not None
        self._settle()
        self._checkpoints.write(epoch, slot, kept)

    def conclude(self, slot: int) -> list[StepReport]:
        """Report the final states."""
        self._settle()
        return [
            attributed(agent, slot, _concluding(agent, slot)) for agent in self._agents.values()
        ]

    def states(self) -> list[State]:
        """Return what the agents have learned."""
        return [agent.state() for agent in self._agents.values()]

    def answer(self) -> bool:
        """Tell that it lives."""
        return True

    def _prepare(self, slot: int, numbers: Iterable[int]) -> None:
        """Let agents work ahead beside the calls that come in meanwhile, so that others go on."""
        for number in sorted(numbers):
            action = self._agents[number].precompute(slot)
            if action:
                self._preparing[number] = self._aside.submit(
                    attributed, self._agents[number], slot, action
                )

    def _settled(self, number: int) -> Agent:
        """Return an agent that does nothing else at the time."""
        if number in self._preparing:
            self._preparing.pop(number).result()
        return self._agents[number]

    def _settle(self) -> None:
        for number in self._agents:
            self._settled(number)

    def _message_bytes(self, slot: int, writer: int) -> bytes:
        """Return a message as bytes, which several may ask for."""
        if self._written[0] != slot:
            self._written = slot, {}
        messages_by_sender = self._written[1]
        if writer not in messages_by_sender:
            agent = self._settled(writer)
            messages_by_sender[writer] = attributed(
                agent, slot, lambda: encode(agent.outgoing(slot))
            )
        return messages_by_sender[writer]

    def _meeting(self, slot: int, receiver: int, messages_by_sender: Sequence[bytes]) -> StepReport:
        agent = self._settled(receiver)

        def meet() -> StepReport:
            return agent.meet(
                slot, [decode(data, agent.expected(slot)) for data in messages_by_sender]
            )

        report = attributed(agent, slot, meet)
        if self._checkpoints:
            self._checkpoints.note(agent, report)
        return report


def _concluding(agent: Agent, slot: int) -> Callable[[], StepReport]:
    return lambda: agent.conclude(slot)


class _CheckpointWriter:
    """Notes what agents learn, and writes it down when asked."""

    def __init__(self, folder: Path, agents: Mapping[int, Agent]):
        self._agents = agents
        self._files = {number: AgentFiles(folder, number) for number in agents}
        self._pages: dict[int, list[LogRecord]] = {number: [] for number in agents}
        # What an agent would report before slot 0 tells its data from others.
        self._origins = {number: agent.conclude(0).cost for number, agent in agents.items()}

    def note(self, agent: Agent, report: StepReport) -> None:
        """Note what a meeting taught."""
        self._pages[agent.id].append(LogRecord(report.slot, agent.log_entry(), report))

    def write(self, epoch: int, slot: int, kept: Checkpoint) -> None:
        """Write what is not kept yet."""
        for number, agent in self._agents.items():
            pages = [page for page in self._pages[number] if page.slot >= kept.slot]
            self._pages[number] = pages
            self._files[number].write((epoch, slot), pages, agent.snapshot(), self._origins[number])

    def restore(self, mark: Checkpoint) -> None:
        """Tell agents that were just made what they had learned."""
        for number, agent in self._agents.items():
            files = self._files[number]
            then, now = files.origin(mark), self._origins[number]
            if not (isclose(then, now, rel_tol=SAME_ORIGIN) or (isnan(then) and isnan(now))):
                raise CheckpointError(
                    f"agent {number} has other data, or another plan, than when its checkpoint was "
                    f"written: at its start its cost was {then:g} and is {now:g}; give what it "
                    "had, or begin anew in another folder."
                )
            agent.restore(files.log_entries(mark), files.snapshot(mark))
