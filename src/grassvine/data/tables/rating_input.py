"""Conversion of data frames, arrays and matrices to rating tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grassvine.data.ids import Ids, as_column, kind_of
from grassvine.data.passes import Values
from grassvine.data.places import places
from grassvine.data.ratings import Ratings, refuse_extreme
from grassvine.data.tables.columns import guess_columns, listing, named_column, option_list
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import narrow_numbers_in, numbers_in, open_frame
from grassvine.data.tables.rating_table import (
    Duplicates,
    RatingTable,
    Rows,
    SharedUsers,
    make_table,
    refuse_outside,
)
from grassvine.data.tables.times import time_order
from grassvine.data.tables.wide import wide_ratings
from grassvine.foundations.arrays import Array, Indices, as_numbers
from grassvine.foundations.errors import DataError, Option, noting
from grassvine.foundations.options import choice
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import narwhals
    import polars as pl

Missing = Literal["error", "drop"]
MISSING = ("error", "drop")
Scale = tuple[float, float]

# Plausibility limits for columns identified by position.
MAX_SCALE_VALUES = 100  # distinct integers in a column of ratings
EARLIEST_TIME = 10**8  # seconds after 1970
# The share of checking columns before a table is made; measured with seven million ratings.
CHECKED = 0.1


def ratings_from_frame(
    frame: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    agent: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
    shared_users: SharedUsers = "separate",
    watch: Watch | None = None,
) -> RatingTable:
    """Build a rating table from a data frame with one row per rating, or one row per user.

    :mod:`grassvine.data.tables.wide` says which frames have one row per user.

    Parameters
    ----------
    frame : data frame or Table
        A data frame of pandas, polars, pyarrow or another library that narwhals supports, or the
        result of :func:`read_table`. It is not modified.
    user, item, rating : str, optional
        Columns of users, items and ratings. By default they are identified by name, or by position
        in a table of three columns.
    agent : str, optional
        Column of the agent that holds the user's ratings.
    duplicates : {"error", "mean", "last"}, default="error"
        How to treat several ratings of one item by one user: take the mean, or the last one. The
        last one is the latest if there is a column of times, named for example ``timestamp``, and
        otherwise the last row.
    missing : {"error", "drop"}, default="error"
        How to treat rows whose rating is missing, NaN or infinite.
    scale : (low, high), optional
        Lowest and highest valid rating.
    shared_users : {"separate", "error"}, default="separate"
        How to treat a user id with ratings of several agents: as a separate user of each.
    watch : callable, optional
        Called with the completed fraction after each step.
    """
    columns = {"user": user, "item": item, "rating": rating}
    rows, assumed = _rows_of_frame(frame, columns, agent, missing, scale, duplicates)
    making = part_of(watch, CHECKED, 1.0)
    making(0.0)
    with noting(assumed):
        return make_table(rows, duplicates, assumed, shared_users, making)


def ratings_from_frames(
    frames: Sequence[Any],
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
    shared_users: SharedUsers = "separate",
) -> RatingTable:
    """Build a rating table from one data frame per agent: agent k holds the users of frame k.

    The items are those of all frames. A user id that occurs in several frames stands for separate
    users, whose owners are the numbers of the frames. For the parameters see
    :func:`ratings_from_frame`.
    """
    import polars as pl

    if not frames:
        raise DataError("there are no tables; pass at least one.")
    columns = {"user": user, "item": item, "rating": rating}
    parts: list[Rows] = []
    assumed: list[str] = []
    for number, frame in enumerate(frames):
        try:
            rows, notes = _rows_of_frame(frame, columns, None, missing, scale, duplicates)
        except DataError as cause:
            raise cause.within(f"table {number}") from None
        parts.append(rows)
        assumed += [f"Table {number}: {note}" for note in notes]
    all_rows = Rows(
        users=united([part.users for part in parts], "user"),
        items=united([part.items for part in parts], "item"),
        values=np.concatenate([part.values for part in parts]),
        agents=pl.Series(np.repeat(np.arange(len(parts)), [len(part.values) for part in parts])),
        agents_are_tables=True,
        times=None
        if all(part.times is None for part in parts)
        else np.concatenate([part.time_order() for part in parts]),
    )
    table = make_table(all_rows, duplicates, tuple(assumed), shared_users)
    return RatingTable(table.users, table.items, table.ratings, table.owners, None, table.assumed)


def ratings_from_arrays(
    users: object,
    items: object,
    ratings: object,
    *,
    agents: object = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
    shared_users: SharedUsers = "separate",
    watch: Watch | None = None,
) -> RatingTable:
    """Build a rating table from one user id, item id, rating and perhaps agent per entry.

    For the other parameters see :func:`ratings_from_frame`.
    """
    owners = None if agents is None else as_column(agents, "agent")
    rows, assumed = _checked(
        as_column(users, "user"), as_column(items, "item"), _values(ratings), owners, missing, scale
    )
    making = part_of(watch, CHECKED, 1.0)
    making(0.0)
    return make_table(rows, duplicates, assumed, shared_users, making)


def ratings_from_matrix(matrix: Any) -> RatingTable:
    """Build a rating table from a matrix with one row per user and one column per item.

    Parameters
    ----------
    matrix : sparse matrix or array-like of shape (n_users, n_items)
        The ratings are the stored entries of a sparse matrix, including stored zeros, or the
        entries of a dense one that are not NaN. The ids are the row and column indices, including
        those without ratings.
    """
    import polars as pl
    from scipy import sparse

    if sparse.issparse(matrix):
        entries = matrix.tocoo()
        shape, values = matrix.shape, _values(entries.data)
        user, item = entries.coords if len(shape) == 2 else (None, None)
    else:
        dense = _values(matrix)
        shape = dense.shape
        known = ~np.isnan(dense)
        values = dense[known]
        user, item = np.nonzero(known) if len(shape) == 2 else (None, None)
    if shape == ():
        raise DataError(
            f"the ratings are of type {type(matrix).__name__}; pass a data frame, a file, a matrix "
            "or a dict."
        )
    if user is None or item is None:
        raise DataError(
            f"the matrix has shape {shape}; pass a 2-d matrix with one row per user and one column "
            "per item."
        )
    refuse_extreme(values, lambda k: f"in row {user[k]}, column {item[k]} (counting from 0)")
    n_users, n_items = shape
    ratings = Ratings.from_arrays(user, item, values, n_users=n_users, n_items=n_items)
    users, items = (Ids(pl.Series(np.arange(count))) for count in (n_users, n_items))
    return RatingTable(users, items, ratings)


def _rows_of_frame(
    frame: Any,
    chosen: dict[str, str | None],
    agent: str | None,
    missing: str,
    scale: object,
    duplicates: str,
) -> tuple[Rows, tuple[str, ...]]:
    read = frame if isinstance(frame, Table) else Table(frame)
    with noting(read.assumed):
        return _rows_of_table(read, chosen, agent, missing, scale, duplicates)


def _rows_of_table(
    read: Table,
    chosen: dict[str, str | None],
    agent: str | None,
    missing: str,
    scale: object,
    duplicates: str,
) -> tuple[Rows, tuple[str, ...]]:
    table = open_frame(read.frame, any_names=True)
    names = table.columns
    if agent is not None:
        named_column([name for name in names if isinstance(name, str)], agent, "agent")
    wide = wide_ratings(table, chosen, agent)
    if wide is not None:
        rows, more = _checked(wide.users, wide.items, wide.values, wide.agents, missing, scale)
        return rows, (*read.assumed, wide.note, *more)
    open_frame(table.to_native())  # refuses names that are not text
    columns, by_place = guess_columns([name for name in names if name != agent], chosen)
    assumed = read.assumed
    if by_place:
        refuse_contradiction(table, columns)
        held = ", ".join(f"{columns[role]!r} holds the {role}s" for role in by_place)
        assumed += (f"By position, {held}.",)
    elif None in chosen.values():
        held = ", ".join(f"{columns[role]!r} holds the {role}s" for role in chosen)
        assumed += (f"By name, {held}.",)
    with noting(assumed):
        what = f"ratings in column {columns['rating']!r}"
        rows, more = _checked(
            as_column(table[columns["user"]].to_native(), "user", read.lines, narrow=True),
            as_column(table[columns["item"]].to_native(), "item", read.lines, narrow=True),
            narrow_numbers_in(table[columns["rating"]], what, read.lines),
            None if agent is None else as_column(table[agent].to_native(), "agent", read.lines),
            missing,
            scale,
            time_order(table, columns, read.lines) if duplicates == "last" else None,
            read.lines,
        )
    return rows, assumed + more


def refuse_contradiction(table: "narwhals.DataFrame[Any]", columns: dict[str, str]) -> None:
    """Raise an error if the content of a column contradicts the role its position suggests."""
    reason = None
    ratings = table[columns["rating"]]
    for role in ("user", "item"):
        if table[columns[role]].dtype.is_float():
            reason = f"{columns[role]!r} (by position the {role}s) contains fractions"
    if ratings.dtype.is_integer() and ratings.n_unique() > MAX_SCALE_VALUES:
        reason = (
            f"{columns['rating']!r} (by position the ratings) contains more than "
            f"{MAX_SCALE_VALUES} distinct whole numbers"
        )
    if "time" in columns and not _is_time(table[columns["time"]]):
        reason = f"{columns['time']!r} (by position the times) contains no times"
    if reason:
        raise DataError(
            f"the column names are not recognised, and {reason}; choose the columns with ",
            *option_list(("user", "item", "rating")),
            f". {listing(table.columns)}",
        )


def _is_time(column: "narwhals.Series[Any]") -> bool:
    if column.dtype.is_integer():
        return bool((column.drop_nulls() >= EARLIEST_TIME).all())
    return column.dtype.is_temporal()


def _values(given: object) -> Array:
    """Convert an array or series of ratings to floats."""
    import narwhals

    series = narwhals.from_native(given, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series):
        return numbers_in(series, "ratings")
    array = np.asarray(given) if not isinstance(given, np.ma.MaskedArray) else given
    if array.dtype.kind not in "iufcO" and array.size:
        raise DataError(
            f"the ratings are of type {array.dtype}, such as {array.flat[0]!r}; pass numbers."
        )
    return as_numbers(array, name="the list of ratings", error=DataError)


def checked_rows(
    users: "pl.Series",
    items: "pl.Series",
    values: Values,
    agents: "pl.Series | None",
    missing: str,
    what: str = "ratings",
    times: Indices | None = None,
    lines: Sequence[int] | None = None,
) -> tuple[Rows, tuple[str, ...]]:
    """Check columns and treat missing values; return the rows and notes on dropped ones.

    ``what`` names the values in messages.
    """
    import polars as pl

    choice("missing", missing, MISSING, error=DataError)
    one = what.removesuffix("s")
    if not len(users) == len(items) == len(values) or values.ndim != 1:
        raise DataError(
            f"got {len(users)} users, {len(items)} items and {what} of shape {values.shape}; "
            f"pass one of each per {one}."
        )
    refuse_extreme(
        values,
        lambda k: f"in row {k} (counting from 0)" if lines is None else f"on line {lines[k]}",
        one,
    )
    known = np.isfinite(values)
    n_unknown = int((~known).sum())
    if not n_unknown:
        return Rows(users, items, values, agents, times=times), ()
    rows = np.flatnonzero(~known)
    if missing == "error":
        raise DataError(
            f"{n_unknown} of {len(values)} {what} are missing, NaN or infinite "
            f"({places(rows, lines)}); remove those rows, or use ",
            Option("missing", "drop"),
            ".",
        )
    if n_unknown == len(values):
        raise DataError(f"all {what} are missing, NaN or infinite; provide at least one.")
    mask = pl.Series(known)
    kept = Rows(
        users.filter(mask),
        items.filter(mask),
        values[known],
        None if agents is None else agents.filter(mask),
        times=None if times is None else times[known],
    )
    return kept, (f"{n_unknown} rows without a {one} were dropped.",)


def _checked(
    users: "pl.Series",
    items: "pl.Series",
    values: Values,
    agents: "pl.Series | None",
    missing: str,
    scale: object,
    times: Indices | None = None,
    lines: Sequence[int] | None = None,
) -> tuple[Rows, tuple[str, ...]]:
    """Check the columns of ratings and their scale."""
    rows, assumed = checked_rows(users, items, values, agents, missing, times=times, lines=lines)
    if scale is not None:
        refuse_outside(scale, rows.values, rows.users, rows.items)
    return rows, assumed


def united(columns: "Sequence[pl.Series]", what: str) -> "pl.Series":
    """Concatenate the ids of all tables."""
    import polars as pl

    first = columns[0]
    for number, column in enumerate(columns):
        if kind_of(column) != kind_of(first):
            raise DataError(
                f"the {what} ids of table 0 are {kind_of(first)} (such as {first[0]!r}), but those "
                f"of table {number} are {kind_of(column)} (such as {column[0]!r}); convert them to "
                "the same type."
            )
    if first.dtype.is_integer():
        columns = [column.cast(pl.Int64) for column in columns]
    return pl.concat(list(columns))
