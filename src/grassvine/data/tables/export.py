"""Tables for spreadsheets and for programs."""

import io
from typing import TYPE_CHECKING

from grassvine.foundations.errors import DataError, unknown

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson")

# A cell of text that begins so is run as a formula by spreadsheets.
FORMULA = r"^[=+\-@\t\r\n]"


def safe_csv(frame: "pl.DataFrame") -> bytes:
    """Return a table as CSV in which no text is taken for a formula: such text begins with ``'``.

    Numbers are left alone. This is for people; for programs write Parquet or JSON, where nothing
    needs to be changed.
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
    """Return a table in the form that a file's suffix names: CSV, Parquet, Feather, JSON lines."""
    whole = io.BytesIO()
    if suffix == ".csv":
        return safe_csv(frame)
    if suffix == ".parquet":
        frame.write_parquet(whole)
    elif suffix in (".feather", ".arrow"):
        frame.write_ipc(whole)
    elif suffix in (".jsonl", ".ndjson"):
        frame.write_ndjson(whole)
    else:
        raise DataError(unknown("suffix of a table", suffix, SUFFIXES))
    return whole.getvalue()
