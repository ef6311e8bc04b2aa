"""Tables that stay in their files: opened without being read, and only what is wanted is read."""

import glob
import os
from typing import TYPE_CHECKING

from grassvine.data.tables.files import plain_columns, read_table
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

PARQUET = b"PAR1"
WANTED = "give a Parquet file, a folder of them, or a pattern such as 'ratings/*.parquet'"


def scan_table(source: str) -> "tuple[pl.LazyFrame, tuple[str, ...]]":
    """Open a table of any form, and say what was assumed; one that is not Parquet is read."""
    if os.path.isdir(source) or (os.path.isfile(source) and is_parquet(source)):
        return scan_parquet(source), ()
    read = read_table(source)
    return read.frame.lazy(), read.assumed


def scan_parquet(source: str) -> "pl.LazyFrame":
    """Open a Parquet file, all of a folder with its subfolders, or all that a pattern matches.

    Names of folders such as ``shop=north`` are a column of what lies in them.
    """
    import polars as pl

    there = os.path.exists(source)
    if not there and not glob.glob(source, recursive=True):
        raise DataError(f"{source} does not exist; {WANTED}.")
    if os.path.isfile(source) and not is_parquet(source):
        raise DataError(f"{source} is no Parquet file; {WANTED}.")
    try:
        # what exists is meant by its name, though that may look like a pattern
        table = pl.scan_parquet(source, glob=not there or os.path.isdir(source))
        schema = table.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise DataError(
            f"{source} cannot be read as Parquet ({_first_line(cause)}); {WANTED}."
        ) from None
    plain_columns(schema, source)  # though polars, unlike pyarrow, would run no code for them
    return table


def collected(query: "pl.LazyFrame", source: str) -> "pl.DataFrame":
    """Return what a query yields, reading its table piece by piece."""
    import polars as pl

    try:
        return query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise DataError(
            f"{source} cannot be read ({_first_line(cause)}); write it anew, all files of it with "
            "the same columns."
        ) from None


def is_parquet(path: str) -> bool:
    """Tell by its first bytes whether a file is Parquet."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError as cause:
        raise DataError(
            f"{path} cannot be read ({cause.strerror}); give a file that you may read."
        ) from None


def _first_line(cause: BaseException) -> str:
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]
