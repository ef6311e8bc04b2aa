"""The first data set of Jester: continuous ratings of 100 jokes."""

import os

import numpy as np

from grassvine.data.tables import RatingTable, ratings_from_arrays
from grassvine.data.tables.text import (
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

FILES = ("jester-data-1.csv",)
SHEETS = ("*.xls", "*.xlsx")
N_JOKES = 100
NOT_RATED = 99
MOST = 10


def read_jester(path: str | os.PathLike[str]) -> RatingTable:
    """Read the CSV of Jester's sheet.

    A line is a user, known by its number counted from 1: how many jokes were rated, then the
    ratings of jokes 1 … 100 from −10 to 10, 99 where there is none. The first number is checked
    against the others.

    Parameters
    ----------
    path : path
        The file, or a folder that holds ``jester-data-1.csv``, directly or one folder deeper.
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
        sound = np.abs(table[:, 1:]) <= MOST
        if not (sound[rated].all() and np.array_equal(rated.sum(axis=1), table[:, 0])):
            block.refuse(fault)
        user, joke = np.nonzero(rated)
        users.append(user + block.line)
        jokes.append(joke + 1)
        ratings.append(table[:, 1:][rated])
    return ratings_from_arrays(*map(np.concatenate, (users, jokes, ratings)))


def fault(line: bytes) -> str | None:
    """What is wrong with a line."""
    fields = line.split(b",")
    if len(fields) != N_JOKES + 1:
        return f"has {len(fields)} of the {N_JOKES + 1} columns"
    ratings = [value for value in map(as_real, fields[1:]) if value != NOT_RATED]
    if not all(abs(value) <= MOST for value in ratings):
        return f"has a rating that is neither a number from −{MOST} to {MOST} nor {NOT_RATED}"
    if not is_whole(fields[0]) or int(fields[0]) != len(ratings):
        count = fields[0].decode("latin-1")
        return f"says that {count} jokes are rated, but {len(ratings)} are"
    return None


def _refuse_sheet(path: str | os.PathLike[str]) -> None:
    found = find_files(path, FILES) or find_files(path, SHEETS)
    if found and found[0].suffix.lower() in (".xls", ".xlsx"):
        raise DataError(
            f"{found[0]} is the sheet as published; open it, export it as CSV to {FILES[0]}, "
            "and give that file."
        )
