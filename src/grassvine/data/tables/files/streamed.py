"""Reader for delimited text in blocks of lines, so that the text is not in memory as a whole.

It reads what the whole text would give, or nothing: files with quotation marks, blank or invalid
lines, or a word far below the numbers of a column are left to :mod:`delimited`.

A column of integers is parsed as such, which alone would read 007 as 7. But the usual notation of
an integer is the shortest, so all fields of a block have it if, together, they are as long.
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from grassvine.data.tables.files.content import BYTE_ORDER_MARK
from grassvine.data.tables.files.delimited import (
    FIELD_BYTES,
    SUBSTITUTE,
    Dialect,
    column_names,
    head_of,
    records,
    sniff,
)
from grassvine.data.tables.files.json_lines import is_json_lines, is_json_list
from grassvine.data.tables.files.narrow import narrowed_column, of_one_type
from grassvine.data.tables.files.numerals import integers_of, numbers_of
from grassvine.foundations.errors import DataError, noting
from grassvine.foundations.memory import require_memory
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

FIRST_BLOCK, BLOCK = 2**18, 2**22  # bytes; the first block tells which columns are integers
NUMBER_BYTES = 20  # peak memory per number while a table is read and numbered; measured
LARGEST_EXACT = 10**15  # integers below keep their value as floats, and their form as numbers
PARSED = 0.9  # the share of reading the blocks, before they are joined


def stream_delimited(
    file: BinaryIO,
    name: str,
    separator: str | None,
    header: bool | None,
    first_line: int = 1,
    watch: Watch | None = None,
    *,
    narrow: bool = False,
) -> "tuple[pl.DataFrame, tuple[str, ...], Sequence[int]] | None":
    """Return the frame, notes and line of each row as ``read_delimited`` does, or None.

    With ``narrow``, columns of integers become Int32 if all values fit, except in a single block.
    """
    size = file.seek(0, io.SEEK_END)
    narrow = narrow and size > FIRST_BLOCK
    file.seek(0)
    for _ in range(first_line - 1):
        file.readline()
    start = file.tell()
    data = _lines(file, FIRST_BLOCK)
    if start == 0:
        data = data.removeprefix(BYTE_ORDER_MARK)
    if not data.strip() or is_json_lines(data) or is_json_list(data):
        return None
    text = head_of(data, name, first_line)
    dialect = sniff(text, name, separator, header)
    with noting(dialect.assumed):
        file.seek(start)
        found = _read(file, size, text, name, dialect, narrow, part_of(watch, 0.0, PARSED))
    if found is None:
        return None
    blocks, names = found
    joining, columns = part_of(watch, PARSED, 1.0), []
    for place, column in enumerate(names):
        one = _joined(column, [block.pop(0) for block in blocks], rechunk=not narrow)
        if one is None:
            return None
        columns.append(one)
        joining((place + 1) / len(names))
    import polars as pl

    frame = pl.DataFrame(columns)
    below = first_line + dialect.header
    return frame, dialect.assumed, range(below, below + len(frame))


def _read(
    file: BinaryIO, size: int, text: str, name: str, dialect: Dialect, narrow: bool, watch: Watch
) -> "tuple[list[list[pl.Series]], list[str]] | None":
    """Return the columns of each block and their names."""
    start = file.tell()
    names = column_names(records(text, dialect.separator)[0], dialect.header, name)
    if dialect.header:
        first = file.readline()
        if start == 0:
            first = first.removeprefix(BYTE_ORDER_MARK)
        if not first.strip():
            return None  # a blank line before the header
    elif start == 0 and file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        file.seek(start)
    blocks: list[list[pl.Series]] = []
    for data in _blocks(file):
        _require_memory(data, size - file.tell(), blocks, len(names), name)
        columns = _columns(data, dialect.separator, names, blocks)
        if columns is None:
            return None
        blocks.append([narrowed_column(column) for column in columns] if narrow else columns)
        watch(file.tell() / size)
    return (blocks, names) if blocks else None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    size = FIRST_BLOCK
    while data := _lines(file, size):
        yield data
        size = BLOCK


def _lines(file: BinaryIO, size: int) -> bytes:
    return file.read(size) + file.readline()


def _require_memory(
    data: bytes, left: int, blocks: "list[list[pl.Series]]", n_columns: int, name: str
) -> None:
    """Refuse a file whose rest has too many rows, if its lines are as long as those of a block."""
    import polars as pl

    kinds = [column.dtype for column in blocks[-1]] if blocks else [pl.Int64] * n_columns
    row = sum(FIELD_BYTES if kind == pl.String else NUMBER_BYTES for kind in kinds)
    rows = data.count(b"\n") * (1 + left / len(data))
    require_memory(int(row * (1 + rows)), name, DataError)


def _columns(
    data: bytes, separator: str, names: list[str], before: "list[list[pl.Series]]"
) -> "list[pl.Series] | None":
    """Return the columns of a block, or None if it is not one row per line."""
    import polars as pl

    if len(separator.encode()) > 1:
        data = data.replace(separator.encode(), SUBSTITUTE.encode())
        separator = SUBSTITUTE
    elif b'"' in data:
        return None
    whole = [column.name for column in before[-1] if column.dtype.is_integer()] if before else []
    frame = None
    if whole:
        frame = _parsed(data, separator, names, whole)
        if frame is None or not _in_usual_notation(frame, data, whole):
            frame = None
    if frame is None:
        frame = _parsed(data, separator, names, [])
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if frame is None or len(frame) != n_lines:
        return None
    if frame.select(pl.all_horizontal(pl.all().is_null()).any()).item():
        return None  # a blank line
    columns = [_as_numbers(column) if column.dtype == pl.String else column for column in frame]
    kept = [column for column in columns if column is not None]
    return kept if len(kept) == len(columns) else None


def _parsed(
    data: bytes, separator: str, names: list[str], whole: list[str]
) -> "pl.DataFrame | None":
    import polars as pl

    try:
        return pl.read_csv(
            data,
            has_header=False,
            schema={name: pl.Int64 if name in whole else pl.String for name in names},
            separator=separator,
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None


def _in_usual_notation(frame: "pl.DataFrame", data: bytes, whole: list[str]) -> bool:
    """Return whether no field is missing, and all integers are written without more characters."""
    import polars as pl

    n_rows, n_columns = frame.shape
    if any(column.null_count() for column in frame):
        return False
    n_breaks = n_rows - (not data.endswith(b"\n"))
    if data[: data.find(b"\n")].endswith(b"\r"):
        n_breaks *= 2
    lengths = [pl.col(name).str.len_bytes().sum() for name in frame.columns if name not in whole]
    for name in whole:
        number, lengths = pl.col(name), [*lengths, pl.len(), (pl.col(name) < 0).sum()]
        digits = max(len(str(frame[name].max())), len(str(frame[name].min())))
        lengths += [(number.abs() >= 10**k).sum() for k in range(1, min(digits, 19))]
    fields = sum(frame.select(one.alias(str(k)) for k, one in enumerate(lengths)).row(0))
    return bool(fields + n_rows * (n_columns - 1) + n_breaks == len(data))


def _as_numbers(column: "pl.Series") -> "pl.Series | None":
    """Convert text as ``numbers_of`` does, from the distinct fields if they are few.

    None if integers are among spaces or missing ones: whether they are numbers depends on the size
    of others.
    """
    import polars as pl

    distinct = column.unique()
    numbers = numbers_of(distinct)
    if numbers.dtype == pl.Int64 and integers_of(distinct) is None:
        return None
    if numbers.dtype == pl.String:
        return column
    if len(distinct) > len(column) // 8:
        return numbers_of(column)
    if distinct.cast(numbers.dtype, strict=False).null_count() > distinct.null_count():
        return numbers_of(column)  # spaces, or words for missing numbers
    return column.cast(numbers.dtype)


def _joined(name: str, parts: "list[pl.Series]", *, rechunk: bool) -> "pl.Series | None":
    """Return the parts of a column as one, or None if only some of them are numbers."""
    import polars as pl

    parts = list(of_one_type(parts))
    kinds = {part.dtype for part in parts}
    if len(kinds) > 1:
        if pl.String in kinds or any(_exceeds_floats(part) for part in parts):
            return None
        parts = [part.cast(pl.Float64) for part in parts]
    return pl.concat(parts, rechunk=rechunk).alias(name)


def _exceeds_floats(part: "pl.Series") -> bool:
    import polars as pl

    return part.dtype == pl.Int64 and bool((part.abs() >= LARGEST_EXACT).any())
