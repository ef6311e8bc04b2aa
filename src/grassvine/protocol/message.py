"""What agents send: a few named matrices. Their names and shapes are known before any arrives."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError

Shapes = Mapping[str, tuple[int, ...]]

# The header of a few names, types and shapes, written as JSON; it is bounded before it is read.
MOST_HEADER_BYTES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Arrays from one agent at one slot."""

    sender: int
    slot: int
    arrays: Mapping[str, Array]

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())


def encode(message: Message) -> bytes:
    """Write a message as safetensors."""
    address = {
        "sender": np.array([message.sender], dtype=np.int64),
        "slot": np.array([message.slot], dtype=np.int64),
    }
    return bytes(save({**address, **message.arrays}))


def decode(data: bytes, shapes: Shapes) -> Message:
    """Read a message whose arrays have the given names and shapes, or refuse it.

    Nothing is believed: the size is bounded before anything is read, and names, shapes and types
    must be the expected ones. The arrays are copied, so that their memory is aligned.
    """
    expected = 16 + sum(8 * math.prod(shape) for shape in shapes.values())
    if not expected < len(data) <= expected + MOST_HEADER_BYTES:
        raise MessageError(
            f"a message has {len(data)} bytes where {expected} and a short header were expected; "
            "the sender follows another plan."
        )
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise MessageError(
            f"a message cannot be read as safetensors ({cause}); it was altered or is no message."
        ) from None
    wanted = {"sender": (1,), "slot": (1,), **shapes}
    found = {name: array.shape for name, array in arrays.items()}
    if found != wanted:
        raise MessageError(
            f"a message holds {_named(found)} where {_named(wanted)} were expected; "
            "the sender follows another plan."
        )
    for name, array in arrays.items():
        kind = np.int64 if name in ("sender", "slot") else np.float64
        if array.dtype != kind:
            raise MessageError(
                f"{name!r} in a message is of type {array.dtype}, not {np.dtype(kind)}; "
                "the sender follows another plan."
            )
    return Message(
        sender=int(arrays["sender"][0]),
        slot=int(arrays["slot"][0]),
        arrays={name: arrays[name].copy() for name in shapes},
    )


def _named(shapes: Shapes) -> str:
    parts = (f"{name} {'×'.join(map(str, shape))}" for name, shape in sorted(shapes.items()))
    return ", ".join(parts) or "nothing"
