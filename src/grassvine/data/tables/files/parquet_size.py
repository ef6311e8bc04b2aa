"""The size of a Parquet file after decompression, and its groups of rows, from its footer.

The footer is FileMetaData of the Parquet format in Thrift's compact protocol.
"""

from typing import Any

FIELD_BYTES = 16  # of a value in memory, at most, without the characters of text
MAX_DEPTH = 32
STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)

# Numbers of fields in the format's definition.
SCHEMA, NUM_ROWS, ROW_GROUPS = 2, 3, 4
NUM_CHILDREN = 5
COLUMNS, ROWS_IN_GROUP = 1, 3
META_DATA = 3
NUM_VALUES, TOTAL_UNCOMPRESSED_SIZE = 5, 6


def parquet_size(data: bytes) -> int:
    """Return about how many bytes the table takes; raise ValueError if the footer is invalid."""
    footer = _footer(data)
    try:
        n_columns = sum(not element.get(NUM_CHILDREN) for element in footer[SCHEMA])
        chunks = [
            column[META_DATA]
            for group in footer.get(ROW_GROUPS, ())
            for column in group.get(COLUMNS, ())
        ]
        n_values = sum(max(chunk[NUM_VALUES], 0) for chunk in chunks)
        uncompressed = sum(max(chunk[TOTAL_UNCOMPRESSED_SIZE], 0) for chunk in chunks)
        n_fields = max(footer[NUM_ROWS] * n_columns, n_values)
        return int(FIELD_BYTES * n_fields + uncompressed)
    except (KeyError, IndexError, TypeError, AttributeError) as cause:
        raise _invalid(cause) from None


def parquet_groups(data: bytes) -> list[int]:
    """Return the number of rows of each group; raise ValueError if the footer is invalid."""
    footer = _footer(data)
    try:
        sizes = [int(group[ROWS_IN_GROUP]) for group in footer.get(ROW_GROUPS, ())]
        if min(sizes, default=0) < 0 or sum(sizes) != footer[NUM_ROWS]:
            raise ValueError("invalid footer: its groups of rows are not those of the table")
    except (KeyError, TypeError, AttributeError) as cause:
        raise _invalid(cause) from None
    return sizes


def _footer(data: bytes) -> dict[int, Any]:
    length = int.from_bytes(data[-8:-4], "little")
    if length + 12 > len(data):
        raise ValueError("the footer is longer than the file")
    try:
        return _Reader(data, len(data) - 8 - length, len(data) - 8).struct(MAX_DEPTH)
    except (IndexError, TypeError) as cause:
        raise _invalid(cause) from None


def _invalid(cause: Exception) -> ValueError:
    return ValueError(f"invalid footer: {type(cause).__name__} {cause}")


class _Reader:
    """A reader of Thrift's compact protocol; a struct is a dict from field numbers to values."""

    def __init__(self, data: bytes, place: int, end: int):
        self._data, self._place, self._end = data, place, end

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            fields[number] = kind == TRUE if kind <= FALSE else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth == 0:
            raise ValueError("the footer is nested too deeply")
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind in (I16, I32, I64):
            return self._integer()
        if kind == DOUBLE:
            return self._skip(8)
        if kind == BINARY:
            return self._skip(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth - 1) for _ in range(count)]
        if kind == MAP:
            if count := self._varint():
                kinds = self._byte()
                for _ in range(count):
                    self._value(kinds >> 4, depth - 1)
                    self._value(kinds & 15, depth - 1)
            return None
        if kind == STRUCT:
            return self.struct(depth - 1)
        raise ValueError(f"the footer contains a field of unknown type {kind}")

    def _integer(self) -> int:
        """Return a signed integer, whose sign is in its lowest bit."""
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        if (number := self._byte()) < 128:
            return number
        number &= 127
        for shift in range(7, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("the footer contains an integer that is too long")

    def _byte(self) -> int:
        place = self._place
        self._place = place + 1
        return self._data[place]

    def _skip(self, count: int) -> None:
        self._place += count
        if self._place > self._end:
            raise ValueError("the footer is truncated")
