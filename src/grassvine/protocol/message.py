"""Messages between agents: named arrays whose names and shapes the receiver knows in advance.

Arrays are of float64, or of uint64 where the receiver expects :class:`WordShape`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from grassvine.foundations.errors import MessageError

Shapes = Mapping[str, tuple[int, ...]]

# Bound on the JSON header of names, types and shapes, checked before the header is parsed.
MAX_HEADER_BYTES = 4096
SAME_PLAN = "run sender and receiver with the same plan."


class WordShape(tuple[int, ...]):
    """The shape of an array of uint64, integers modulo 2^64."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Named arrays sent by one agent at one slot.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.protocol import Message
    >>> Message(sender=0, slot=3, arrays={"basis": np.eye(4)[:, :2]}).nbytes
    64
    """

    sender: int
    slot: int
    arrays: Mapping[str, NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """The total size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays.values())


def encode(message: Message) -> bytes:
    """Serialise a message as safetensors.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.protocol import Message, encode
    >>> isinstance(encode(Message(0, 3, {"basis": np.eye(4)[:, :2]})), bytes)
    True
    """
    address = {
        "sender": np.array([message.sender], dtype=np.int64),
        "slot": np.array([message.slot], dtype=np.int64),
    }
    # safetensors writes the memory of an array as it is, whatever its order.
    arrays = {name: np.asarray(array, order="C") for name, array in message.arrays.items()}
    return bytes(save({**address, **arrays}))


def decode(data: bytes, shapes: Shapes, *, sender: int, slot: int) -> Message:
    """Deserialise the message of a sender at a slot, or raise :class:`MessageError`.

    The data are untrusted: the size is checked before anything is parsed, then the names, shapes,
    types and values (:func:`checked_message`). The arrays share no memory with the data.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.protocol import Message, decode, encode
    >>> data = encode(Message(0, 3, {"basis": np.eye(4)[:, :2]}))
    >>> decode(data, {"basis": (4, 2)}, sender=0, slot=3).arrays["basis"].shape
    (4, 2)
    """
    what = _named(sender, slot)
    expected = _content_bytes(shapes)
    if not expected < len(data) <= encoded_bound(shapes):
        raise MessageError(
            f"{what} has {len(data)} bytes, not {expected} plus a short header; {SAME_PLAN}"
        )
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise MessageError(
            f"{what} is not valid safetensors ({cause}); it was altered, so send it again."
        ) from None
    wanted = {"sender": (1,), "slot": (1,), **shapes}
    _check_shapes(arrays, wanted, what)
    for name in ("sender", "slot"):
        _check_type(name, arrays[name], np.int64, what)
    message = Message(
        sender=int(arrays["sender"][0]),
        slot=int(arrays["slot"][0]),
        arrays={name: arrays[name] for name in shapes},
    )
    return checked_message(message, shapes, sender=sender, slot=slot)


def encoded_bound(shapes: Shapes) -> int:
    """Return the largest size in bytes of an encoded message with these arrays."""
    return _content_bytes(shapes) + MAX_HEADER_BYTES


def checked_message(message: Message, shapes: Shapes, *, sender: int, slot: int) -> Message:
    """Return the message expected from a sender at a slot, or raise :class:`MessageError`.

    Floats must be finite; the arrays returned are aligned and C-ordered. Every engine
    checks every message with this function before an agent receives it, so that an error names the
    sender rather than an agent that used the numbers later.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.foundations.errors import MessageError
    >>> from grassvine.protocol import Message, checked_message
    >>> message = Message(0, 3, {"basis": np.full((4, 2), np.nan)})
    >>> try:
    ...     checked_message(message, {"basis": (4, 2)}, sender=0, slot=3)
    ... except MessageError as error:
    ...     print(str(error).split(";")[0])
    'basis' in the message that agent 0 sent at slot 3 contains nan
    """
    what = _named(sender, slot)
    if (message.sender, message.slot) != (sender, slot):
        raise MessageError(
            f"{what} claims to be from agent {message.sender} at slot {message.slot}; "
            f"fix agent {sender}."
        )
    _check_shapes(message.arrays, shapes, what)
    for name, array in message.arrays.items():
        words = isinstance(shapes[name], WordShape)
        _check_type(name, array, np.uint64 if words else np.float64, what)
        if not words and not np.isfinite(array).all():
            value = array[~np.isfinite(array)][0]
            raise MessageError(
                f"{name!r} in {what} contains {value}; check the data of agent {sender}, "
                "or choose smaller steps."
            )
    return Message(sender, slot, {name: _in_order(message.arrays[name]) for name in shapes})


def _in_order(array: NDArray[Any]) -> NDArray[Any]:
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=["C", "A"])


def _content_bytes(shapes: Shapes) -> int:
    return 16 + sum(8 * math.prod(shape) for shape in shapes.values())


def _named(sender: int, slot: int) -> str:
    return f"the message that agent {sender} sent at slot {slot}"


def _check_shapes(arrays: Mapping[str, NDArray[Any]], shapes: Shapes, what: str) -> None:
    found = {name: array.shape for name, array in arrays.items()}
    if found != dict(shapes):
        raise MessageError(
            f"{what} contains {_described(found)}, not {_described(shapes)}; {SAME_PLAN}"
        )


def _check_type(name: str, array: NDArray[Any], kind: type[np.generic], what: str) -> None:
    if array.dtype != kind:
        raise MessageError(
            f"{name!r} in {what} is of type {array.dtype}, not {np.dtype(kind)}; {SAME_PLAN}"
        )


def _described(shapes: Shapes) -> str:
    parts = (f"{name} {'×'.join(map(str, shape))}" for name, shape in sorted(shapes.items()))
    return ", ".join(parts) or "nothing"
