"""Reader for tables in files: delimited text, Parquet, Feather and JSON, also with gzip or zip.

The format is detected from the content; whatever is not specified is detected and reported.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grassvine.data.tables.files.arrow_size import arrow_size
from grassvine.data.tables.files.content import (
    BYTE_ORDER_MARK,
    BYTE_ORDER_MARKS,
    LONGEST_LINE,
    ZIP,
    as_utf8,
    decompressed,
    extract_table,
    is_foreign,
    refuse_foreign,
    without_rows,
)
from grassvine.data.tables.files.delimited import read_delimited
from grassvine.data.tables.files.json_lines import (
    is_json_lines,
    is_json_list,
    read_json_lines,
    read_json_list,
)
from grassvine.data.tables.files.narrow import narrow_parquet
from grassvine.data.tables.files.parquet_size import parquet_size
from grassvine.data.tables.files.streamed import stream_delimited
from grassvine.foundations.errors import DataError, noting
from grassvine.foundations.memory import require_memory
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

# Peak memory while a table is read and numbered, in multiples of its size; measured with ratings.
COPIES = 2
JSON_COPIES = 8  # of the text: every value becomes a Python object
LARGE = 2**24  # bytes of a table in a Parquet file that is read in batches
DECODED = 0.1  # the share of loading and decoding a CSV file; measured with seven million rows

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
FORMATS = "CSV, TSV, Parquet, Feather or JSON"
READERS = {b"PAR1": "read_parquet", b"ARROW1": "read_ipc", b"\xff\xff\xff\xff": "read_ipc_stream"}
UNSUPPORTED = {
    b"FEA1": "is a Feather file of version 1; save it as Feather 2 or Parquet",
    b"SQLite format 3": "is an SQLite database; export the table as CSV or Parquet",
    b"\x89HDF": "is an HDF5 file; export the table as CSV or Parquet",
}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table read from a file, notes on what was assumed, and the line of each row of a text."""

    frame: "pl.DataFrame"
    assumed: tuple[str, ...] = ()
    lines: Sequence[int] | None = None


def read_table(
    source: str | os.PathLike[str],
    *,
    separator: str | None = None,
    header: bool | None = None,
    skip_rows: int = 0,
    encoding: str | None = None,
    narrow: bool = False,
    watch: Watch | None = None,
) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    source : path or "-"
        CSV, TSV, other delimited text (``;``, ``|`` or ``::`` as in MovieLens), Parquet, Feather,
        Arrow, JSON lines or a JSON list of objects, optionally compressed with gzip or as the only
        table in a zip archive; ``-`` is standard input.
    separator : str, optional
        Separator of the fields in a text file; detected by default.
    header : bool, optional
        Whether the first line of a text file names the columns; detected by default.
    skip_rows : int, default=0
        Number of lines before the table in a text file.
    encoding : str, optional
        Encoding of a text file; UTF-8 by default, and UTF-16 if there is a byte order mark.
    narrow : bool, default=False
        Whether columns of integers in large plain text and Parquet files become Int32 if all values
        fit.
    watch : callable, optional
        Called with the completed fraction after each step of reading text; Parquet, Feather and
        Arrow are read in one step.

    Notes
    -----
    A column of a text file becomes integers only if every field is an integer in its usual
    notation: 007, +49170 and integers of 2⁶³ or more are ids and stay text.
    """
    name = "standard input" if os.fspath(source) == "-" else str(source)
    whole_number("skip_rows", skip_rows, least=0, error=DataError)
    if encoding is None and _is_plain_text(source):
        with open(source, "rb") as file:
            streamed = stream_delimited(
                file, name, separator, header, 1 + skip_rows, watch, narrow=narrow
            )
        if streamed is not None:
            return Table(*streamed)
    data, member = _content(source), name
    assumed: tuple[str, ...] = ()
    if data.startswith(ZIP):
        data, member = extract_table(data, name)
        assumed = (f"{member} was read from {name}.",)
        name = f"{member} in {name}"
    data = decompressed(data, name)
    refuse_foreign(data[:LONGEST_LINE], name)
    for magic, reader in READERS.items():
        if data.startswith(magic):
            return Table(_columnar(data, reader, name, narrow), assumed)
    for magic, reason in UNSUPPORTED.items():
        if data.startswith(magic):
            raise DataError(f"{name} {reason}.")
    data, decoded = as_utf8(data, name, encoding)
    assumed += decoded
    data = without_rows(data, name, skip_rows)
    reading = part_of(watch, DECODED, 1.0)
    reading(0.0)
    by_suffix = Path(member.removesuffix(".gz")).suffix.lower()
    with noting(assumed):
        is_list = is_json_list(data)
        if is_list or is_json_lines(data) or by_suffix in JSON_SUFFIXES:
            require_memory(JSON_COPIES * len(data), name, DataError)
            if is_list:
                return Table(read_json_list(data, name), assumed)
            frame, lines = read_json_lines(data, name, 1 + skip_rows, reading)
        else:
            frame, more, lines = read_delimited(
                data, name, separator, header, 1 + skip_rows, reading
            )
            assumed += more
    return Table(frame, assumed, lines)


def _is_plain_text(source: str | os.PathLike[str]) -> bool:
    """Return whether a file may be delimited text in UTF-8; else its content tells what it is."""
    try:
        with open(source, "rb") as file:
            head = file.read(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK)
            require_memory(COPIES * os.fstat(file.fileno()).st_size, str(source), DataError)
    except OSError:
        return False
    if head.startswith((*READERS, *UNSUPPORTED, *BYTE_ORDER_MARKS)):
        return False
    return not is_foreign(head) and Path(source).suffix.lower() not in JSON_SUFFIXES


def _content(source: str | os.PathLike[str]) -> bytes:
    try:
        if os.fspath(source) == "-":
            return sys.stdin.buffer.read()
        require_memory(COPIES * os.path.getsize(source), str(source), DataError)
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{source} does not exist; use an existing file ({FORMATS}).") from None
    except IsADirectoryError:
        raise DataError(f"{source} is a folder; use a table file inside it.") from None
    except OSError as cause:
        raise DataError(
            f"{source} cannot be read ({cause.strerror}); check the path and its permissions."
        ) from None


def _columnar(data: bytes, reader: str, name: str, narrow: bool) -> "pl.DataFrame":
    import polars as pl

    try:
        size = parquet_size(data) if reader == "read_parquet" else arrow_size(data).n_bytes
        require_memory(COPIES * size, name, DataError)
        in_batches = narrow and reader == "read_parquet" and size > LARGE
        frame: pl.DataFrame = narrow_parquet(data) if in_batches else getattr(pl, reader)(data)
    except DataError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as cause:
        raise DataError(f"{name} cannot be read ({cause}); save it again.") from None
    check_column_types(frame.schema, name)
    if not len(frame):
        raise DataError(f"{name} has columns but no rows; use a table with at least one row.")
    return frame


def check_column_types(schema: "Mapping[str, pl.DataType]", name: str) -> None:
    """Raise an error for columns of nested, object or extension types."""
    for column, kind in schema.items():
        if kind.is_nested() or not _is_plain(kind):
            raise DataError(
                f"the column {column!r} of {name} is of type {kind}; remove it, or save it as "
                "numbers, text or dates."
            )


def _is_plain(kind: "pl.DataType") -> bool:
    import polars as pl

    return kind != pl.Object and not isinstance(kind, getattr(pl, "BaseExtension", ()))
