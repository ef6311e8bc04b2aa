"""The ratings of the Netflix prize, in both forms in which they went round."""

import os
import re
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.tables import RatingTable, ratings_from_arrays
from grassvine.data.tables.text import (
    Block,
    blocks,
    complete,
    first_line,
    is_whole,
    parse,
    refuse_line,
    some_files,
)
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

FILES = ("combined_data_*.txt", "mv_*.txt")
LEAST, MOST = 1, 5
MOVIE_LINE = re.compile(rb"\d{1,9}:\s*")


def read_netflix(path: str | os.PathLike[str]) -> RatingTable:
    """Read the ratings of the Netflix prize.

    Parameters
    ----------
    path : path
        A file in which a line ``movie:`` stands before that movie's lines ``user,rating,date``, or
        a folder of such files, directly or one folder deeper: the prize's ``training_set`` of
        ``mv_0000001.txt …``, or ``combined_data_1.txt … combined_data_4.txt``.
    """
    files = some_files(path, FILES, "the Netflix prize")
    if len({(file.parent, file.name[:2]) for file in files}) > 1:
        raise DataError(f"{path} holds {files[0]} and {files[-1]}; give the folder of one form.")
    users: list[NDArray[np.uint32]] = []
    movies: list[NDArray[np.uint32]] = []
    ratings: list[NDArray[np.uint8]] = []
    for file in files:
        line = first_line(file)
        if not MOVIE_LINE.fullmatch(line):
            refuse_line(file, 1, line, "is not the line 'movie:' that a Netflix file begins with")
        movie = 0
        for block in blocks(file):
            frame = _rows(block, movie)
            movie = int(frame["movie"][-1])
            frame = frame.filter(frame["rating"] > 0)
            users.append(frame["id"].to_numpy())
            movies.append(frame["movie"].to_numpy())
            ratings.append(frame["rating"].to_numpy())
    if not sum(map(len, ratings)):
        raise DataError(f"{path} holds movies but no rating; get the files anew.")
    # Of 100 million rows every copy counts: the parts are let go as soon as they are joined.
    return ratings_from_arrays(_join(users), _join(movies), _join(ratings))


def _rows(block: Block, movie: int) -> "pl.DataFrame":
    """The lines of a block; a movie's own line has rating 0, and ``movie`` was the last before."""
    import polars as pl

    # With ':' written as a rating of 0 and a date, a movie's line has three fields like the others;
    # a ':' anywhere else makes too many fields or no date.
    data = block.data.replace(b":", b",0,1900-01-01")
    frame = complete(parse(data, {"id": pl.UInt32, "rating": pl.UInt8, "date": pl.Date}, ","))
    if (
        frame is None
        or (frame["rating"] > MOST).any()
        or (frame["rating"] == 0).sum() != block.data.count(b":")
    ):
        block.refuse(_fault)
    movies = pl.when(pl.col("rating") == 0).then("id").forward_fill().fill_null(movie)
    return frame.select("id", "rating", movies.cast(pl.UInt32).alias("movie"))


def _fault(line: bytes) -> str | None:
    """What is wrong with a line."""
    if MOVIE_LINE.fullmatch(line):
        return None
    fields = line.split(b",")
    if len(fields) != 3:
        return f"has {len(fields)} of the 3 fields user, rating and date"
    if not is_whole(fields[0]):
        return "has a user that is no whole number"
    if not (is_whole(fields[1]) and LEAST <= int(fields[1]) <= MOST):
        return f"has a rating that is no whole number from {LEAST} to {MOST}"
    try:
        date.fromisoformat(fields[2].decode("latin-1"))
    except ValueError:
        return "has a date that is none"
    return None


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    joined = np.concatenate(parts)
    parts.clear()
    return joined
