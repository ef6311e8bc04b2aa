"""The conversation of a member with one neighbour, over any number of connections.

Messages of a slot are cut into :class:`Data` frames and put together again in order. What arrives
twice changes nothing; what does not belong here ends the connection with a reason. A message leaves
the conversation when it is complete, and is acknowledged when the member says that it is on disk.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grassvine.engines.peers.member.frames import (
    MAX_CHUNK,
    MAX_TEXT,
    PROTOCOL_VERSION,
    WINDOW,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)

# The entry among the digests of a plan that says which part of the run a member is in.
PART = "part of the run"
OTHER_PART = "the neighbour is in another part of the run; both go on when they are in the same."


@dataclass(frozen=True)
class Agreement:
    """What the members of a run have agreed on, as one of them sees it.

    Attributes
    ----------
    member : int
        Its own number.
    names : sequence of str
        The names of all members.
    plan : bytes
        SHA-256 digest of the plan.
    digests : mapping of str to bytes
        A digest of each entry of the plan.
    signature : bytes
        Its own signature of the plan.
    verify : callable
        Whether a signature of the plan is that of a member.
    encoding : int
        How payloads are encoded.
    max_message : int
        The largest message in bytes.
    """

    member: int
    names: Sequence[str]
    plan: bytes
    digests: Mapping[str, bytes] = field(default_factory=dict)
    signature: bytes = b""
    verify: Callable[[int, bytes], bool] = lambda member, signature: True
    encoding: int = 0
    max_message: int = 2**30


class Refused(Exception):
    """The connection must end; the neighbour is told the reason.

    ``passing`` says that it is only not yet time for it.
    """

    def __init__(self, reason: str, *, passing: bool = False):
        super().__init__(reason)
        self.passing = passing


@dataclass
class Conversation:
    """The state of the conversation with one neighbour.

    Attributes
    ----------
    incoming, outgoing : sequences of int
        The slots at which the neighbour sends and receives.
    received, acknowledged : int
        All messages of slots below these are on disk, here and there.
    confirmed : bool
        Whether the neighbour has on disk that this member has finished.
    unacknowledged : bool
        Whether an acknowledgement is held back, because too many messages wait for their slots.
    connected, greeted : bool
        Whether there is a connection, and whether both sides have accepted it.
    refusal : str
        Why the last connection ended, if one side refused it.
    last_status : Status or None
        The last that was heard.
    """

    agreement: Agreement
    neighbour: int
    incoming: Sequence[int]
    outgoing: Sequence[int]
    received: int = 0
    acknowledged: int = 0
    confirmed: bool = False
    unacknowledged: bool = False
    connected: bool = False
    greeted: bool = False
    refusal: str = ""
    last_status: Status | None = None
    _complete: int = 0  # all messages of slots below it have arrived, if not yet on disk
    _sent: int = 0  # all messages of slots below it were sent on this connection
    _size: int = -1  # of the message that is arriving
    _parts: list[bytes | memoryview] = field(default_factory=list)
    _arrived: int = 0  # bytes of the parts

    @property
    def name(self) -> str:
        """The neighbour's name."""
        return self.agreement.names[self.neighbour]

    def connect(self, finished: bool) -> Hello:
        """Begin a connection and return the greeting."""
        self.disconnect()
        self.connected = True
        mine = self.agreement
        return Hello(
            version=PROTOCOL_VERSION,
            member=mine.member,
            plan=mine.plan,
            digests=mine.digests,
            signature=mine.signature,
            received=self.received,
            finished=finished,
        )

    def disconnect(self) -> None:
        """Forget what belongs to the connection."""
        self.connected = self.greeted = False
        self._size, self._parts, self._arrived = -1, [], 0
        self._complete = self.received

    def receive(self, frame: Frame, bound: int) -> tuple[int, bytes] | None:
        """Take a frame; return the slot and payload of the message that it completes, if any.

        ``bound`` is the largest size of the next message. Raises :class:`Refused` if the
        connection must end.
        """
        if isinstance(frame, Refusal):
            if frame.reason == OTHER_PART:
                raise Refused("", passing=True)
            self.refusal = f"{self.name} refused: {frame.reason}"
            raise Refused("")
        if isinstance(frame, Hello):
            self._greet(frame)
        elif not self.greeted:
            raise Refused("a frame came before the greeting; start again.")
        elif isinstance(frame, Data):
            return self._collect(frame, bound)
        elif isinstance(frame, Ack):
            self.acknowledged = max(self.acknowledged, frame.received)
            self.confirmed = self.confirmed or frame.finished
        else:
            self.last_status = frame
        return None

    def due(self, payloads: Mapping[int, bytes]) -> Iterator[Data]:
        """Yield the frames of all payloads to send now, by slot; they then count as sent."""
        if not self.greeted:
            return
        first = bisect_left(self.outgoing, max(self._sent, self.acknowledged))
        last = bisect_left(self.outgoing, self.acknowledged) + WINDOW
        for slot in self.outgoing[first:last]:
            payload = payloads.get(slot)
            if payload is None:  # not computed yet
                return
            self._sent = slot + 1
            view = memoryview(payload)  # so that what waits to be sent is not in memory twice
            for offset in range(0, len(payload), MAX_CHUNK):
                body = view[offset : offset + MAX_CHUNK]
                yield Data(slot, len(payload), offset, body, self.agreement.encoding)

    def _greet(self, hello: Hello) -> None:
        if self.greeted:  # the same frame again
            return
        mine = self.agreement
        if hello.version != PROTOCOL_VERSION:
            raise self._refused(
                f"{self.name} speaks version {hello.version} of the protocol and "
                f"{mine.names[mine.member]} version {PROTOCOL_VERSION}; install the same version "
                "of grassvine."
            )
        if hello.member != self.neighbour:
            raise self._refused(
                f"{self.name} calls itself member {hello.member}, not {self.neighbour}; "
                "compare the plans."
            )
        if hello.plan != mine.plan and _differing(mine.digests, hello.digests) == [PART]:
            raise Refused(OTHER_PART, passing=True)
        if hello.plan != mine.plan:
            raise self._refused(
                f"the plans of {self.name} and {mine.names[mine.member]} differ"
                f"{_difference(mine.digests, hello.digests)}; give all members the same file."
            )
        if not mine.verify(self.neighbour, hello.signature):
            raise self._refused(
                f"the signature of {self.name} does not match its card; it must sign the plan "
                "with the key of its card."
            )
        if hello.received < self.acknowledged:
            raise self._refused(
                f"{self.name} has lost messages that it had acknowledged, from slot "
                f"{hello.received} on; restore its newest folder, or begin a new plan."
            )
        self.greeted, self.refusal = True, ""
        self._sent = self.acknowledged = hello.received

    def _collect(self, frame: Data, bound: int) -> tuple[int, bytes] | None:
        if frame.slot < self._complete:  # it has arrived before
            return None
        place = bisect_left(self.incoming, self._complete)
        if place == len(self.incoming) or self.incoming[place] != frame.slot:
            raise Refused(f"no message is due at slot {frame.slot}; compare the plans.")
        if frame.encoding != self.agreement.encoding:
            raise Refused(f"encoding {frame.encoding} is not that of the plan.")
        if not 0 < frame.size <= bound:
            raise Refused(
                f"the message of slot {frame.slot} has {frame.size} bytes; at most {bound} are "
                "expected."
            )
        if self._size >= 0 and frame.size != self._size:
            raise Refused(f"the message of slot {frame.slot} changes its size; start again.")
        end = frame.offset + len(frame.body)
        if end <= self._arrived:  # it has arrived before
            return None
        if frame.offset != self._arrived or end > frame.size:
            raise Refused(f"a part of the message of slot {frame.slot} is missing; start again.")
        self._size, self._arrived = frame.size, end
        self._parts.append(frame.body)
        if end < frame.size:
            return None
        payload = b"".join(self._parts)
        self._size, self._parts, self._arrived = -1, [], 0
        self._complete = frame.slot + 1
        return frame.slot, payload

    def _refused(self, reason: str) -> Refused:
        self.refusal = reason
        return Refused(reason)


def _difference(mine: Mapping[str, bytes], other: Mapping[str, bytes]) -> str:
    """Return the entries in which two plans differ, as part of a sentence."""
    keys = _differing(mine, other)
    shown = ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
    return f" in {shown}"[:MAX_TEXT] if keys else ""


def _differing(mine: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    return sorted(key for key in {*mine, *other} if mine.get(key) != other.get(key))
