"""The walk of one agent without a timetable: it meets whichever neighbour has time.

The messages of each link are numbered. A message that arrives changes the state at once and is
written together with the replies to it; these are sent, and an agent meets, when that is on disk.
After a crash the messages in the journal lead to the same state, and the meetings since the last
checkpoint are computed again.
"""

from collections.abc import Callable, Mapping
from typing import cast

from grassvine.engines.base import AgentFactory
from grassvine.engines.peers.member.conversation import Refused
from grassvine.engines.peers.member.events import Report
from grassvine.engines.peers.member.outbox import Outbox
from grassvine.engines.peers.member.own_updates import Ready, meet, own_entries, ready_for
from grassvine.engines.peers.member.pairing import (
    HEADER_BYTES,
    Kind,
    Meeting,
    Note,
    Pairing,
    Phase,
    Reply,
)
from grassvine.engines.peers.member.records import (
    Checkpoint,
    Incoming,
    LinkCounts,
    NeighbourFinished,
    Record,
    Recovered,
    Sent,
)
from grassvine.engines.peers.member.recovery import Recovery
from grassvine.engines.peers.member.walk import Around, Link, Met, OwnClock
from grassvine.foundations.errors import MessageError
from grassvine.foundations.seeds import stream
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import decode, encoded_bound
from grassvine.protocol.report import StepReport

MAX_NUMBER = 2**31  # of a message on a link


class AsynchronousWalker:
    """An agent that meets its neighbours one at a time, and counts its own updates.

    Attributes
    ----------
    links : dict of Link
    finished_neighbours : set of int
        The neighbours known to have finished.
    meetings : list of Met
        Whom the agent has met, in order.
    """

    def __init__(self, clock: OwnClock, member: int, recovered: Recovered, around: Around):
        self._clock = clock
        self._recovered = recovered
        self._around = around
        self._effects = around.effects
        self._random = stream(clock.seed, "meetings", member)
        self._pairing = Pairing(member, clock.neighbours, clock.meetings)
        self._outbox = Outbox(clock.neighbours, around.names)
        found = Recovery(recovered.slot, dict.fromkeys(clock.neighbours, 0))
        found.read(recovered.records, self._outbox, self._pairing)
        self._n_received = found.n_received
        self._again = found.meetings  # to compute again
        self.finished_neighbours = found.finished
        self._finishing: set[int] = set()  # not yet known to be on disk
        self.finished = False
        self.meetings: list[Met] = []
        self._agent: Agent | None = None
        self._ready: Ready | None = None
        self._early: list[tuple[int, int, bytes, Callable[[], None]]] = []
        self._log: list[tuple[State, StepReport]] = []  # since the last checkpoint
        self._written = 0  # bytes since the last checkpoint
        self.links = {
            one: Link(range(MAX_NUMBER), range(MAX_NUMBER), self._n_received[one])
            for one in clock.neighbours
        }

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        assert self._agent is not None
        return self._agent

    @property
    def slot(self) -> int:
        """How many meetings the agent has had."""
        return len(self.meetings)

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """The neighbour that must reply, or all that the agent could meet."""
        phase = self._pairing.phase
        if self._ready is None or self.finished or phase is Phase.MEETING:
            return ()
        if phase is Phase.IDLE:
            return tuple(one for one, left in self._pairing.left.items() if left)
        return (self._pairing.partner,)

    def start(self, create: AgentFactory) -> None:
        """Create the agent, restore it from the journal, and look for somebody to meet."""
        recovered = self._recovered

        def restored() -> tuple[Agent, list[tuple[State, StepReport]], Ready]:
            agent = create()
            if recovered.snapshot is not None:
                entries = own_entries(recovered.log_entries(), self.meetings)
                agent.restore(entries, recovered.snapshot)
            log = [
                meet(agent, number, meeting)
                for number, meeting in enumerate(self._again, start=recovered.slot)
            ]
            return agent, log, ready_for(agent, recovered.slot + len(log))

        def created(result: object) -> None:
            self._agent, log, ready = cast(
                tuple[Agent, list[tuple[State, StepReport]], Ready], result
            )
            for (entry, report), meeting in zip(log, self._again, strict=True):
                self._note(meeting, entry, report)
            self._go_on(ready)
            early, self._early = self._early, []
            for one in early:
                self.deliver(*one)

        self._effects.compute(restored, created)

    def bound(self, neighbour: int, received: int, limit: int) -> int:
        """Return the largest size of the next message of a neighbour."""
        if self._ready is None:
            return limit
        return min(limit, HEADER_BYTES + encoded_bound(self._ready.shapes))

    def deliver(self, neighbour: int, slot: int, payload: bytes, then: Callable[[], None]) -> None:
        """Take a message, and write it with the replies to it to the journal."""
        if self._ready is None:
            self._early.append((neighbour, slot, payload, then))
            return
        if slot < self._n_received[neighbour]:  # it has arrived before, and is being written
            self._persist([], [], then)
        if slot != self._n_received[neighbour]:
            return
        try:
            note = self._checked(neighbour, payload)
            replies = self._pairing.replies(neighbour, slot, note, self._outbox.n_sent[neighbour])
        except (Refused, MessageError) as reason:
            self._around.refuse(neighbour, str(reason))
            return
        self._n_received[neighbour] += 1
        meeting = self._pairing.received(neighbour, note)
        sent = []
        for reply in replies:
            sent.append(self._send(reply))
            meeting = self._pairing.sent(reply) or meeting
        answers = any(reply.kind in (Kind.ANSWER, Kind.AGREED) for reply in replies)
        kept = payload if answers else payload[:HEADER_BYTES]
        self._persist([Incoming(neighbour, slot, kept)], sent, then, meeting)
        self._go_on()

    def n_waiting(self, neighbour: int) -> int:
        """Return how many messages of a neighbour wait for the agent to be restored."""
        return sum(one[0] == neighbour for one in self._early)

    def note_finished(self, neighbour: int, then: Callable[[], None]) -> None:
        """Write that a neighbour has finished to the journal; then it may be confirmed."""
        if neighbour in self.finished_neighbours:
            then()
            return
        self._finishing.add(neighbour)

        def written() -> None:
            self.finished_neighbours.add(neighbour)
            then()

        self._persist([NeighbourFinished(neighbour)], [], written)

    def outgoing_to(self, neighbour: int) -> Mapping[int, bytes]:
        """Return the messages that a neighbour may still need; all are on disk."""
        return self._outbox.on_disk(neighbour)

    def acknowledged(self, neighbour: int, up_to: int) -> None:
        """Forget what a neighbour has."""
        self._outbox.acknowledged(neighbour, up_to)

    def connected(self, neighbour: int) -> None:
        """Note that a neighbour can be reached."""
        self._pairing.connected(neighbour)
        self._go_on()

    def disconnected(self, neighbour: int) -> None:
        """Note that a neighbour cannot be reached; an offer to it is withdrawn."""
        self._pairing.disconnected(neighbour)
        self._go_on()

    def _checked(self, neighbour: int, payload: bytes) -> Note:
        """Read a message; raises an error if it is not one, or its numbers are not."""
        note = Note.decode(payload)
        if note.kind in (Kind.OFFER, Kind.ANSWER):
            shapes = cast(Ready, self._ready).shapes
            decode(note.body, shapes, sender=neighbour, slot=note.updates)
        elif note.body:
            raise Refused("a message contains what does not belong there; start again.")
        return note

    def _go_on(self, ready: Ready | None = None) -> None:
        """Withdraw an offer that nobody gets; if the agent is idle, make one, or finish."""
        self._ready = ready or self._ready
        if self._ready is None or self.finished:
            return
        if withdrawn := self._pairing.to_withdraw():
            self._initiate(withdrawn)
        if self._pairing.phase is not Phase.IDLE:
            return
        if self.slot == self._clock.updates:
            self.finished = True
            self._around.on_change()
        elif (neighbour := self._pairing.choose(self._random)) is not None:
            self._initiate(Reply(neighbour, Kind.OFFER, self._outbox.n_sent[neighbour]))

    def _initiate(self, message: Reply) -> None:
        sent = self._send(message)
        self._pairing.sent(message)
        self._persist([], [sent], lambda: None)

    def _send(self, reply: Reply) -> Sent:
        """Return the record of a message to send."""
        note = Note(reply.kind, reply.offer)
        if reply.kind in (Kind.OFFER, Kind.ANSWER):
            fewest = self._pairing.fewest(reply.receiver)
            body = cast(Ready, self._ready).body
            note = Note(reply.kind, reply.offer, self.slot, body, fewest)
        return self._outbox.add(reply.receiver, note.encode())

    def _persist(
        self,
        records: list[Record],
        sent: list[Sent],
        then: Callable[[], None],
        meeting: Meeting | None = None,
    ) -> None:
        """Write records as one; then the messages may be sent, and a meeting may begin."""

        def written(_: object) -> None:
            for one in sent:
                self._outbox.written(one)
            then()
            if meeting is not None:
                self._begin(meeting)
            if sent:
                self._around.on_change()
            self._go_on()

        together = (*records, *sent)
        self._written += sum(len(getattr(record, "payload", b"")) for record in together)
        self._effects.persist(together, written)

    def _begin(self, meeting: Meeting) -> None:
        def update() -> tuple[State, StepReport, Ready]:
            number = self.slot
            return *meet(self.agent, number, meeting), ready_for(self.agent, number + 1)

        def met(result: object) -> None:
            entry, report, ready = cast(tuple[State, StepReport, Ready], result)
            self._note(meeting, entry, report)

            def go_on(_: object = None) -> None:
                self._pairing.met(self.slot)
                self._go_on(ready)

            self._around.on_change()
            if self._written >= self._around.checkpoint_bytes:
                self._effects.compute(
                    self.agent.snapshot, lambda snapshot: self._write_checkpoint(snapshot, go_on)
                )
            else:
                go_on()

        self._effects.compute(update, met)

    def _note(self, meeting: Meeting, entry: State, report: StepReport) -> None:
        self.meetings.append(Met(meeting.neighbour, meeting.note.updates))
        self._log.append((entry, report))
        self._effects.add(Report(report))

    def _write_checkpoint(self, snapshot: object, then: Callable[[object], None]) -> None:
        kept: list[Record] = [
            LinkCounts(one, self._outbox.n_sent[one], self._n_received[one], left)
            for one, left in self._pairing.left.items()
        ]
        kept += self._outbox.needed()
        finished = self.finished_neighbours | self._finishing
        kept += [NeighbourFinished(one) for one in sorted(finished)]
        checkpoint = Checkpoint(
            slot=self.slot,
            snapshot=cast(State, snapshot),
            log_entries=tuple(entry for entry, _ in self._log),
            reports=tuple(report for _, report in self._log),
            kept=tuple(kept),
        )
        self._log, self._written = [], 0
        self._effects.persist((checkpoint,), then)
