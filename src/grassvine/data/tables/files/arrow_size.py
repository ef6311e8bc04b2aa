"""The size of Arrow data after decompression, from the metadata of its record batches.

The metadata are FlatBuffers. Those of files list their batches in a footer; a batch that is listed
twice is read twice. A compressed buffer starts with its uncompressed length.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF
FIELD_BYTES = 16  # of a value in memory, at most, without the characters of text
DICTIONARY_BATCH, RECORD_BATCH = 2, 3


@dataclass(frozen=True, slots=True)
class ArrowSize:
    """The numbers of rows and bytes of Arrow data, and whether they are compressed."""

    rows: int
    n_bytes: int
    compressed: bool


def arrow_size(data: bytes) -> ArrowSize:
    """Return the size of an Arrow file or stream; raise ValueError if its metadata are invalid."""
    try:
        places = _file_batches(data) if data.startswith(MAGIC) else _stream_messages(data)
        sizes = [_batch_size(data, *place) for place in places]
    except (struct.error, IndexError, OverflowError) as cause:
        raise ValueError(f"invalid metadata: {cause}") from None
    return ArrowSize(
        sum(size.rows for size in sizes),
        sum(size.n_bytes for size in sizes),
        any(size.compressed for size in sizes),
    )


def _file_batches(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the metadata and the body of each batch in the footer of a file."""
    (length,) = _unpack("<i", data, len(data) - 10)
    footer = _root(data, len(data) - 10 - length)
    for slot in (2, 3):  # dictionaries and record batches
        for place in _structs(data, footer, slot, 24):
            offset, metadata_bytes = _unpack("<qi", data, place)
            first, second = _unpack("<Ii", data, offset)
            prefix = 8 if first == CONTINUATION else 4
            if metadata_bytes < prefix or second < 0:
                raise ValueError("invalid metadata: a batch has no message")
            yield offset + prefix, offset + metadata_bytes


def _stream_messages(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the metadata and the body of each message of a stream."""
    place = 0
    while place + 8 <= len(data):
        first, length = _unpack("<Ii", data, place)
        if first != CONTINUATION or length < 0:
            raise ValueError("invalid metadata: a message has no length")
        if length == 0:
            return
        body = place + 8 + length
        yield place + 8, body
        table = _root(data, place + 8)
        place = body + max(_scalar(data, table, 3, "<q"), 0)


def _batch_size(data: bytes, place: int, body: int) -> ArrowSize:
    message = _root(data, place)
    kind = _scalar(data, message, 1, "<B")
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return ArrowSize(0, 0, False)
    batch = _table(data, message, 2)
    if kind == DICTIONARY_BATCH:
        batch = _table(data, batch, 1)
    rows = _scalar(data, batch, 0, "<q")
    nodes = [_unpack("<q", data, node)[0] for node in _structs(data, batch, 1, 16)]
    compressed = bool(_field(data, batch, 3))
    n_bytes = 0
    for buffer in _structs(data, batch, 2, 16):
        offset, length = _unpack("<qq", data, buffer)
        if compressed and length >= 8:
            length = max(length, _unpack("<q", data, body + offset)[0])  # −1: stored as it is
        n_bytes += max(length, 0)
    if rows < 0 or any(node < 0 for node in nodes):
        raise ValueError("invalid metadata: a batch has a negative number of rows")
    n_bytes = max(n_bytes, FIELD_BYTES * (sum(nodes) or rows))
    return ArrowSize(rows if kind == RECORD_BATCH else 0, n_bytes, compressed)


def _root(data: bytes, place: int) -> int:
    return place + int(_unpack("<I", data, place)[0])


def _field(data: bytes, table: int, slot: int) -> int:
    """Return the place of a field of a table, or 0 if it is absent."""
    vtable = table - _unpack("<i", data, table)[0]
    (size,) = _unpack("<H", data, vtable)
    if 4 + 2 * slot >= size:
        return 0
    (offset,) = _unpack("<H", data, vtable + 4 + 2 * slot)
    return table + offset if offset else 0


def _scalar(data: bytes, table: int, slot: int, kind: str) -> int:
    place = _field(data, table, slot)
    return int(_unpack(kind, data, place)[0]) if place else 0


def _table(data: bytes, table: int, slot: int) -> int:
    if not (place := _field(data, table, slot)):
        raise ValueError("invalid metadata: a message has no content")
    return _root(data, place)


def _structs(data: bytes, table: int, slot: int, size: int) -> Iterator[int]:
    """Yield the places of the structs in a vector."""
    if place := _field(data, table, slot):
        vector = _root(data, place)
        (count,) = _unpack("<I", data, vector)
        if vector + 4 + size * count > len(data):
            raise ValueError("invalid metadata: a list ends after the file")
        yield from range(vector + 4, vector + 4 + size * count, size)


def _unpack(kind: str, data: bytes, place: int) -> tuple[int, ...]:
    if place < 0:  # struct would count from the end
        raise ValueError("invalid metadata: an offset is negative")
    return struct.unpack_from(kind, data, place)
