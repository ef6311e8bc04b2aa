"""Lazy access to tables in files."""

import glob
import os
from typing import TYPE_CHECKING

from grassvine.data.tables.files import check_column_types, read_table
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

PARQUET = b"PAR1"
EXPECTED = "use a Parquet file, a folder of them, or a pattern such as 'ratings/*.parquet'"


def scan_table(source: str) -> "tuple[pl.LazyFrame, tuple[str, ...]]":
    """Open a table of any format, reading it unless it is Parquet; also return what was assumed."""
    if os.path.isdir(source) or (os.path.isfile(source) and is_parquet(source)):
        return scan_parquet(source), ()
    read = read_table(source)
    return read.frame.lazy(), read.assumed


def scan_parquet(source: str) -> "pl.LazyFrame":
    """Open a Parquet file, all files in a folder and its subfolders, or all that match a pattern.

    Folder names such as ``shop=north`` become a column of the rows inside.
    """
    import polars as pl

    exists = os.path.exists(source)
    if not exists and not glob.glob(source, recursive=True):
        raise DataError(f"{source} does not exist; {EXPECTED}.")
    if os.path.isfile(source) and not is_parquet(source):
        raise DataError(f"{source} is not a Parquet file; {EXPECTED}.")
    try:
        # the name of an existing file may look like a pattern
        table = pl.scan_parquet(source, glob=not exists or os.path.isdir(source))
        schema = table.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise DataError(
            f"{source} cannot be read as Parquet ({_first_line(cause)}); {EXPECTED}."
        ) from None
    check_column_types(schema, source)
    return table


def collect(query: "pl.LazyFrame", source: str) -> "pl.DataFrame":
    """Return the result of a query, streaming its table."""
    import polars as pl

    try:
        return query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise DataError(
            f"{source} cannot be read ({_first_line(cause)}); save it again, with the same columns "
            "in all files."
        ) from None


def is_parquet(path: str) -> bool:
    """Return whether a file starts with the magic bytes of Parquet."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError as cause:
        raise DataError(
            f"{path} cannot be read ({cause.strerror}); check the path and its permissions."
        ) from None


def _first_line(cause: BaseException) -> str:
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]
