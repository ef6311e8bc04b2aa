"""The doors for ratings: data frames, tables of several owners, arrays, matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grassvine.data.ids import Ids, as_column, kind_of
from grassvine.data.ratings import Ratings
from grassvine.data.tables.columns import guess_columns, listing, named_column
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.data.tables.rating_table import (
    Duplicates,
    RatingTable,
    Rows,
    make_table,
    refuse_outside,
)
from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import DataError, unknown

if TYPE_CHECKING:
    import narwhals
    import polars as pl

Missing = Literal["error", "drop"]
MISSING = ("error", "drop")
Scale = tuple[float, float]

# Of columns without names: ratings on a scale have hardly more values, and no time is earlier.
MOST_ON_A_SCALE = 100
EARLIEST = 10**8  # seconds after 1970


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
) -> RatingTable:
    """Take ratings from a table with a row for each.

    Parameters
    ----------
    frame : data frame or Table
        Of pandas, polars, pyarrow or any other library that narwhals knows, or what
        :func:`read_table` returned. It is not modified.
    user, item, rating : str, optional
        The columns; guessed by their names, in a table of three columns by their places.
    agent : str, optional
        The column that names the agent with which a user's ratings lie.
    duplicates : {"error", "mean", "last"}
        What becomes of several ratings of one item by one user.
    missing : {"error", "drop"}
        What becomes of rows whose rating is missing, NaN or infinite.
    scale : (low, high), optional
        Ratings outside are refused.
    """
    columns = {"user": user, "item": item, "rating": rating}
    rows, assumed = _rows_of_frame(frame, columns, agent, missing, scale)
    return make_table(rows, duplicates, assumed)


def ratings_from_frames(
    frames: Sequence[Any],
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
) -> RatingTable:
    """Take ratings from tables of several owners: agent k holds the users of table k.

    Items are those of all tables. A user is in one table only. For the parameters see
    :func:`ratings_from_frame`.
    """
    import polars as pl

    if not frames:
        raise DataError("there is no table at all; give at least one.")
    columns = {"user": user, "item": item, "rating": rating}
    parts: list[Rows] = []
    assumed: list[str] = []
    for number, frame in enumerate(frames):
        try:
            rows, said = _rows_of_frame(frame, columns, None, missing, scale)
        except DataError as cause:
            raise DataError(f"table {number}: {cause}") from None
        parts.append(rows)
        assumed += [f"Table {number}: {sentence}" for sentence in said]
    everything = Rows(
        users=united([part.users for part in parts], "user"),
        items=united([part.items for part in parts], "item"),
        values=np.concatenate([part.values for part in parts]),
        agents=pl.Series(np.repeat(np.arange(len(parts)), [len(part.values) for part in parts])),
        agents_are_tables=True,
    )
    table = make_table(everything, duplicates, tuple(assumed))
    return RatingTable(table.users, table.items, table.ratings, table.owners, None, table.assumed)


def ratings_from_arrays(
    users: object,
    items: object,
    ratings: object,
    *,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
) -> RatingTable:
    """Take ratings from one user id, item id and rating per entry.

    For the parameters see :func:`ratings_from_frame`.
    """
    rows, assumed = _checked(
        as_column(users, "user"), as_column(items, "item"), _values(ratings), None, missing, scale
    )
    return make_table(rows, duplicates, assumed)


def ratings_from_matrix(matrix: Any) -> RatingTable:
    """Take ratings from a matrix whose rows are users and whose columns are items.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array-like
        Of a sparse matrix the stored entries are the ratings, zeros among them too; of a dense one
        all that are not NaN. The ids are the numbers of the rows and columns, from 0, also of those
        without a rating.
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
    if user is None or item is None:
        raise DataError(
            f"the matrix has shape {shape}; give one with a row for each user and a column for "
            "each item."
        )
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
) -> tuple[Rows, tuple[str, ...]]:
    read = frame if isinstance(frame, Table) else Table(frame)
    table = open_frame(read.frame)
    names = table.columns
    if agent is not None:
        named_column(names, agent, "agent")
    columns, by_place = guess_columns([name for name in names if name != agent], chosen)
    assumed = read.assumed
    if by_place:
        _refuse_contradiction(table, columns)
        told = ", ".join(f"{columns[role]!r} holds the {role}s" for role in by_place)
        assumed += (f"By their places, {told}.",)
    elif None in chosen.values():
        told = ", ".join(f"{columns[role]!r} holds the {role}s" for role in chosen)
        assumed += (f"By their names, {told}.",)
    rows, more = _checked(
        as_column(table[columns["user"]].to_native(), "user"),
        as_column(table[columns["item"]].to_native(), "item"),
        numbers_in(table[columns["rating"]], f"ratings in column {columns['rating']!r}"),
        None if agent is None else as_column(table[agent].to_native(), "agent"),
        missing,
        scale,
    )
    return rows, assumed + more


def _refuse_contradiction(table: "narwhals.DataFrame[Any]", columns: dict[str, str]) -> None:
    """Refuse columns without telling names whose content speaks against their places."""
    reason = None
    ratings = table[columns["rating"]]
    for role in ("user", "item"):
        if table[columns[role]].dtype.is_float():
            reason = f"{columns[role]!r} holds fractions and would be the {role}s"
    if ratings.dtype.is_integer() and ratings.n_unique() > MOST_ON_A_SCALE:
        reason = f"{columns['rating']!r} holds more than {MOST_ON_A_SCALE} different whole numbers"
    if "time" in columns and not _is_time(table[columns["time"]]):
        reason = f"{columns['time']!r} holds no times"
    if reason:
        raise DataError(
            f"the columns have no telling names, and {reason}; say which are user=, item= and "
            f"rating=. {listing(table.columns)}"
        )


def _is_time(column: "narwhals.Series[Any]") -> bool:
    if column.dtype.is_integer():
        return bool((column.drop_nulls() >= EARLIEST).all())
    return column.dtype.is_temporal()


def _values(given: object) -> Array:
    """Ratings that were given as an array or a column."""
    import narwhals

    series = narwhals.from_native(given, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series):
        return numbers_in(series, "ratings")
    array = np.asarray(given) if not isinstance(given, np.ma.MaskedArray) else given
    if array.dtype.kind not in "iufcO" and array.size:
        raise DataError(
            f"the ratings are of type {array.dtype}, such as {array.flat[0]!r}; give numbers."
        )
    return as_numbers(array, name="the list of ratings", error=DataError)


def _checked(
    users: "pl.Series",
    items: "pl.Series",
    values: Array,
    agents: "pl.Series | None",
    missing: str,
    scale: object,
) -> tuple[Rows, tuple[str, ...]]:
    """Rows without those that have no rating, which are refused unless they may be dropped."""
    import polars as pl

    if missing not in MISSING:
        raise DataError(unknown("choice for missing", missing, MISSING))
    if not len(users) == len(items) == len(values) or values.ndim != 1:
        raise DataError(
            f"there are {len(users)} users, {len(items)} items and ratings of shape "
            f"{values.shape}; give one of each per rating."
        )
    known = np.isfinite(values)
    n_unknown = int((~known).sum())
    assumed: tuple[str, ...] = ()
    if n_unknown:
        places = np.flatnonzero(~known)
        if missing == "error":
            shown = ", ".join(map(str, places[:3])) + (", …" if n_unknown > 3 else "")
            raise DataError(
                f"{n_unknown} of {len(values)} ratings are missing, NaN or infinite (at rows "
                f"{shown}, counted from 0); leave those rows out, or say missing='drop'."
            )
        if n_unknown == len(values):
            raise DataError("every rating is missing, NaN or infinite; give at least one.")
        assumed += (f"{n_unknown} rows without a rating were left out.",)
        mask = pl.Series(known)
        users, items, values = users.filter(mask), items.filter(mask), values[known]
        agents = None if agents is None else agents.filter(mask)
    if scale is not None:
        refuse_outside(scale, values, users, items)
    return Rows(users, items, values, agents), assumed


def united(columns: "Sequence[pl.Series]", what: str) -> "pl.Series":
    """Return the ids of all tables in one column."""
    import polars as pl

    first = columns[0]
    for number, column in enumerate(columns):
        if kind_of(column) != kind_of(first):
            raise DataError(
                f"the {what} ids of table 0 are {kind_of(first)} (such as {first[0]!r}), those of "
                f"table {number} {kind_of(column)} (such as {column[0]!r}); give them in one type."
            )
    return pl.concat(list(columns))
