"""Tables for spreadsheets."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

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
