"""Messages between agents: named arrays whose names and shapes the receiver knows in advance."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError

Shapes = Mapping[str, tuple[int, ...]]

# Bound on the JSON header of names, types and shapes, checked before the header is parsed.
MAX_HEADER_BYTES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Named arrays sent by one agent at one slot."""

    sender: int
    slot: int
    arrays: Mapping[str, Array]

    @property
    def nbytes(self) -> int:
        """The total size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays.values())


def encode(message: Message) -> bytes:
    """Serialise a message as safetensors."""
    address = {
        "sender": np.array([message.sender], dtype=np.int64),
        "slot": np.array([message.slot], dtype=np.int64),
    }
    return bytes(save({**address, **message.arrays}))


def decode(data: bytes, shapes: Shapes) -> Message:
    """Deserialise a message, or raise :class:`MessageError` if it is not as expected.

    The data are untrusted: the size is checked before anything is parsed, then the names, shapes
    and types. The arrays are copied, so that their memory is aligned.
    """
    expected = 16 + sum(8 * math.prod(shape) for shape in shapes.values())
    if not expected < len(data) <= expected + MAX_HEADER_BYTES:
        raise MessageError(
            f"a message has {len(data)} bytes, not {expected} plus a short header; "
            "run sender and receiver with the same plan."
        )
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise MessageError(
            f"a message is not valid safetensors ({cause}); it was altered, so send it again."
        ) from None
    wanted = {"sender": (1,), "slot": (1,), **shapes}
    found = {name: array.shape for name, array in arrays.items()}
    if found != wanted:
        raise MessageError(
            f"a message contains {_described(found)}, not {_described(wanted)}; "
            "run sender and receiver with the same plan."
        )
    for name, array in arrays.items():
        kind = np.int64 if name in ("sender", "slot") else np.float64
        if array.dtype != kind:
            raise MessageError(
                f"{name!r} in a message is of type {array.dtype}, not {np.dtype(kind)}; "
                "run sender and receiver with the same plan."
            )
    return Message(
        sender=int(arrays["sender"][0]),
        slot=int(arrays["slot"][0]),
        arrays={name: arrays[name].copy() for name in shapes},
    )


def _described(shapes: Shapes) -> str:
    parts = (f"{name} {'×'.join(map(str, shape))}" for name, shape in sorted(shapes.items()))
    return ", ".join(parts) or "nothing"
