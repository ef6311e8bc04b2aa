"""Frames as bytes: protocol buffers, checked completely when they are read.

Unknown fields, and fields given twice or in a longer form than needed, are refused. Of the greeting
of another version of the protocol only the version is read, so that the members can name both.
"""

import math
from collections.abc import Callable
from typing import Any

from grassvine.engines.peers.member.frames import (
    MAX_CHUNK,
    MAX_FRAME,
    MAX_TEXT,
    PLAIN,
    PROTOCOL_VERSION,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)
from grassvine.engines.peers.transport.extra import load_peers_extra
from grassvine.foundations.errors import MessageError

MAX_INTEGER = 2**53  # slots, sizes and seconds are below; every float64 below it is exact
MAX_MEMBERS = 2**16
MAX_DIGESTS = 2**12
MAX_KEY = 200  # characters
MAX_SIGNATURE = 2**10
DIGEST_LENGTH = 32  # of SHA-256
# The tags of the fields Frame.data and Data.body: number and kind (2, bytes of a given length).
DATA_FIELD = bytes([2 << 3 | 2])
BODY_FIELD = bytes([4 << 3 | 2])
ENCODINGS = frozenset({PLAIN})


def encode(frame: Frame) -> bytes:
    """Return a frame as bytes."""
    schema = load_peers_extra("grassvine.engines.peers.transport.frames_pb2")
    match frame:
        case Hello():
            hello = schema.Hello(
                version=frame.version,
                member=frame.member,
                plan=frame.plan,
                digests=dict(frame.digests),
                signature=frame.signature,
                received=frame.received,
                finished=frame.finished,
            )
            message = schema.Frame(hello=hello)
        case Data(slot, size, offset, body, encoding):
            rest = schema.Data(slot=slot, size=size, offset=offset, encoding=encoding)
            return b"".join([_head(rest.SerializeToString(), len(body)), body])
        case Ack(received, finished):
            message = schema.Frame(ack=schema.Ack(received=received, finished=finished))
        case Status(slot, finished, waiting_for, clock):
            status = schema.Status(
                slot=slot, finished=finished, waiting_for=waiting_for, clock=clock
            )
            message = schema.Frame(status=status)
        case Refusal(reason):
            message = schema.Frame(refusal=schema.Refusal(reason=reason))
    return bytes(message.SerializeToString(deterministic=True))


def decode(data: bytes) -> Frame:
    """Return the frame that bytes say; raises :class:`MessageError` unless all of it is valid."""
    if len(data) > MAX_FRAME:
        raise MessageError(f"a frame has {len(data)} bytes; at most {MAX_FRAME} are allowed.")
    schema = load_peers_extra("grassvine.engines.peers.transport.frames_pb2")
    try:
        message = schema.Frame.FromString(data)
    except load_peers_extra("google.protobuf.message").DecodeError:
        raise MessageError("a frame is not a valid protocol buffer.") from None
    variant = message.WhichOneof("variant")
    if variant is None:
        raise MessageError("a frame is empty or of an unknown kind.")
    if variant == "hello" and message.hello.version != PROTOCOL_VERSION:
        return Hello(message.hello.version, 0, bytes(DIGEST_LENGTH))
    content = getattr(message, variant)
    body = content.body if variant == "data" else b""
    if body:
        content.ClearField("body")
        length = len(_head(content.SerializeToString(), len(body))) + len(body)
    else:
        length = message.ByteSize()
    if length != len(data) or _has_unknown_fields(message, content):
        raise MessageError(f"a frame ({variant}) has unknown or repeated fields.")
    return _data(content, body) if variant == "data" else _READERS[variant](content)


def _head(rest: bytes, length: int) -> bytes:
    """Return what precedes the body of :class:`Data`, whose other fields are ``rest``.

    The library of protocol buffers would write the same, and copy the body four times.
    """
    head = rest + BODY_FIELD + _varint(length)
    return DATA_FIELD + _varint(len(head) + length) + head


def _varint(number: int) -> bytes:
    """Return a number as protocol buffers write it: seven bits a byte, the lowest first."""
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def _has_unknown_fields(*messages: Any) -> bool:
    unknown = load_peers_extra("google.protobuf.unknown_fields").UnknownFieldSet
    return any(len(unknown(message)) for message in messages)


def _hello(message: Any) -> Hello:
    digests = message.digests
    _within("the number of digests of a greeting", len(digests), MAX_DIGESTS + 1)
    for key, digest in digests.items():
        if not 0 < len(key) <= MAX_KEY:
            raise MessageError(
                f"a greeting has a key of {len(key)} characters, not 1 to {MAX_KEY}."
            )
        _is_digest(f"of {key!r}", digest)
    _is_digest("of the plan", message.plan)
    _within("the length of a signature", len(message.signature), MAX_SIGNATURE + 1)
    return Hello(
        version=message.version,
        member=_within("the number of a member", message.member, MAX_MEMBERS),
        plan=message.plan,
        digests=dict(digests),
        signature=message.signature,
        received=_within("the slot of a greeting", message.received, MAX_INTEGER),
        finished=message.finished,
    )


def _data(message: Any, body: bytes) -> Data:
    size = _within("the size of a message", message.size, MAX_INTEGER)
    offset = _within("the offset of a part", message.offset, MAX_INTEGER)
    if not 0 < len(body) <= MAX_CHUNK:
        raise MessageError(f"a part of a message has {len(body)} bytes, not 1 to {MAX_CHUNK}.")
    if offset + len(body) > size:
        raise MessageError(
            f"a part of a message ends at byte {offset + len(body)}, but the message has {size}."
        )
    if message.encoding not in ENCODINGS:
        raise MessageError(f"a message has the unknown encoding {message.encoding}.")
    slot = _within("the slot of a message", message.slot, MAX_INTEGER)
    return Data(slot, size, offset, body, message.encoding)


def _ack(message: Any) -> Ack:
    received = _within("the slot of an acknowledgement", message.received, MAX_INTEGER)
    return Ack(received, message.finished)


def _status(message: Any) -> Status:
    _within("the number of members waited for", len(message.waiting_for), MAX_MEMBERS)
    waiting_for = tuple(message.waiting_for)
    for member in waiting_for:
        _within("the number of a member", member, MAX_MEMBERS)
    clock = message.clock
    if not math.isfinite(clock) or not 0 <= clock < MAX_INTEGER:
        raise MessageError(f"the clock of a status shows {clock}, which is no time since 1970.")
    slot = _within("the slot of a status", message.slot, MAX_INTEGER)
    return Status(slot, message.finished, waiting_for, clock)


def _refusal(message: Any) -> Refusal:
    reason = message.reason
    if not 0 < len(reason) <= MAX_TEXT:
        raise MessageError(f"a refusal has {len(reason)} characters, not 1 to {MAX_TEXT}.")
    return Refusal(reason)


_READERS: dict[str, Callable[[Any], Frame]] = {
    "hello": _hello,
    "ack": _ack,
    "status": _status,
    "refusal": _refusal,
}


def _within(what: str, value: int, below: int) -> int:
    if not 0 <= value < below:
        raise MessageError(f"{what} is {value}, but must be below {below}.")
    return value


def _is_digest(whose: str, digest: bytes) -> None:
    if len(digest) != DIGEST_LENGTH:
        raise MessageError(
            f"the digest {whose} in a greeting has {len(digest)} bytes, not {DIGEST_LENGTH}."
        )
