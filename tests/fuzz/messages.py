"""Mutated messages."""

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from tests.fuzz.mutations import NUMBERS, mutated_tensors
from tests.fuzz.outcome import Outcome, tried

from grassvine.protocol import Message, decode, encode
from grassvine.protocol.message import Shapes, WordShape

COUNT = 120_000
SENDER, SLOT = 3, 17


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Decode mutants of three messages."""
    return tried(_mutants(count, Random(f"messages {seed}")))


def _mutants(count: int, rng: Random) -> Iterator[tuple[str, Callable[[], str | None]]]:
    numbers = np.random.default_rng(0)
    samples: list[dict[str, np.ndarray]] = [
        {"basis": numbers.standard_normal((6, 2))},
        {"sum": numbers.standard_normal(9), "checksum": np.ones(1)},
        {"sum": numbers.integers(2**64, size=9, dtype=np.uint64), "checksum": np.ones(1)},
        {"frame": numbers.standard_normal((4, 2)), "content": np.ones(1), "facts": np.zeros((0,))},
    ]
    for number in range(count):
        arrays = rng.choice(samples)
        shapes = {
            name: WordShape(array.shape) if array.dtype == np.uint64 else array.shape
            for name, array in arrays.items()
        }
        if rng.random() < 0.2:
            data = encode(_forged(rng, arrays))
        else:
            data = mutated_tensors(rng, encode(Message(SENDER, SLOT, arrays)))
        yield f"message {number}", lambda data=data, shapes=shapes: _read(data, shapes)  # type: ignore[misc]


def _forged(rng: Random, arrays: dict[str, np.ndarray]) -> Message:
    """A well-formed message with another address or other numbers."""
    sender = rng.choice((SENDER, -1, 0, 2, 2**31, 2**62, -(2**63)))
    slot = rng.choice((SLOT, -1, 0, SLOT - 1, SLOT + 1, 2**62))
    changed = {name: array.copy() for name, array in arrays.items()}
    for array in changed.values():
        if array.size and rng.random() < 0.5:
            with np.errstate(invalid="ignore"):  # of numbers that are no words
                new = np.array(rng.choice(NUMBERS)).astype(array.dtype)
            array.flat[rng.randrange(array.size)] = new
    return Message(sender, slot, changed)


def _read(data: bytes, shapes: Shapes) -> str | None:
    message = decode(data, shapes, sender=SENDER, slot=SLOT)
    if (message.sender, message.slot) != (SENDER, SLOT):
        return f"agent {message.sender}, slot {message.slot}"
    for name, array in message.arrays.items():
        kind = np.uint64 if isinstance(shapes[name], WordShape) else np.float64
        if array.dtype != kind or not np.isfinite(array).all():
            return f"{name} is {array}"
    found = {name: array.shape for name, array in message.arrays.items()}
    return None if found == dict(shapes) else f"shapes {found}"
