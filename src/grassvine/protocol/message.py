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
_FLOAT, _WORD, _INTEGER = (np.dtype(kind) for kind in (np.float64, np.uint64, np.int64))


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
        return sum([array.nbytes for array in self.arrays.values()])


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
    _check_shapes(arrays, wanted, sender, slot)
    for name in ("sender", "slot"):
        _check_type(name, arrays[name], _INTEGER, sender, slot)
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
    if (message.sender, message.slot) != (sender, slot):
        raise MessageError(
            f"{_named(sender, slot)} claims to be from agent {message.sender} at slot "
            f"{message.slot}; fix agent {sender}."
        )
    given = message.arrays
    _check_shapes(given, shapes, sender, slot)
    in_order = True
    for name, shape in shapes.items():
        array, words = given[name], type(shape) is WordShape
        _check_type(name, array, _WORD if words else _FLOAT, sender, slot)
        in_order = in_order and _is_in_order(array)
        if not words and not _is_finite(array):
            value = array[~np.isfinite(array)][0]
            raise MessageError(
                f"{name!r} in {_named(sender, slot)} contains {value}; check the data of agent "
                f"{sender}, or choose smaller steps."
            )
    if in_order:
        return message
    arrays = {name: np.require(array, requirements=["C", "A"]) for name, array in given.items()}
    return Message(sender, slot, arrays)


def _is_finite(array: NDArray[Any]) -> bool:
    """Return whether all numbers are finite; a sum of squares that overflows does not tell."""
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def _is_in_order(array: NDArray[Any]) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def _content_bytes(shapes: Shapes) -> int:
    return 16 + sum(8 * math.prod(shape) for shape in shapes.values())


def _named(sender: int, slot: int) -> str:
    return f"the message that agent {sender} sent at slot {slot}"


def _check_shapes(
    arrays: Mapping[str, NDArray[Any]], shapes: Shapes, sender: int, slot: int
) -> None:
    found = {name: array.shape for name, array in arrays.items()}
    if found != shapes:
        raise MessageError(
            f"{_named(sender, slot)} contains {_described(found)}, not {_described(shapes)}; "
            f"{SAME_PLAN}"
        )


def _check_type(
    name: str, array: NDArray[Any], kind: np.dtype[Any], sender: int, slot: int
) -> None:
    if array.dtype != kind:
        raise MessageError(
            f"{name!r} in {_named(sender, slot)} is of type {array.dtype}, not {kind}; {SAME_PLAN}"
        )


def _described(shapes: Shapes) -> str:
    parts = (f"{name} {'×'.join(map(str, shape))}" for name, shape in sorted(shapes.items()))
    return ", ".join(parts) or "nothing"
