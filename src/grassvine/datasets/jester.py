"""Reader of Jester data set 1: continuous ratings of 100 jokes."""

import os

import numpy as np

from grassvine.data.tables import RatingTable, ratings_from_arrays
from grassvine.datasets.published_text import (
    as_real,
    blocks,
    complete,
    find_files,
    first_line,
    is_whole,
    one_file,
    parse,
)
from grassvine.foundations.errors import DataError
from grassvine.foundations.watch import Watch

FILES = ("jester-data-1.csv",)
SHEETS = ("*.xls", "*.xlsx")
N_JOKES = 100
NOT_RATED = 99
MAX_RATING = 10


def read_jester(path: str | os.PathLike[str], watch: Watch | None = None) -> RatingTable:
    r"""Read Jester data set 1, exported as CSV.

    Each line is a user, identified by the line number counted from 1: the number of ratings, then
    the ratings of jokes 1 … 100 from −10 to 10, with 99 for no rating. The number of ratings is
    checked.

    Parameters
    ----------
    path : path
        The file, or a folder that contains ``jester-data-1.csv`` directly or one level deeper.
    watch : callable, optional
        Called with the completed fraction after each step.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_jester
    >>> row = ["2", "-7.5", "9.0", *["99"] * 98]  # two jokes rated, 98 not
    >>> _ = Path("jester-data-1.csv").write_text(",".join(row) + "\n")
    >>> read_jester("jester-data-1.csv").ratings.n_values
    2
    """
    import polars as pl

    _refuse_sheet(path)
    file = one_file(path, FILES, "Jester")
    if first_line(file).count(b",") < N_JOKES:
        next(blocks(file)).refuse(fault)
    schema = {str(column): pl.Float64 for column in range(N_JOKES + 1)}
    users, jokes, ratings = [], [], []
    for block in blocks(file):
        frame = complete(parse(block.data, schema, ","))
        if frame is None:
            block.refuse(fault)
        table = frame.to_numpy()
        rated = table[:, 1:] != NOT_RATED
        in_range = np.abs(table[:, 1:]) <= MAX_RATING
        if not (in_range[rated].all() and np.array_equal(rated.sum(axis=1), table[:, 0])):
            block.refuse(fault)
        user, joke = np.nonzero(rated)
        users.append(user + block.line)
        jokes.append(joke + 1)
        ratings.append(table[:, 1:][rated])
    return ratings_from_arrays(*map(np.concatenate, (users, jokes, ratings)), watch=watch)


def fault(line: bytes) -> str | None:
    """Return what is wrong with a line, or None."""
    fields = line.split(b",")
    if len(fields) != N_JOKES + 1:
        return f"has {len(fields)} columns, not {N_JOKES + 1}"
    ratings = [value for value in map(as_real, fields[1:]) if value != NOT_RATED]
    if not all(abs(value) <= MAX_RATING for value in ratings):
        return (
            f"has a rating that is not a number from −{MAX_RATING} to {MAX_RATING} or {NOT_RATED}"
        )
    if not is_whole(fields[0]) or int(fields[0]) != len(ratings):
        count = fields[0].decode("latin-1")
        return f"claims {count} ratings but has {len(ratings)}"
    return None


def _refuse_sheet(path: str | os.PathLike[str]) -> None:
    found = find_files(path, FILES) or find_files(path, SHEETS)
    if found and found[0].suffix.lower() in (".xls", ".xlsx"):
        raise DataError(
            f"{found[0]} is the published spreadsheet; export it as CSV to {FILES[0]} and pass "
            "that file."
        )
