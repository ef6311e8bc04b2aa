"""Export of tables to files."""

import io
from typing import TYPE_CHECKING

from grassvine.foundations.errors import DataError, unknown

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson")

# Spreadsheets execute a text cell that begins with one of these as a formula.
FORMULA = r"^[=+\-@\t\r\n]"


def safe_csv(frame: "pl.DataFrame") -> bytes:
    """Encode a table as CSV that is safe to open in a spreadsheet.

    Text that a spreadsheet would execute as a formula gets a leading ``'``; numbers are unchanged.
    For programs, write Parquet or JSON lines, which store the values as they are.
    """
    import polars as pl
    from polars import selectors

    text = selectors.string() | selectors.categorical() | selectors.enum()
    cell = text.cast(pl.String)
    quoted = pl.when(cell.str.contains(FORMULA)).then("'" + cell).otherwise(cell)
    names = pl.Series(frame.columns, dtype=pl.String)
    safe = names.str.replace(f"({FORMULA})", "'$1").to_list()
    return (
        frame.with_columns(quoted.name.keep())
        .rename(dict(zip(frame.columns, safe, strict=True)))
        .write_csv()
        .encode()
    )


def encode_table(frame: "pl.DataFrame", suffix: str) -> bytes:
    """Encode a table as CSV, Parquet, Feather or JSON lines, depending on the file suffix."""
    file = io.BytesIO()
    if suffix == ".csv":
        return safe_csv(frame)
    if suffix == ".parquet":
        frame.write_parquet(file)
    elif suffix in (".feather", ".arrow"):
        frame.write_ipc(file)
    elif suffix in (".jsonl", ".ndjson"):
        frame.write_ndjson(file)
    else:
        raise DataError(unknown("table suffix", suffix, SUFFIXES))
    return file.getvalue()
