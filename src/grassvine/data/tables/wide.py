"""Wide tables: one row per user and one column per item; missing entries are unknown.

A table with one row per rating (long) has columns of items and ratings. A frame is wide if neither
``item`` nor ``rating`` is set and

- its column names are not text, or its columns have a name (as those of pandas' ``pivot`` have); or
- it has five columns or more, none of them named like items, ratings or times, and all but the
  users' are numeric.

The users are the column of the option ``user``, the first column if it is named like users or is
not numeric, or the index of a pandas frame if it has a name or is not numeric. If that is none of
them, or two, the table is refused.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import as_column
from grassvine.data.ratings import refuse_extreme
from grassvine.data.tables.columns import columns_by_role, listing, named_column
from grassvine.data.tables.frames import numbers_in
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import narwhals
    import polars as pl

FEWEST_COLUMNS = 5  # a table of three or four columns may be long, with columns by position


@dataclass(frozen=True, slots=True, eq=False)
class WideRatings:
    """The known entries of a wide table, one per row."""

    users: "pl.Series"
    items: "pl.Series"
    values: Array
    agents: "pl.Series | None"
    note: str


def wide_ratings(
    table: "narwhals.DataFrame[Any]", chosen: dict[str, str | None], agent: str | None
) -> WideRatings | None:
    """Return the ratings of a wide table, or None if the table is long."""
    names = [name for name in table.columns if name != agent]
    if not _is_wide(table, names, chosen):
        return None
    column = _user_column(table, names, chosen["user"])
    items = [name for name in names if name != column]
    if not items:
        raise DataError(f"the table has no column of an item. {listing(names)}")
    entries = np.column_stack(
        [numbers_in(table.get_column(name), f"ratings in column {name!r}") for name in items]
    )
    given = table.to_native().index if column is None else table.get_column(column).to_native()
    users, ids = as_column(given, "user"), as_column(items, "item")
    row, place = np.nonzero(~np.isnan(entries))
    values = entries[row, place]
    refuse_extreme(values, lambda k: f"of user {users[int(row[k])]!r}, item {ids[int(place[k])]!r}")
    owners = None if agent is None else as_column(table[agent].to_native(), "agent").gather(row)
    where = "the index" if column is None else repr(column)
    note = f"The table is wide: {where} holds the users, and {len(items)} columns are items."
    return WideRatings(users.gather(row), ids.gather(place), values, owners, note)


def _is_wide(
    table: "narwhals.DataFrame[Any]", names: list[Any], chosen: dict[str, str | None]
) -> bool:
    if chosen["item"] is not None or chosen["rating"] is not None:
        return False
    if not all(isinstance(name, str) for name in names):
        return True
    if getattr(getattr(table.to_native(), "columns", None), "name", None) is not None:
        return True
    numeric = all(
        table.get_column(name).dtype.is_numeric() for name in names[1:] if name != chosen["user"]
    )
    roles = columns_by_role(names).keys() - {"user"}
    return len(names) >= FEWEST_COLUMNS and numeric and not roles


def _user_column(
    table: "narwhals.DataFrame[Any]", names: list[Any], chosen: str | None
) -> str | None:
    """Return the column of the users, or None for the index."""
    if chosen is not None:
        return named_column([name for name in names if isinstance(name, str)], chosen, "user")
    first, native = names[0], table.to_native()
    named = isinstance(first, str) and "user" in columns_by_role([first])
    in_column = named or not table.get_column(first).dtype.is_numeric()
    in_index = table.implementation.is_pandas_like() and (
        native.index.name is not None or native.index.dtype.kind not in "iuf"
    )
    if in_column == in_index:
        which = "both the index and" if in_column else "neither the index nor"
        raise DataError(
            f"no column holds items or ratings, so each column is an item, but {which} the first "
            "column looks like the users; choose the columns explicitly (options: user, or "
            f"item and rating). {listing(list(map(str, names)))}"
        )
    return first if in_column else None
