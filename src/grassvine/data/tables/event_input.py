"""Conversion of data frames, arrays and matrices to tables of events.

A row is an event of a user with an item; a column of counts or weights is optional, and so is one
of times. Repeated events are added up. Ratings are not counts: a column of ratings is not used.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import as_column
from grassvine.data.passes import Values
from grassvine.data.places import places
from grassvine.data.tables.columns import columns_by_role, guess_columns, listing, named_column
from grassvine.data.tables.conversion import Columns, as_pairs, is_frame
from grassvine.data.tables.event_table import EventTable
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import narrow_numbers_in, open_frame
from grassvine.data.tables.rating_input import (
    Missing,
    checked_rows,
    ratings_from_matrix,
    refuse_contradiction,
    united,
)
from grassvine.data.tables.rating_table import SUM, RatingTable, Rows, SharedUsers, make_table
from grassvine.data.tables.times import time_order
from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import DataError, Option, noting
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import narwhals

CHECKED = 0.1  # the share of checking columns before a table is made
# Numbers in these ranges are seconds, milliseconds and microseconds after 1970.
UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6))
SLACK = 86_400.0  # seconds: the clock of another time zone may be ahead


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The columns of users, items, counts and times in a frame; None is found by name."""

    user: str | None = None
    item: str | None = None
    count: str | None = None
    time: str | None = None


def as_event_table(
    events: Any,
    counts: Any = None,
    columns: EventColumns | None = None,
    agent: str | None = None,
    *,
    missing: Missing = "error",
    shared_users: SharedUsers = "separate",
    times: bool = False,
) -> EventTable:
    """Return events as a labelled table.

    Parameters
    ----------
    events : data frame, SciPy matrix, array, list of data frames, dict, or table
        A frame has one row per event. A matrix has one row per user and one column per item, and
        every positive entry is an event. A dict is {user: {item: count}} or {user: [item, …]}. With
        ``counts``, one pair of user and item per row. The entries of a ``RatingTable`` count once.
    counts : array-like, optional
        The count of each pair.
    agent : str, optional
        The column that names the owner of each event.
    times : bool, default=False
        Whether to keep the times, for splits.
    """
    columns = columns or EventColumns()
    if isinstance(events, RatingTable):
        return EventTable.of_ratings(events)
    if counts is not None:
        pair_columns = Columns(columns.user, columns.item)
        users, items, owners = as_pairs(events, pair_columns, agent if is_frame(events) else None)
        values = as_numbers(counts, name="the list of counts", error=DataError)
        named = None if owners is None else as_column(owners, "agent")
        return _of_arrays(users, items, values, named, missing, shared_users)
    if isinstance(events, list | tuple) and events and all(map(is_frame, events)):
        return events_from_frames(
            events, columns, missing=missing, shared_users=shared_users, times=times
        )
    if is_frame(events):
        return events_from_frame(
            events, columns, agent, missing=missing, shared_users=shared_users, times=times
        )
    if agent is not None:
        raise DataError(
            f"a matrix or dict has no column {agent!r}; pass a frame, or agents as a number."
        )
    if isinstance(events, Mapping):
        users, items, values = _entries(events)
        return _of_arrays(users, items, values, None, missing, shared_users)
    return _of_matrix(events)


def events_from_frame(
    frame: Any,
    columns: EventColumns,
    agent: str | None = None,
    *,
    missing: Missing = "error",
    shared_users: SharedUsers = "separate",
    times: bool = False,
    watch: Watch | None = None,
) -> EventTable:
    """Build a table of events from a data frame, or from the result of :func:`read_table`.

    For the parameters see :func:`as_event_table`.
    """
    rows, notes = _rows(frame, columns, agent, missing, times)
    making = part_of(watch, CHECKED, 1.0)
    making(0.0)
    with noting(notes):
        return _table(rows, notes, shared_users, making)


def events_from_frames(
    frames: Sequence[Any],
    columns: EventColumns,
    *,
    missing: Missing = "error",
    shared_users: SharedUsers = "separate",
    times: bool = False,
) -> EventTable:
    """Build a table of events from one data frame per agent."""
    import polars as pl

    parts: list[Rows] = []
    assumed: list[str] = []
    for number, frame in enumerate(frames):
        try:
            rows, notes = _rows(frame, columns, None, missing, times)
        except DataError as cause:
            raise cause.within(f"table {number}") from None
        parts.append(rows)
        assumed += [f"Table {number}: {note}" for note in notes]
    if times and any(part.times is not None for part in parts):
        raise DataError(
            "times of several tables cannot be compared by rank; pass one table with a column of "
            "the agents."
        )
    all_rows = Rows(
        users=united([part.users for part in parts], "user"),
        items=united([part.items for part in parts], "item"),
        values=np.concatenate([part.values for part in parts]),
        agents=pl.Series(np.repeat(np.arange(len(parts)), [len(part.values) for part in parts])),
        agents_are_tables=True,
    )
    table = _table(all_rows, tuple(assumed), shared_users)
    return replace(table, agents=None)


def _of_arrays(
    users: Any, items: Any, values: Array, agents: Any, missing: str, shared_users: SharedUsers
) -> EventTable:
    rows, notes = checked_rows(
        as_column(users, "user"), as_column(items, "item"), values, agents, missing, "counts"
    )
    _refuse_counts(rows.values, None)
    return _table(rows, notes, shared_users)


def _table(
    rows: Rows, assumed: tuple[str, ...], shared_users: SharedUsers, watch: Watch | None = None
) -> EventTable:
    table = make_table(rows, SUM, assumed, shared_users, watch)
    times = None
    if rows.times is not None:
        # The latest time of a pair; the ranks count from 1, because 0 is no value of a rating.
        ranks = replace(rows, values=(rows.times + 1).astype(np.float64))
        latest = make_table(ranks, "last", (), shared_users).ratings.values
        times = latest.astype(np.int64)
    return EventTable.of(table, times)


def _rows(
    frame: Any, chosen: EventColumns, agent: str | None, missing: str, times: bool
) -> tuple[Rows, tuple[str, ...]]:
    read = frame if isinstance(frame, Table) else Table(frame)
    with noting(read.assumed):
        table = open_frame(read.frame)
        columns, notes = event_columns(table, chosen, agent)
        notes = (*read.assumed, *notes)
    with noting(notes):
        when = columns.get("time")
        if when is not None:
            _refuse_future(table[when], when, read.lines)
        order = time_order(table, columns, read.lines) if times else None
        values = (
            narrow_numbers_in(
                table[columns["count"]], f"counts in column {columns['count']!r}", read.lines
            )
            if "count" in columns
            else np.ones(len(table))
        )
        rows, more = checked_rows(
            as_column(table[columns["user"]].to_native(), "user", read.lines, narrow=True),
            as_column(table[columns["item"]].to_native(), "item", read.lines, narrow=True),
            values,
            None if agent is None else as_column(table[agent].to_native(), "agent", read.lines),
            missing,
            "counts",
            order,
            read.lines,
        )
        _refuse_counts(rows.values, read.lines)
    return rows, notes + more


def event_columns(
    table: "narwhals.DataFrame[Any]", chosen: EventColumns, agent: str | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role that the table has, and notes on what was assumed."""
    if agent is not None:
        named_column(table.columns, agent, "agent")
    names = [name for name in table.columns if name != agent]
    known = columns_by_role(names)
    optional: dict[str, str] = {}
    for role, name in (("count", chosen.count), ("time", chosen.time)):
        if name is not None:
            optional[role] = named_column(names, name, role)
        elif len(those := [one for one in known.get(role, []) if one not in optional.values()]) > 1:
            raise DataError(
                f"the columns {', '.join(map(repr, those))} could all hold the {role}s; choose one "
                "with ",
                Option(role),
                f". {listing(names)}",
            )
        elif those:
            optional[role] = those[0]
    unused = [name for name in known.get("rating", []) if name not in optional.values()]
    ids = {"user": chosen.user, "item": chosen.item}
    rest = [name for name in names if name not in {*optional.values(), *unused}]
    if not known.keys() & ids.keys() and None in ids.values() and len(rest) in (3, 4):
        columns, by_place = guess_columns(rest, {**ids, "rating": None})
        refuse_contradiction(table, columns)
        unused.append(columns.pop("rating"))
        by_place = tuple(role for role in by_place if role != "rating")
    else:
        columns, by_place = guess_columns(rest, ids)
    columns = {**columns, **optional}
    held = [f"{name!r} holds the {role}s" for role, name in columns.items() if role != "time"]
    notes = [f"By {'position' if by_place else 'name'}, {', '.join(held)}."]
    if "count" not in columns:
        not_used = f"; {unused[0]!r} is not used" if unused else ""
        notes.append(f"Every row counts once{not_used}.")
    return columns, tuple(notes)


def _refuse_counts(values: Values, lines: Sequence[int] | None) -> None:
    for what, bad in (("negative", values < 0.0), ("0", values == 0.0)):
        rows = np.flatnonzero(bad)
        if len(rows):
            are = "is" if len(rows) == 1 else "are"
            raise DataError(
                f"{len(rows)} of {len(values)} counts {are} {what} ({places(rows, lines)}); "
                "remove these rows: a pair without an event has no row."
            )


def _refuse_future(times: "narwhals.Series[Any]", name: str, lines: Sequence[int] | None) -> None:
    """Refuse times that are later than now, by more than a day."""
    now = datetime.datetime.now(datetime.UTC)
    if times.dtype.is_numeric():
        numbers = times.cast(_float()).to_numpy()
        size = np.nanmedian(np.abs(numbers)) if np.isfinite(numbers).any() else 0.0
        unit = next((unit for least, below, unit in UNITS if least <= size < below), None)
        if unit is None:  # not a time after 1970 in a usual unit, but an order perhaps
            return
        late = numbers / unit > now.timestamp() + SLACK
    elif times.dtype.is_temporal():
        day = (now + datetime.timedelta(days=1)).date()
        late = np.array([one is not None and _day(one) > day for one in times.to_list()])
    else:
        day_text = (now + datetime.timedelta(days=1)).date().isoformat()
        given = times.to_list()
        late = np.array([_is_iso(one) and str(one)[:10] > day_text for one in given])
    rows = np.flatnonzero(late)
    if len(rows):
        first = times[int(rows[0])]
        raise DataError(
            f"{len(rows)} of {len(times)} times in column {name!r} are in the future "
            f"({places(rows, lines)}: {first}); correct or remove these rows."
        )


def _float() -> Any:
    import narwhals

    return narwhals.Float64


def _day(time: Any) -> datetime.date:
    return time.date() if isinstance(time, datetime.datetime) else time


def _is_iso(text: object) -> bool:
    return isinstance(text, str) and len(text) >= 10 and text[:4].isdigit() and text[4] == "-"


def _entries(events: Mapping[Any, Any]) -> tuple[list[Any], list[Any], Array]:
    """Return the users, items and counts of {user: {item: count}} or {user: [item, …]}."""
    users: list[Any] = []
    items: list[Any] = []
    counts: list[Any] = []
    for user, own in events.items():
        if isinstance(own, str) or not isinstance(own, Mapping | Sequence) or not len(own):
            raise DataError(
                f"the events of user {user!r} are {own!r}; pass {{user: {{item: count}}}} or "
                "{user: [item, …]}, with one event or more per user."
            )
        users += [user] * len(own)
        items += list(own)
        counts += list(own.values()) if isinstance(own, Mapping) else [1.0] * len(own)
    if not users:
        raise DataError("there are no events; pass at least two.")
    return users, items, as_numbers(counts, name="the list of counts", error=DataError)


def _of_matrix(matrix: Any) -> EventTable:
    """Return the positive entries of a matrix as events."""
    from scipy import sparse

    if not sparse.issparse(matrix):
        dense = as_numbers(matrix, name="the matrix of counts", error=DataError)
        if dense.ndim != 2:
            raise DataError(
                f"the events have shape {dense.shape}; pass a data frame, a file, a dict, or a "
                "matrix with one row per user and one column per item."
            )
        matrix = sparse.coo_array(np.where(np.isnan(dense), 0.0, dense))
    known = matrix.tocoo(copy=True)
    known.eliminate_zeros()
    _refuse_counts(np.asarray(known.data, dtype=np.float64), None)
    return EventTable.of(ratings_from_matrix(known))
