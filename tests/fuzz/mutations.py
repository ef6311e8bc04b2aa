"""Mutations of bytes, of documents and of safetensors files."""

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

# What json.dumps cannot write is put in as a mark and replaced in the text.
RAW = {
    "<deep list>": "[" * 20_000,
    "<deep object>": '{"a":' * 20_000,
    "<closed list>": "[" * 400 + "]" * 400,
    "<1e999>": "1e999",
    "<digits>": "9" * 5000,
    "<surrogate>": '"\\ud800"',
}
VALUES: tuple[Any, ...] = (
    *RAW,
    *(None, True, False, -1, 0, 1, 2, 3, 7, 100, 10**6),
    *(2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**100),
    *(0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf")),
    *("", "auto", "exact", "\x1b[2J", "é" * 9, "a" * 2000, "../../etc", "1"),
    *([], {}, [1], [[0, 1]], {"a": 1}, [[]], [None]),
)
NUMBERS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e308, 5e-324, 0.5)


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """Flip, set, cut, repeat or insert bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        place = rng.randrange(len(changed) + 1)
        length = rng.choice((1, 1, 2, 8, 64))
        kind = rng.randrange(6)
        if kind == 0 and changed:
            changed[place % len(changed)] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[place % len(changed)] = rng.randrange(256)
        elif kind == 2:
            del changed[place : place + length]
        elif kind == 3:
            changed[place:place] = changed[place : place + length]
        elif kind == 4:
            changed[place:place] = rng.randbytes(length)
        elif rng.random() < 0.3:
            del changed[place:]
    return bytes(changed)


def mutated_document(rng: Random, document: Any) -> Any:
    """Replace, remove, rename or exchange parts of a document of lists and dicts."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        inside = [one for one in _containers(changed) if one]
        if not inside:
            return rng.choice(VALUES)
        where = rng.choice(inside)
        key = rng.choice(list(where) if isinstance(where, dict) else range(len(where)))
        kind = rng.randrange(8)
        if kind == 0:
            del where[key]
        elif kind == 1 and isinstance(where, dict):
            where[rng.choice(("", "agent 9", "rank", "a", "<surrogate>"))] = where.pop(key)
        elif kind == 2 and isinstance(where, list):
            where.append(copy.deepcopy(where[key]))
        elif kind == 3:
            other = rng.choice(list(where) if isinstance(where, dict) else range(len(where)))
            where[key], where[other] = where[other], where[key]
        elif kind == 4 and type(where[key]) in (int, float):
            where[key] = where[key] + rng.choice((-1, 1, 0.5, 1000))
        else:
            where[key] = copy.deepcopy(rng.choice(VALUES))
    return changed


def json_text(document: Any) -> bytes:
    """Return a document as JSON, with what only text can express."""
    text = json.dumps(document)
    for mark, raw in RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return text.encode()


def mutated_json(rng: Random, data: bytes) -> bytes:
    """Mutate a JSON file as bytes or as a document."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, data)
    return json_text(mutated_document(rng, json.loads(data)))


def mutated_tensors(rng: Random, data: bytes) -> bytes:
    """Mutate a safetensors file: its bytes, its header or its numbers."""
    length = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + length], data[8 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        return mutated_bytes(rng, data)
    if kind == 1:
        header = json_text(mutated_document(rng, json.loads(header)))
        header += b" " * (-len(header) % 8)
        return len(header).to_bytes(8, "little") + header + body
    if kind == 2 and len(body) >= 8:
        changed = bytearray(body)
        for _ in range(rng.choice((1, 1, 4))):
            place = 8 * rng.randrange(len(changed) // 8)
            changed[place : place + 8] = rng.choice(EIGHT_BYTES)(rng)
        return data[: 8 + length] + bytes(changed)
    if kind == 3:
        claimed = rng.choice((0, 1, length - 1, length + 1, len(data), 2**31, 2**63, 2**64 - 1))
        return claimed.to_bytes(8, "little", signed=False) + data[8:]
    return data[: rng.randrange(len(data) + 1)]


def _double(rng: Random) -> bytes:
    import struct

    return struct.pack("<d", rng.choice(NUMBERS))


EIGHT_BYTES: tuple[Callable[[Random], bytes], ...] = (
    _double,
    lambda rng: rng.randbytes(8),
    lambda rng: rng.choice((-1, 0, 1, 2, 2**31, 2**62)).to_bytes(8, "little", signed=True),
)


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(one for part in value.values() for one in _containers(part))]
    if isinstance(value, list):
        return [value, *(one for part in value for one in _containers(part))]
    return []
