"""Reader of the Netflix Prize ratings, in both formats in circulation."""

import os
import re
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.tables import RatingTable
from grassvine.datasets.published import READ, published_ratings
from grassvine.datasets.published_text import (
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
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

FILES = ("combined_data_*.txt", "mv_*.txt")
MIN_RATING, MAX_RATING = 1, 5
MOVIE_LINE = re.compile(rb"\d{1,9}:\s*")


def read_netflix(path: str | os.PathLike[str], watch: Watch | None = None) -> RatingTable:
    r"""Read the ratings of the Netflix Prize.

    Parameters
    ----------
    path : path
        A file in which a line ``movie:`` precedes that movie's lines ``user,rating,date``, or a
        folder that contains such files directly or one level deeper: the original
        ``training_set`` of ``mv_0000001.txt …``, or ``combined_data_1.txt … combined_data_4.txt``.
    watch : callable, optional
        Called with the completed fraction as it grows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_netflix
    >>> _ = Path("mv_0000001.txt").write_text("1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n")
    >>> read_netflix("mv_0000001.txt").ratings.n_values
    2
    """
    files = some_files(path, FILES, "the Netflix Prize")
    if len({(file.parent, file.name[:2]) for file in files}) > 1:
        raise DataError(
            f"{path} contains {files[0]} and {files[-1]}; pass a folder with one format."
        )
    users: list[NDArray[np.uint32]] = []
    movies: list[NDArray[np.uint32]] = []
    ratings: list[NDArray[np.uint8]] = []
    for number, file in enumerate(files):
        line = first_line(file)
        if not MOVIE_LINE.fullmatch(line):
            refuse_line(file, 1, line, "is not 'movie:', with which Netflix files start")
        movie = 0
        share = READ / len(files)
        for block in blocks(file, watch=part_of(watch, number * share, (number + 1) * share)):
            frame = _rows(block, movie)
            movie = int(frame["movie"][-1])
            frame = frame.filter(frame["rating"] > 0)
            users.append(frame["id"].to_numpy())
            movies.append(frame["movie"].to_numpy())
            ratings.append(frame["rating"].to_numpy())
    if not sum(map(len, ratings)):
        raise DataError(f"{path} contains movies but no ratings; download it again.")
    # With 100 million rows, free the parts of each column as soon as they are concatenated.
    return published_ratings(path, _join(users), _join(movies), _join(ratings), watch)


def _rows(block: Block, movie: int) -> "pl.DataFrame":
    """Parse a block; movie lines get rating 0, and ``movie`` is the last one before the block."""
    import polars as pl

    # Replacing ':' by a rating of 0 and a date gives movie lines three fields like all others; a
    # misplaced ':' gives too many fields or an invalid date.
    data = block.data.replace(b":", b",0,1900-01-01")
    frame = complete(parse(data, {"id": pl.UInt32, "rating": pl.UInt8, "date": pl.Date}, ","))
    if (
        frame is None
        or (frame["rating"] > MAX_RATING).any()
        or (frame["rating"] == 0).sum() != block.data.count(b":")
    ):
        block.refuse(_fault)
    movies = pl.when(pl.col("rating") == 0).then("id").forward_fill().fill_null(movie)
    return frame.select("id", "rating", movies.cast(pl.UInt32).alias("movie"))


def _fault(line: bytes) -> str | None:
    """Return what is wrong with a line, or None."""
    if MOVIE_LINE.fullmatch(line):
        return None
    fields = line.split(b",")
    if len(fields) != 3:
        return f"has {len(fields)} fields, not 3 (user, rating, date)"
    if not is_whole(fields[0]):
        return "has a user that is not an integer"
    if not (is_whole(fields[1]) and MIN_RATING <= int(fields[1]) <= MAX_RATING):
        return f"has a rating that is not an integer from {MIN_RATING} to {MAX_RATING}"
    try:
        date.fromisoformat(fields[2].decode("latin-1"))
    except ValueError:
        return "has an invalid date"
    return None


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    joined = np.concatenate(parts)
    parts.clear()
    return joined
