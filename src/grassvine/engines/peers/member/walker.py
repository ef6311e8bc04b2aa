"""The walk of one agent through its slots, from messages that are on disk.

At every slot the walker

1. computes its message, if it sends, and what it expects, if it receives;
2. writes its message to the journal;
3. lets the agent meet its neighbours when all messages of the slot are on disk.

What the journal already has is neither computed nor written again, so an agent whose process was
killed goes on with the same bytes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from grassvine.engines.base import AgentFactory, attributed
from grassvine.engines.peers.member.events import Report
from grassvine.engines.peers.member.records import (
    Checkpoint,
    Incoming,
    Key,
    NeighbourFinished,
    Outgoing,
    Record,
    Recovered,
)
from grassvine.engines.peers.member.steps import Step, Steps
from grassvine.engines.peers.member.walk import Around, Link
from grassvine.foundations.errors import CheckpointError
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import Shapes, decode, encode, encoded_bound
from grassvine.protocol.report import StepReport


class Walker:
    """An agent and its place in the timetable.

    Attributes
    ----------
    meetings : tuple
        Empty: the timetable says them.
    links : dict of Link
        The slots at which each neighbour sends and receives.
    outgoing : dict of bytes by slot
        The messages that some receiver may still need; all are on disk.
    finished_neighbours : set of int
        The neighbours known to have finished.
    """

    def __init__(
        self,
        steps: Steps,
        recovered: Recovered,
        around: Around,
        idle: Iterable[int] = (),
    ):
        self.meetings = ()
        self._steps = steps
        self._recovered = recovered
        self._effects = around.effects
        self._checkpoint_bytes = around.checkpoint_bytes
        self._on_change = around.on_change
        self._names = around.names
        self.links = {
            neighbour: Link(
                incoming=steps.incoming.get(neighbour, []),
                outgoing=steps.outgoing.get(neighbour, []),
                received=recovered.received_from(neighbour),
            )
            for neighbour in sorted({*steps.incoming, *steps.outgoing, *idle})
        }
        self._acknowledged = dict.fromkeys(self.links, 0)
        self._move_to(steps.before(recovered.slot))
        self._agent: Agent | None = None
        self._ready: Shapes | None = None  # what the agent expects at the current slot
        self._meeting = False
        self.finished = False
        self.outgoing = dict(recovered.outgoing)
        self.finished_neighbours = set(recovered.finished)
        self._inbox = dict(recovered.incoming)
        # Not yet known to be on disk; a checkpoint meanwhile must not lose them.
        self._arrived: dict[Key, bytes] = {}
        self._finishing: set[int] = set()
        self._log: list[tuple[State, StepReport]] = []  # since the last checkpoint
        self._written = 0  # bytes since the last checkpoint

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        assert self._agent is not None
        return self._agent

    @property
    def slot(self) -> int:
        """The current slot; after the last step, the slot after it."""
        if self._step:
            return self._step.slot
        return self._steps[-1].slot + 1 if self._steps else 0

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """The neighbours whose messages of the current slot are missing."""
        if self._step is None or self._ready is None:
            return ()
        slot = self._step.slot
        return tuple(other for other in self._step.senders if (slot, other) not in self._inbox)

    def start(self, create: AgentFactory) -> None:
        """Create the agent, restore it from the journal, and begin to walk."""

        def restored() -> Agent:
            agent = create()
            if self._recovered.snapshot is not None:
                agent.restore(self._recovered.log_entries(), self._recovered.snapshot)
            return agent

        def created(agent: object) -> None:
            self._agent = cast(Agent, agent)
            self.finished = self._recovered.agent_finished
            self._prepare()

        self._effects.compute(restored, created)

    def bound(self, neighbour: int, received: int, limit: int) -> int:
        """Return the largest size of the next message of a neighbour."""
        step = self._step
        here = step and self._ready is not None and neighbour in step.senders
        if here and received <= self.slot:
            return min(limit, encoded_bound(cast(Shapes, self._ready)))
        return limit

    def deliver(self, neighbour: int, slot: int, payload: bytes, then: Callable[[], None]) -> None:
        """Write a message to the journal; then it may be acknowledged."""
        key = slot, neighbour
        self._arrived[key] = payload

        def written(_: object) -> None:
            if self._arrived.pop(key, None) is not None:  # it may have arrived twice
                self._inbox[key] = payload
            then()
            self._meet()

        self._persist((Incoming(neighbour, slot, payload),), written)

    def n_waiting(self, neighbour: int) -> int:
        """Return how many messages of a neighbour wait for their slots."""
        return sum(sender == neighbour for _, sender in (*self._inbox, *self._arrived))

    def note_finished(self, neighbour: int, then: Callable[[], None]) -> None:
        """Write that a neighbour has finished to the journal; then it may be confirmed."""

        def written(_: object) -> None:
            self.finished_neighbours.add(neighbour)
            then()

        if neighbour in self.finished_neighbours:
            then()
        else:
            self._finishing.add(neighbour)
            self._persist((NeighbourFinished(neighbour),), written)

    def outgoing_to(self, neighbour: int) -> Mapping[int, bytes]:
        """Return the messages that a neighbour may still need, by slot."""
        return self.outgoing

    def acknowledged(self, neighbour: int, up_to: int) -> None:
        """Forget what all receivers have; a neighbour cannot have what was never sent."""
        slots, before = self.links[neighbour].outgoing, self._acknowledged[neighbour]
        for slot in slots[bisect_left(slots, before) : bisect_left(slots, up_to)]:
            if slot >= self.slot and slot not in self.outgoing:
                raise CheckpointError(
                    f"{self._names[neighbour]} already has the message of slot {slot}, which this "
                    "member has not sent yet: its folder is older than the run; restore the "
                    "newest one, or begin a new plan."
                )
        self._acknowledged[neighbour] = max(before, up_to)
        for slot in list(self.outgoing):
            receivers = self._steps[self._steps.before(slot)].receivers
            if slot < self.slot and all(slot < self._acknowledged[one] for one in receivers):
                del self.outgoing[slot]

    def connected(self, neighbour: int) -> None:
        """Do nothing: whom to meet is known beforehand."""

    def disconnected(self, neighbour: int) -> None:
        """Do nothing: whom to meet is known beforehand."""

    def _move_to(self, place: int) -> None:
        """Go to a step; there is none after the last."""
        self._at = place
        self._step: Step | None = self._steps[place] if place < len(self._steps) else None

    def _prepare(self) -> None:
        """Compute the message of the current slot and what is expected there."""
        self._ready = None
        step = self._step
        if step is None:
            self.finished = True
            self._on_change()
            return

        def compute() -> tuple[bytes, Shapes]:
            agent, slot = self.agent, step.slot
            payload = b""
            if step.receivers and slot not in self.outgoing:
                payload = attributed(agent, slot, lambda: encode(agent.outgoing(slot)))
            shapes = attributed(agent, slot, lambda: agent.expected(slot)) if step.senders else {}
            return payload, shapes

        def prepared(result: object) -> None:
            payload, self._ready = cast(tuple[bytes, Shapes], result)

            def written(_: object) -> None:
                self.outgoing[step.slot] = payload
                self._send()

            if payload:
                self._persist((Outgoing(step.slot, payload),), written)
            else:
                self._send()

        self._effects.compute(compute, prepared)

    def _send(self) -> None:
        self._on_change()
        self._meet()

    def _meet(self) -> None:
        """Let the agent meet its neighbours if all messages of the current slot are on disk."""
        step, shapes = self._step, self._ready
        if step is None or shapes is None or self._meeting or self.waiting_for:
            return
        if step.receivers and step.slot not in self.outgoing:
            return
        if not step.senders:
            self._advance()
            return
        payloads = {sender: self._inbox[step.slot, sender] for sender in step.senders}

        def meet() -> tuple[State, StepReport]:
            inbox = [
                decode(payload, shapes, sender=sender, slot=step.slot)
                for sender, payload in payloads.items()
            ]
            report = attributed(self.agent, step.slot, lambda: self.agent.meet(step.slot, inbox))
            return self.agent.log_entry(), report

        def met(result: object) -> None:
            log_entry, report = cast(tuple[State, StepReport], result)
            self._log.append((log_entry, report))
            self._effects.add(Report(report))
            for sender in step.senders:
                del self._inbox[step.slot, sender]
            self.finished = self.finished or bool(report.finished)
            self._meeting = False
            self._advance()

        self._meeting = True
        self._effects.compute(meet, met)

    def _advance(self) -> None:
        self._move_to(self._at + 1)
        self._ready = None
        self._on_change()
        if self._written >= self._checkpoint_bytes:
            self._effects.compute(self.agent.snapshot, self._write_checkpoint)
        else:
            self._prepare()

    def _write_checkpoint(self, snapshot: object) -> None:
        incoming = {**self._inbox, **self._arrived}
        finished = self.finished_neighbours | self._finishing
        kept: list[Record] = [Outgoing(slot, one) for slot, one in sorted(self.outgoing.items())]
        kept += [Incoming(sender, slot, one) for (slot, sender), one in sorted(incoming.items())]
        kept += [NeighbourFinished(neighbour) for neighbour in sorted(finished)]
        checkpoint = Checkpoint(
            slot=self.slot,
            snapshot=cast(State, snapshot),
            log_entries=tuple(log_entry for log_entry, _ in self._log),
            reports=tuple(report for _, report in self._log),
            kept=tuple(kept),
        )
        self._log, self._written = [], 0
        self._effects.persist((checkpoint,), lambda _: self._prepare())

    def _persist(self, records: tuple[Record, ...], then: Callable[[object], None]) -> None:
        self._written += sum(len(getattr(record, "payload", b"")) for record in records)
        self._effects.persist(records, then)
