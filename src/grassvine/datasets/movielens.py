"""The ratings of MovieLens, in every form in which GroupLens published them."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grassvine.data.tables import RatingTable, ratings_from_arrays
from grassvine.data.tables.text import (
    as_real,
    blocks,
    complete,
    first_line,
    is_whole,
    one_file,
    parse,
)
from grassvine.foundations.errors import DataError

FILES = ("u.data", "ratings.dat", "ratings.csv")
HEADER = b"userId,movieId,rating,timestamp"
LEAST, MOST = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class _Form:
    """How the four fields of a line are separated, and how many lines come before the first."""

    separator: bytes
    n_headers: int = 0

    def fault(self, line: bytes) -> str | None:
        """What is wrong with a line."""
        fields = line.split(self.separator)
        if len(fields) != 4:
            return f"has {len(fields)} of the 4 fields user, movie, rating and time"
        if not all(is_whole(field) for field in fields[:2]):
            return "has a user or movie that is no whole number"
        if not LEAST <= as_real(fields[2]) <= MOST:
            return f"has a rating that is no number from {LEAST} to {MOST:g}"
        return None if fields[3].isdigit() else "has a time that is no whole number"


def read_movielens(path: str | os.PathLike[str]) -> RatingTable:
    """Read the ratings of a MovieLens data set.

    Parameters
    ----------
    path : path
        ``u.data`` (100K), ``ratings.dat`` (1M, 10M) or ``ratings.csv`` (20M, 25M, 32M, latest), or
        a folder that holds it, directly or one folder deeper. The form is recognised from the
        first line, not from the name.
    """
    import polars as pl

    file = one_file(path, FILES, "MovieLens")
    form = _form(file, first_line(file))
    schema = {"user": pl.UInt32, "movie": pl.UInt32, "rating": pl.Float32, "time": pl.Int64}
    parts: list[pl.DataFrame] = []
    for block in blocks(file, form.n_headers):
        # polars separates by one byte only
        frame = complete(parse(block.data.replace(form.separator, b"\t"), schema, "\t"))
        if frame is None or not frame["rating"].is_between(LEAST, MOST).all():
            block.refuse(form.fault)
        parts.append(frame.drop("time"))
    if not parts:
        raise DataError(f"{file} holds no rating; get the file anew.")
    user, movie, rating = (
        np.concatenate([part[name].to_numpy() for part in parts])
        for name in ("user", "movie", "rating")
    )
    return ratings_from_arrays(user, movie, rating)


def _form(file: Path, line: bytes) -> _Form:
    if line == HEADER:
        return _Form(b",", n_headers=1)
    for separator in (b"::", b"\t"):
        if separator in line:
            return _Form(separator)
    raise DataError(
        f"{file} is no MovieLens file: its first line is {line[:60].decode('latin-1')!r}; give "
        "u.data, ratings.dat or ratings.csv as published by GroupLens."
    )
