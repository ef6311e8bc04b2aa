"""Reader of MovieLens ratings, in all formats published by GroupLens."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grassvine.data.tables import RatingTable
from grassvine.datasets.published import READ, published_ratings
from grassvine.datasets.published_text import (
    as_real,
    blocks,
    complete,
    first_line,
    is_whole,
    one_file,
    parse,
)
from grassvine.foundations.errors import DataError
from grassvine.foundations.watch import Watch, part_of

FILES = ("u.data", "ratings.dat", "ratings.csv")
HEADER = b"userId,movieId,rating,timestamp"
MIN_RATING, MAX_RATING = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class _Format:
    """The separator of the four fields of a line, and the number of header lines."""

    separator: bytes
    n_headers: int = 0

    def fault(self, line: bytes) -> str | None:
        """Return what is wrong with a line, or None."""
        fields = line.split(self.separator)
        if len(fields) != 4:
            return f"has {len(fields)} fields, not 4 (user, movie, rating, time)"
        if not all(is_whole(field) for field in fields[:2]):
            return "has a user or movie that is not an integer"
        if not MIN_RATING <= as_real(fields[2]) <= MAX_RATING:
            return f"has a rating that is not a number from {MIN_RATING} to {MAX_RATING:g}"
        return None if fields[3].isdigit() else "has a time that is not an integer"


def read_movielens(path: str | os.PathLike[str], watch: Watch | None = None) -> RatingTable:
    r"""Read the ratings of a MovieLens data set.

    Parameters
    ----------
    path : path
        ``u.data`` (100K), ``ratings.dat`` (1M, 10M) or ``ratings.csv`` (20M, 25M, 32M, latest), or
        a folder that contains it directly or one level deeper. The format is detected from the
        first line, not from the file name.
    watch : callable, optional
        Called with the completed fraction as it grows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_movielens
    >>> _ = Path("u.data").write_text("196\t242\t3\t881250949\n186\t302\t4\t891717742\n")
    >>> read_movielens("u.data").ratings.values.tolist()
    [4.0, 3.0]
    """
    import polars as pl

    file = one_file(path, FILES, "MovieLens")
    form = _detect_format(file, first_line(file))
    schema = {"user": pl.UInt32, "movie": pl.UInt32, "rating": pl.Float32, "time": pl.Int64}
    parts: list[pl.DataFrame] = []
    for block in blocks(file, form.n_headers, part_of(watch, 0.0, READ)):
        # polars supports one-byte separators only
        frame = complete(parse(block.data.replace(form.separator, b"\t"), schema, "\t"))
        if frame is None or not frame["rating"].is_between(MIN_RATING, MAX_RATING).all():
            block.refuse(form.fault)
        parts.append(frame.drop("time"))
    if not parts:
        raise DataError(f"{file} contains no ratings; download it again.")
    user, movie, rating = (
        np.concatenate([part[name].to_numpy() for part in parts])
        for name in ("user", "movie", "rating")
    )
    return published_ratings(file, user, movie, rating, watch)


def _detect_format(file: Path, line: bytes) -> _Format:
    if line == HEADER:
        return _Format(b",", n_headers=1)
    for separator in (b"::", b"\t"):
        if separator in line:
            return _Format(separator)
    raise DataError(
        f"{file} is not a MovieLens file: its first line is {line[:60].decode('latin-1')!r}; pass "
        "u.data, ratings.dat or ratings.csv as published by GroupLens."
    )
