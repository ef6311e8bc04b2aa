"""Events from tables in files, published ratings or named data sets."""

import os
from typing import Any

from grassvine.data.tables.event_input import EventColumns, events_from_frame
from grassvine.data.tables.event_table import EventTable
from grassvine.data.tables.files import read_table
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import SharedUsers
from grassvine.datasets.rating_files import COLUMNAR, TEXT, published_table
from grassvine.foundations.watch import Watch, part_of


def read_events(
    source: str | os.PathLike[str],
    *,
    columns: EventColumns | None = None,
    agent: str | None = None,
    missing: Missing = "error",
    shared_users: SharedUsers = "separate",
    times: bool = False,
    separator: str | None = None,
    skip_rows: int = 0,
    encoding: str | None = None,
    watch: Watch | None = None,
) -> EventTable:
    r"""Read events.

    Parameters
    ----------
    source : path, "-" or name
        A table with one row per event in a format of :func:`read_table`; or published ratings, each
        of which counts as one event: a folder, a file, or the name of a data set.
    columns : EventColumns, optional
        The columns of users, items, counts and times; found by name if omitted.
    agent, missing, shared_users, times
        See :func:`grassvine.data.tables.event_input.as_event_table`.
    separator, skip_rows, encoding
        See :func:`read_table`.
    watch : callable, optional
        Called with the completed fraction after each step.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_events
    >>> _ = Path("clicks.csv").write_text("user,item\nanna,lamp\nanna,lamp\nben,chair\n")
    >>> events = read_events("clicks.csv")
    >>> len(events.users), len(events.items)
    (2, 2)
    """
    columns = columns or EventColumns()
    chosen: list[Any] = [columns.user, columns.item, columns.count, columns.time, agent]
    published = published_table(source, [name for name in chosen if name is not None], watch)
    if published is not None:
        return EventTable.of_ratings(published)
    table = read_table(
        source,
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
        narrow=True,
        watch=part_of(watch, 0.0, TEXT),
    )
    return events_from_frame(
        table,
        columns,
        agent,
        missing=missing,
        shared_users=shared_users,
        times=times,
        watch=part_of(watch, COLUMNAR if table.lines is None else TEXT, 1.0),
    )
