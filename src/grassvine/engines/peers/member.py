"""One member of a run: a state machine without sockets, clock or threads.

:meth:`Member.handle` takes an event and returns effects. The member greets its neighbours, sends
what its walker has written to the journal, and acknowledges what the journal has received. It
leaves when it and all its neighbours have finished, and fails when a neighbour is missing for too
long; started again, it goes on from its journal.
"""

from dataclasses import dataclass

from grassvine.engines.base import AgentFactory
from grassvine.engines.peers.conversation import Agreement, Conversation, Refused
from grassvine.engines.peers.effects import Effects
from grassvine.engines.peers.events import (
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
from grassvine.engines.peers.frames import (
    MAX_TEXT,
    WINDOW,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)
from grassvine.engines.peers.steps import Steps
from grassvine.engines.peers.walker import Recovered, Walker
from grassvine.foundations.errors import CheckpointError, PeerError
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent

STOPPED = "it stopped with an error, which it has shown at its own place."


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, and when to write checkpoints.

    Attributes
    ----------
    patience : float
        How long to wait for neighbours without any progress.
    grace : float
        How long a member waits for the last confirmations when all its neighbours have finished.
    heartbeat : float
        Time between two :class:`Status` frames.
    silence : float
        A connection on which nothing arrives for so long is closed.
    checkpoint_bytes : int
        Write a checkpoint after this many bytes of messages.
    """

    patience: float = 3600.0
    grace: float = 30.0
    heartbeat: float = 15.0
    silence: float = 60.0
    checkpoint_bytes: int = 2**26


class Member:
    """A member of a run.

    Parameters
    ----------
    agreement : Agreement
        What the members have agreed on.
    create : callable
        Creates the agent.
    timetable : Timetable
        The timetable of all members.
    recovered : Recovered, optional
        What the journal holds from before.
    limits : Limits, optional
        Times, and when to write checkpoints.
    """

    def __init__(
        self,
        agreement: Agreement,
        create: AgentFactory,
        timetable: Timetable,
        recovered: Recovered | None = None,
        limits: Limits | None = None,
    ):
        self._agreement = agreement
        self._create = create
        self._limits = limits or Limits()
        self._effects = Effects()
        recovered = recovered or Recovered()
        steps = Steps(timetable, agreement.member)
        self._walker = Walker(
            steps, recovered, self._effects, self._limits.checkpoint_bytes, self._walked
        )
        self.conversations = {
            neighbour: Conversation(
                agreement,
                neighbour,
                incoming=steps.incoming.get(neighbour, []),
                outgoing=steps.outgoing.get(neighbour, []),
                received=recovered.received_from(neighbour),
            )
            for neighbour in sorted({*steps.incoming, *steps.outgoing})
        }
        self._told_finished = False
        self._over = False
        self._now = self._progress = self._heartbeat = -1.0  # no time is known yet
        self._heard: dict[int, float] = {}

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        return self._walker.agent

    @property
    def slot(self) -> int:
        """The current slot."""
        return self._walker.slot

    @property
    def finished(self) -> bool:
        """Whether the agent has finished."""
        return self._walker.finished

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """The neighbours whose messages of the current slot are missing."""
        return self._walker.waiting_for

    def n_waiting(self, neighbour: int) -> int:
        """Return how many messages of a neighbour wait for their slots."""
        return self._walker.n_waiting(neighbour)

    def start(self) -> list[Effect]:
        """Begin to walk."""
        self._walker.start(self._create)
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
                self._heard[neighbour] = self._now
                self._send(neighbour, self.conversations[neighbour].connect(self.finished))
            case Disconnected(neighbour):
                self.conversations[neighbour].disconnect()
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
        bound = self._walker.bound(neighbour, conversation.received, self._agreement.max_message)
        try:
            if isinstance(frame, Data) and self._walker.n_waiting(neighbour) > 3 * WINDOW:
                raise Refused("messages are sent too far ahead of their slots; start again.")
            message = conversation.receive(frame, bound)
        except Refused as refusal:
            self._refuse(conversation, str(refusal))
            return
        if message is not None:
            slot, payload = message
            self._walker.deliver(
                neighbour, slot, payload, lambda: self._acknowledge(conversation, slot + 1)
            )
        elif isinstance(frame, Hello | Status) and frame.finished:
            self._walker.note_finished(neighbour, lambda: self._acknowledge(conversation))
        self._check_acknowledged(conversation)
        self._send_due()

    def _acknowledge(self, conversation: Conversation, received: int = 0) -> None:
        """Confirm what is on disk, unless too many messages wait for their slots."""
        if received > conversation.received:
            conversation.received = received
            self._progress = self._now
        ahead = self._walker.n_waiting(conversation.neighbour) > WINDOW
        conversation.unacknowledged = ahead
        if conversation.greeted and not ahead:
            finished = conversation.neighbour in self._walker.finished_neighbours
            self._send(conversation.neighbour, Ack(conversation.received, finished))

    def _check_acknowledged(self, conversation: Conversation) -> None:
        """Forget what all receivers have, and fail if a neighbour has more than was sent."""
        for slot in conversation.outgoing:
            if slot >= conversation.acknowledged:
                break
            if not self._walker.has_sent(slot):
                self._fail(
                    CheckpointError(
                        f"{conversation.name} already has the message of slot {slot}, which this "
                        "member has not sent yet: its folder is older than the run; restore the "
                        "newest one, or begin a new plan."
                    )
                )
                return
        needed = {
            slot
            for one in self.conversations.values()
            for slot in self._walker.outgoing
            if slot >= one.acknowledged and slot in one.outgoing_slots
        }
        for slot in list(self._walker.outgoing):
            if slot not in needed and slot < self.slot:
                del self._walker.outgoing[slot]

    def _send_due(self) -> None:
        for neighbour, conversation in self.conversations.items():
            for frame in conversation.due(self._walker.outgoing):
                self._send(neighbour, frame)

    def _refuse(self, conversation: Conversation, reason: str) -> None:
        if reason:
            self._send(conversation.neighbour, Refusal(reason[:MAX_TEXT]))
        conversation.disconnect()
        reason = reason or conversation.refusal
        self._effects.add(Disconnect(conversation.neighbour, reason))

    def _tick(self, now: float) -> None:
        if self._now < 0.0:
            self._progress = self._heartbeat = now
            self._heard = dict.fromkeys(self.conversations, now)
        self._now = now
        if now - self._heartbeat >= self._limits.heartbeat:
            self._send_status()
        for neighbour, conversation in self.conversations.items():
            if conversation.connected and now - self._heard[neighbour] > self._limits.silence:
                conversation.disconnect()
                self._effects.add(Disconnect(neighbour, "nothing was heard for too long"))
        idle = now - self._progress
        if self.finished:
            missing = tuple(other for other in self._unfinished() if not self._connected(other))
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
        finished = self._walker.finished_neighbours
        return [neighbour for neighbour in self.conversations if neighbour not in finished]

    def _connected(self, neighbour: int) -> bool:
        return self.conversations[neighbour].connected

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
