"""Users' tables in files: CSV and its kin, Parquet, Feather, JSON lines; packed with gzip or not.

The form is seen in the content. Where the file leaves something open, it is sniffed and told.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grassvine.data.tables.delimited import read_delimited
from grassvine.data.tables.json_lines import is_json_lines, read_json_lines
from grassvine.data.tables.text import BYTE_ORDER_MARK, LONGEST_LINE, refuse_foreign
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

GZIP = b"\x1f\x8b"
LARGEST_GROWTH = 200  # of a packed file; ratings grow to about ten times their size
CHUNK = 2**20

FORMS = "CSV, TSV, Parquet, Feather or JSON lines"
READERS = {b"PAR1": "read_parquet", b"ARROW1": "read_ipc", b"\xff\xff\xff\xff": "read_ipc_stream"}
OTHERS = {
    b"FEA1": "is of the first version of Feather; write it anew as Feather 2 or Parquet",
    b"SQLite format 3": "is a database; export the table as CSV or Parquet",
    b"\x89HDF": "is HDF5; export the table as CSV or Parquet",
    b"[": "is one JSON list; write one object a line (JSON lines)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table as read, and sentences that say what was assumed about its file."""

    frame: "pl.DataFrame"
    assumed: tuple[str, ...] = ()


def read_table(
    source: str | os.PathLike[str], *, separator: str | None = None, header: bool | None = None
) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    source : path or "-"
        CSV, TSV, other text with separators (``;``, ``|`` or MovieLens' ``::``), Parquet, Feather,
        Arrow or JSON lines, also packed with gzip; ``-`` is standard input.
    separator : str, optional
        What separates the fields of a text; sniffed unless told.
    header : bool, optional
        Whether the first line of a text names the columns; sniffed unless told.

    Notes
    -----
    A column of text is whole numbers only where all of it is, each written as one would write it:
    007, +49170 and numbers beyond 2⁶³ are ids and stay text.
    """
    name = "standard input" if os.fspath(source) == "-" else str(source)
    data = _unpacked(_content(source), name)
    refuse_foreign(data[:LONGEST_LINE], name)
    for magic, reader in READERS.items():
        if data.startswith(magic):
            return Table(_columnar(data, reader, name))
    by_suffix = Path(name.removesuffix(".gz")).suffix.lower()
    if is_json_lines(data) or by_suffix in (".jsonl", ".ndjson"):
        return Table(read_json_lines(data, name))
    for magic, reason in OTHERS.items():
        if data.startswith(magic):
            raise DataError(f"{name} {reason}.")
    return Table(*read_delimited(data, name, separator, header))


def _content(source: str | os.PathLike[str]) -> bytes:
    try:
        return sys.stdin.buffer.read() if os.fspath(source) == "-" else Path(source).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{source} does not exist; give a table as {FORMS}.") from None
    except IsADirectoryError:
        raise DataError(f"{source} is a folder; give the file of the table in it.") from None
    except OSError as cause:
        raise DataError(
            f"{source} cannot be read ({cause.strerror}); give a file that you may read."
        ) from None


def _unpacked(data: bytes, name: str) -> bytes:
    """The content of what was packed with gzip, without the mark of its encoding."""
    if data.startswith(GZIP):
        whole = bytearray()
        try:
            with gzip.open(io.BytesIO(data)) as packed:
                while chunk := packed.read(CHUNK):
                    whole += chunk
                    if len(whole) > LARGEST_GROWTH * len(data) + CHUNK:
                        raise DataError(
                            f"{name} grows to more than {LARGEST_GROWTH} times its size; unpack it "
                            "yourself, if you trust it."
                        )
        except (gzip.BadGzipFile, EOFError, zlib.error) as cause:
            raise DataError(f"{name} is cut off or altered ({cause}); get it anew.") from None
        data = bytes(whole)
    return data.removeprefix(BYTE_ORDER_MARK)


def _columnar(data: bytes, reader: str, name: str) -> "pl.DataFrame":
    import polars as pl

    try:
        frame: pl.DataFrame = getattr(pl, reader)(data)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise DataError(f"{name} cannot be read ({cause}); write it anew.") from None
    plain_columns(frame.schema, name)
    if not len(frame):
        raise DataError(f"{name} holds columns and no row; give a table with rows.")
    return frame


def plain_columns(schema: "Mapping[str, pl.DataType]", name: str) -> None:
    """Refuse columns of types that bring code or structure with them."""
    for column, kind in schema.items():
        if kind.is_nested() or not _is_plain(kind):
            raise DataError(
                f"the column {column!r} of {name} is of type {kind}; leave it out, or write it as "
                "numbers, text or dates."
            )


def _is_plain(kind: "pl.DataType") -> bool:
    import polars as pl

    return kind != pl.Object and not isinstance(kind, getattr(pl, "BaseExtension", ()))
