"""Times of ratings, which determine the latest of several."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import as_column
from grassvine.data.places import places
from grassvine.data.tables.columns import columns_by_role
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import narwhals
    import polars as pl

# Times of this form are in order as text: year first, and no offset from UTC.
ISO_TIME = r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?$"


def time_columns(names: Sequence[str]) -> list[str]:
    """Return the columns whose names suggest times."""
    return columns_by_role(names).get("time", [])


def time_order(
    table: "narwhals.DataFrame[Any]", columns: dict[str, str], lines: Sequence[int] | None
) -> Indices | None:
    """Return the rank of each row by time, or None if there is no column of times.

    Parameters
    ----------
    columns : dict
        The column of each role; ``time`` may be among them.
    lines : sequence of int, optional
        The line of each row in a file, for error messages.
    """
    free = [name for name in table.columns if name not in columns.values()]
    found = [columns["time"]] if "time" in columns else time_columns(free)
    if not found:
        return None
    if len(found) > 1:
        raise DataError(
            f"the columns {', '.join(map(repr, found))} could all hold the times by which the last "
            "rating is chosen; keep one of them."
        )
    missing = np.flatnonzero(table[found[0]].is_null().to_numpy())
    if len(missing):
        raise DataError(
            f"{len(missing)} of {len(table)} times in column {found[0]!r} are missing "
            f"({places(missing, lines)}); fill them in, or remove the column to take the last row."
        )
    times = _ordered(as_column(table[found[0]].to_native(), "time", lines), found[0], lines)
    return times.rank("dense").to_numpy().astype(np.int64)


def _ordered(times: "pl.Series", name: str, lines: Sequence[int] | None) -> "pl.Series":
    """Return times as values that sort chronologically."""
    import polars as pl

    if times.dtype.is_numeric() or times.dtype in (pl.Date, pl.Datetime):
        return times
    text = times.cast(pl.String) if times.dtype == pl.String else None
    other = np.arange(len(times)) if text is None else np.flatnonzero(~text.str.contains(ISO_TIME))
    if text is None or len(other):
        raise DataError(
            f"{len(other)} of {len(times)} times in column {name!r} are not numbers, dates or text "
            f"such as '2026-01-31 12:00:00', {places(other, lines)}: {times[int(other[0])]!r}; "
            "convert them, or remove the column to take the last row."
        )
    return text.str.replace("T", " ").str.strip_suffix("Z")
