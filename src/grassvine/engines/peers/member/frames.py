"""What two members send each other on a link, as plain values.

A *frame* is a part of the conversation on one link. :class:`Hello` opens it on both sides;
:class:`Data` carries a part of an agent's message of one slot; :class:`Ack` confirms what is on
the receiver's disk; :class:`Status` tells that the sender is alive and
where it is; :class:`Refusal` ends the conversation with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

# Both sides must have the same version; there is one number for frames and their meaning.
PROTOCOL_VERSION = 1
# The largest part of a message in one frame, and the largest frame.
MAX_CHUNK = 2**19
MAX_FRAME = MAX_CHUNK + 2**16
MAX_TEXT = 1000  # characters of a reason
# How many messages may be under way on a link, and how many may wait at the receiver for their
# slots before it stops to acknowledge.
WINDOW = 8
# The encodings of payloads, which the plan names: arrays of float64 as safetensors.
PLAIN = 0


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame of both sides.

    Attributes
    ----------
    version : int
        The sender's ``PROTOCOL_VERSION``.
    member : int
        The sender's number in the plan.
    plan : bytes
        SHA-256 digest of the plan.
    digests : mapping of str to bytes
        A digest of each entry of the plan, so that members whose plans differ can name the entry.
    signature : bytes
        The sender's signature of the plan.
    received : int
        All messages of slots below this one are on the sender's disk.
    finished : bool
        Whether the sender's agent has finished.
    """

    version: int
    member: int
    plan: bytes
    digests: Mapping[str, bytes] = field(default_factory=dict)
    signature: bytes = b""
    received: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """The bytes from ``offset`` on of the message of a slot, which has ``size`` bytes in all."""

    slot: int
    size: int
    offset: int
    body: bytes | memoryview
    encoding: int = PLAIN


@dataclass(frozen=True, slots=True)
class Ack:
    """All messages of slots below ``received`` are on the sender's disk.

    ``finished`` says that the news that the receiver's agent has finished is there, too.
    """

    received: int
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """The sender is alive, at a slot; for display, whom it waits for and what its clock shows."""

    slot: int
    finished: bool
    waiting_for: tuple[int, ...] = ()
    clock: float = 0.0  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Refusal:
    """The sender ends the conversation and says why."""

    reason: str


Frame: TypeAlias = Hello | Data | Ack | Status | Refusal
