"""Integers in as few bytes as keep them, a batch of rows at a time.

Polars keeps the memory that it has freed for a while, so a column that is narrowed after it was
read as a whole takes as much as before. Floats are not narrowed: the type of ids would change.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from grassvine.data.tables.files.parquet_size import parquet_groups

if TYPE_CHECKING:
    import polars as pl

INT32 = 2**31
ROWS_AT_ONCE = 2**19  # of a Parquet file, or those of a group of rows if it has more


def narrowed_column(column: "pl.Series") -> "pl.Series":
    """Return Int64 as Int32 if all values fit, else the same column."""
    import polars as pl

    if column.dtype != pl.Int64:
        return column
    low: Any = column.min()
    high: Any = column.max()
    fits = low is None or (low >= -INT32 and high < INT32)
    return column.cast(pl.Int32) if fits else column


def of_one_type(parts: "Sequence[pl.Series]") -> "Sequence[pl.Series]":
    """Return parts of a column, all as Int64 if some of them could not be narrowed."""
    import polars as pl

    if {part.dtype for part in parts} == {pl.Int64, pl.Int32}:
        return [part.cast(pl.Int64) for part in parts]
    return parts


def narrow_parquet(data: bytes) -> "pl.DataFrame":
    """Return the table in a Parquet file, with integers narrowed."""
    import polars as pl

    lazy = pl.scan_parquet(data)
    parts: list[list[pl.Series]] = []
    for start, stop in _batches(parquet_groups(data)):
        frame = lazy.slice(start, stop - start).collect()
        parts.append([narrowed_column(column) for column in frame])
    if not parts:
        return lazy.collect()
    columns = map(of_one_type, zip(*parts, strict=True))
    return pl.DataFrame([pl.concat(column, rechunk=False) for column in columns])


def _batches(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first row and the end of each batch of whole groups of rows."""
    start = stop = 0
    for size in sizes:
        if stop > start and stop + size > start + ROWS_AT_ONCE:
            yield start, stop
            start = stop
        stop += size
    if stop > start:
        yield start, stop
