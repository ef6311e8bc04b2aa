"""One member of a run: a state machine without sockets, clock or threads.

:meth:`Member.handle` takes an event and returns effects. The member greets its neighbours, sends
what its walker has written to the journal, and acknowledges what the journal has received. It
leaves when it and all its neighbours have finished, and fails when a neighbour is missing for too
long; started again, it goes on from its journal.
"""

from collections.abc import Iterable, Sequence

from grassvine.engines.base import AgentFactory
from grassvine.engines.peers.member.asynchronous import AsynchronousWalker
from grassvine.engines.peers.member.conversation import Agreement, Conversation, Refused
from grassvine.engines.peers.member.effects import Effects
from grassvine.engines.peers.member.events import (
    Computed,
    Connected,
    Disconnect,
    Disconnected,
    Effect,
    Event,
    Fail,
    Leave,
    Persisted,
    Received,
    Send,
    Tick,
)
from grassvine.engines.peers.member.frames import (
    MAX_TEXT,
    WINDOW,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)
from grassvine.engines.peers.member.limits import Limits as Limits
from grassvine.engines.peers.member.records import Recovered
from grassvine.engines.peers.member.steps import Steps
from grassvine.engines.peers.member.walk import Around, Met, OwnClock, Walk
from grassvine.engines.peers.member.walker import Walker
from grassvine.foundations.errors import CheckpointError, PeerError
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent

STOPPED = "it stopped with an error, which it has shown at its own place."


class Member:
    """A member of a run.

    Parameters
    ----------
    agreement : Agreement
        What the members have agreed on.
    create : callable
        Creates the agent.
    course : Timetable or OwnClock
        The timetable of all members, or what the agent does without one.
    recovered : Recovered, optional
        What the journal holds from before.
    limits : Limits, optional
        Times, and when to write checkpoints.
    idle : iterable of int, optional
        Neighbours with a link on which the timetable may have no messages.
    """

    def __init__(
        self,
        agreement: Agreement,
        create: AgentFactory,
        course: Timetable | OwnClock,
        recovered: Recovered | None = None,
        limits: Limits | None = None,
        idle: Iterable[int] = (),
    ):
        self._agreement = agreement
        self._create = create
        self._limits = limits or Limits()
        self._effects = Effects()
        recovered = recovered or Recovered()
        around = Around(
            agreement.names,
            self._effects,
            self._limits.checkpoint_bytes,
            self._walked,
            lambda neighbour, reason: self._refuse(self.conversations[neighbour], reason),
        )
        self._walk: Walk
        if isinstance(course, OwnClock):
            self._walk = AsynchronousWalker(course, agreement.member, recovered, around)
        else:
            self._walk = Walker(Steps(course, agreement.member), recovered, around, idle)
        self.conversations = {
            neighbour: Conversation(
                agreement, neighbour, link.incoming, link.outgoing, received=link.received
            )
            for neighbour, link in self._walk.links.items()
        }
        self._told_finished = False
        self._over = False
        self._now = self._progress = self._heartbeat = -1.0  # no time is known yet
        self._heard: dict[int, float] = {}

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        return self._walk.agent

    @property
    def meetings(self) -> Sequence[Met]:
        """The meetings so far, unless a timetable says them."""
        return self._walk.meetings

    @property
    def slot(self) -> int:
        """The current slot."""
        return self._walk.slot

    @property
    def finished(self) -> bool:
        """Whether the agent has finished."""
        return self._walk.finished

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """The neighbours without which the agent cannot go on."""
        return self._walk.waiting_for

    def n_waiting(self, neighbour: int) -> int:
        """Return how many messages of a neighbour wait for their slots."""
        return self._walk.n_waiting(neighbour)

    def start(self) -> list[Effect]:
        """Begin to walk."""
        self._walk.start(self._create)
        return self._effects.take()

    def handle(self, event: Event) -> list[Effect]:
        """Take an event and return what to do."""
        if self._over:
            return []
        match event:
            case Computed(ticket, result, error):
                if error is None:
                    self._effects.done(ticket, result)
                else:
                    self._fail(error)
            case Persisted(ticket):
                self._effects.done(ticket)
            case Connected(neighbour):
                self._disconnect(self.conversations[neighbour])
                self._heard[neighbour] = self._now
                self._send(neighbour, self.conversations[neighbour].connect(self.finished))
            case Disconnected(neighbour):
                self._disconnect(self.conversations[neighbour])
            case Received(neighbour, frame):
                if self.conversations[neighbour].connected:
                    self._receive(self.conversations[neighbour], frame)
            case Tick(now):
                self._tick(now)
        self._leave_if_done()
        return self._effects.take()

    def _walked(self) -> None:
        """Note that the walker has moved, or has something to send."""
        self._progress = self._now
        self._send_due()
        for conversation in self.conversations.values():
            if conversation.unacknowledged:
                self._acknowledge(conversation)
        if self.finished and not self._told_finished:
            self._told_finished = True
            self._send_status()

    def _receive(self, conversation: Conversation, frame: Frame) -> None:
        neighbour = conversation.neighbour
        self._heard[neighbour] = self._now
        bound = self._walk.bound(neighbour, conversation.received, self._agreement.max_message)
        greeted = conversation.greeted
        try:
            if isinstance(frame, Data) and self._walk.n_waiting(neighbour) > 3 * WINDOW:
                raise Refused("messages are sent too far ahead of their slots; start again.")
            message = conversation.receive(frame, bound)
        except Refused as refusal:
            self._refuse(conversation, str(refusal), passing=refusal.passing)
            return
        if message is not None:
            slot, payload = message
            self._walk.deliver(
                neighbour, slot, payload, lambda: self._acknowledge(conversation, slot + 1)
            )
        elif isinstance(frame, Hello | Status) and frame.finished:
            self._walk.note_finished(neighbour, lambda: self._acknowledge(conversation))
        self._note_acknowledged(conversation)
        if conversation.greeted and not greeted and not self._over:
            self._walk.connected(neighbour)
        self._send_due()

    def _acknowledge(self, conversation: Conversation, received: int = 0) -> None:
        """Confirm what is on disk, unless too many messages wait for their slots."""
        if received > conversation.received:
            conversation.received = received
            self._progress = self._now
        ahead = self._walk.n_waiting(conversation.neighbour) > WINDOW
        conversation.unacknowledged = ahead
        if conversation.greeted and not ahead:
            finished = conversation.neighbour in self._walk.finished_neighbours
            self._send(conversation.neighbour, Ack(conversation.received, finished))

    def _note_acknowledged(self, conversation: Conversation) -> None:
        try:
            self._walk.acknowledged(conversation.neighbour, conversation.acknowledged)
        except CheckpointError as error:
            self._fail(error)

    def _send_due(self) -> None:
        for neighbour, conversation in self.conversations.items():
            for frame in conversation.due(self._walk.outgoing_to(neighbour)):
                self._send(neighbour, frame)

    def _refuse(self, conversation: Conversation, reason: str, *, passing: bool = False) -> None:
        if reason:
            self._send(conversation.neighbour, Refusal(reason[:MAX_TEXT]))
        self._disconnect(conversation)
        reason = reason or conversation.refusal
        self._effects.add(Disconnect(conversation.neighbour, reason, passing))

    def _disconnect(self, conversation: Conversation) -> None:
        conversation.disconnect()
        self._walk.disconnected(conversation.neighbour)

    def _tick(self, now: float) -> None:
        if self._now < 0.0:
            self._progress = self._heartbeat = now
            self._heard = dict.fromkeys(self.conversations, now)
        self._now = now
        if now - self._heartbeat >= self._limits.heartbeat:
            self._send_status()
        for neighbour, conversation in self.conversations.items():
            if conversation.connected and now - self._heard[neighbour] > self._limits.silence:
                self._disconnect(conversation)
                self._effects.add(Disconnect(neighbour, "nothing was heard for too long"))
        idle = now - self._progress
        if self.finished:
            missing = tuple(
                one for one in self._unfinished() if not self.conversations[one].connected
            )
            if missing and idle > self._limits.patience:
                self._leave(missing)
            elif not self._unfinished() and idle > self._limits.grace:
                self._leave(())
        elif idle > self._limits.patience and self.waiting_for:
            self._fail(self._missing())

    def _missing(self) -> PeerError:
        names = [self._agreement.names[other] for other in self.waiting_for]
        refusals = [
            f" ({one.refusal.rstrip('.')})" for one in self.conversations.values() if one.refusal
        ]
        return PeerError(
            f"nothing came from {', '.join(names)} for {self._limits.patience:g} seconds"
            f"{''.join(refusals)}; run the same command again when it can be reached, and the run "
            "goes on where it was."
        )

    def _unfinished(self) -> list[int]:
        """Return the neighbours that may still need something from this member."""
        finished = self._walk.finished_neighbours
        return [neighbour for neighbour in self.conversations if neighbour not in finished]

    def _leave_if_done(self) -> None:
        """Leave when no neighbour needs anything more, and all know that this member does not."""
        confirmed = all(one.confirmed for one in self.conversations.values())
        if self.finished and confirmed and not self._unfinished() and not self._over:
            self._leave(())

    def _leave(self, missing: tuple[int, ...]) -> None:
        self._send_status()
        self._effects.add(Leave(missing))
        self._over = True

    def _fail(self, error: Exception) -> None:
        for neighbour, conversation in self.conversations.items():
            if conversation.greeted:
                self._send(neighbour, Refusal(STOPPED))
        self._effects.add(Fail(error))
        self._over = True

    def _send(self, neighbour: int, frame: Frame) -> None:
        self._effects.add(Send(neighbour, frame))

    def _send_status(self) -> None:
        self._heartbeat = self._now
        status = Status(self.slot, self.finished, self.waiting_for)
        for neighbour, conversation in self.conversations.items():
            if conversation.greeted:
                self._send(neighbour, status)
