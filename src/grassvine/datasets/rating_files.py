"""Ratings from tables in files, published file formats or named data sets."""

import os
from dataclasses import replace
from pathlib import Path

from grassvine.data.stored.mapped_table import is_mapped_table, open_ratings
from grassvine.data.tables.files import read_table
from grassvine.data.tables.files.content import BYTE_ORDER_MARK, LONGEST_LINE
from grassvine.data.tables.rating_input import Missing, Scale, ratings_from_frame
from grassvine.data.tables.rating_table import Duplicates, RatingTable, SharedUsers
from grassvine.datasets import jester, netflix
from grassvine.datasets.sources import SOURCES
from grassvine.datasets.store import load_ratings, read_ratings_file
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.watch import Watch, part_of

# The shares of reading a file, and of the rest, numbering its ratings: of CSV, and of Parquet.
# Measured with seven million ratings; at each call the share differed from that of the time by
# less than 0.25, with ids that were numbers or text, and with gzip. Not so for JSON lines, where
# reading takes nearly all the time.
TEXT, COLUMNAR = 0.5, 0.1


def read_ratings(
    source: str | os.PathLike[str],
    *,
    separator: str | None = None,
    skip_rows: int = 0,
    encoding: str | None = None,
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
    r"""Read ratings.

    Parameters
    ----------
    source : path, "-" or name
        A table with one row per rating in a format of :func:`read_table`, a file of Netflix or
        Jester, a folder of published ratings or of :func:`store_ratings`, or the name of a
        published data set. An existing file takes precedence over a name.
    separator, skip_rows, encoding
        See :func:`read_table`.
    user, item, rating, agent, duplicates, missing, scale, shared_users
        See :func:`ratings_from_frame`. Published formats have fixed columns.
    watch : callable, optional
        Called with the completed fraction after each step.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_ratings
    >>> _ = Path("ratings.csv").write_text("user,item,rating\nanna,Up,5\nben,Up,3\nben,Alien,4\n")
    >>> table = read_ratings("ratings.csv")
    >>> table.items.series.to_list()
    ['Alien', 'Up']
    """
    name = os.fspath(source)
    chosen = [column for column in (user, item, rating, agent) if column is not None]
    if name != "-" and is_mapped_table(Path(name)):
        _refuse_columns(name, chosen)
        return open_ratings(name)
    published = published_table(name, chosen, watch)
    if published is not None:
        return published
    table = read_table(
        name,
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
        narrow=True,
        watch=part_of(watch, 0.0, TEXT),
    )
    return ratings_from_frame(
        table,
        user=user,
        item=item,
        rating=rating,
        agent=agent,
        duplicates=duplicates,
        missing=missing,
        scale=scale,
        shared_users=shared_users,
        watch=part_of(watch, COLUMNAR if table.lines is None else TEXT, 1.0),
    )


def published_table(
    source: str | os.PathLike[str], chosen: list[str], watch: Watch | None = None
) -> RatingTable | None:
    """Return published ratings, from files or by name; None if the source is another table.

    ``chosen`` are the columns that were asked for, of which published formats have none.
    """
    name = os.fspath(source)
    if name in SOURCES and not Path(name).exists():
        _refuse_columns(name, chosen)
        return replace(
            load_ratings(name, watch=watch), assumed=(f"{name} is {SOURCES[name].title}.",)
        )
    if name != "-" and _is_published(Path(name)):
        _refuse_columns(name, chosen)
        return replace(
            read_ratings_file(name, watch), assumed=(f"{name} is in a published format.",)
        )
    return None


def _is_published(path: Path) -> bool:
    """Return whether a path has a published format other than one row per rating."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK)
    except OSError:
        return False  # reading it as a table raises the error
    line = head.splitlines()[0] if head.strip() else b""
    return bool(netflix.MOVIE_LINE.fullmatch(line)) or jester.fault(line) is None


def _refuse_columns(name: str, chosen: list[str]) -> None:
    if chosen:
        raise DataError(
            f"{name} is in a published format and has no column {chosen[0]!r}; omit the columns, "
            "and use a number for ",
            Option("agents"),
            ".",
        )
