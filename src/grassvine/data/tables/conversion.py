"""Convert what users pass in memory to a ratings table, and results to their library's frames."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.tables.columns import guess_columns
from grassvine.data.tables.rating_input import (
    ratings_from_arrays,
    ratings_from_frame,
    ratings_from_frames,
    ratings_from_matrix,
)
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of users, items and ratings in a frame; None is found by name."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None


def as_rating_table(
    ratings: Any, values: Any, columns: Columns, rules: RatingRules, agent: str | None = None
) -> RatingTable:
    """Return ratings as a labelled table.

    Parameters
    ----------
    ratings : data frame, SciPy matrix, array, list of data frames, or RatingTable
        A frame has one row per rating. A ``RatingTable`` is returned as it is. A matrix has one
        row per user and one column per item; unknown entries of a dense one are NaN. With
        ``values``, one pair of user and item per row.
    values : array-like, optional
        The rating of each pair.
    agent : str, optional
        The column that names the owner of each rating.
    """
    if isinstance(ratings, RatingTable):
        return ratings
    options: dict[str, Any] = {
        "duplicates": rules.duplicates,
        "missing": rules.missing,
        "scale": rules.scale,
    }
    if values is not None:
        if agent is not None:
            raise DataError(
                f"pairs passed separately from their ratings have no column {agent!r}; pass one "
                "frame with all columns, or agents as a number."
            )
        return ratings_from_arrays(*as_pairs(ratings, columns), values, **options)
    named: dict[str, Any] = {"user": columns.user, "item": columns.item, "rating": columns.rating}
    if isinstance(ratings, list | tuple):
        if ratings and all(is_frame(one) for one in ratings):
            return ratings_from_frames(ratings, **named, **options)
    elif is_frame(ratings):
        return ratings_from_frame(ratings, **named, agent=agent, **options)
    if agent is not None:
        raise DataError(f"a matrix has no column {agent!r}; pass a frame, or agents as a number.")
    return ratings_from_matrix(ratings)


def as_pairs(pairs: Any, columns: Columns) -> tuple[Any, Any]:
    """Return the users and the items of pairs given as a frame or an array of two columns."""
    if is_frame(pairs):
        import narwhals

        frame = narwhals.from_native(pairs)
        chosen, _ = guess_columns(frame.columns, {"user": columns.user, "item": columns.item})
        return frame[chosen["user"]].to_native(), frame[chosen["item"]].to_native()
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise DataError(
            f"pairs have shape {array.shape}; pass two columns, the user and the item of each pair."
        )
    return array[:, 0], array[:, 1]


def is_frame(given: Any) -> bool:
    """Return whether an object is a data frame of a library that narwhals supports."""
    import narwhals

    return isinstance(
        narwhals.from_native(given, eager_only=True, pass_through=True), narwhals.DataFrame
    )


def to_backend(frame: "pl.DataFrame", backend: Any) -> Any:
    """Return a frame of another data frame library."""
    if backend == "polars":
        return frame
    import narwhals

    columns = {name: frame[name].to_list() for name in frame.columns}
    return narwhals.from_dict(columns, backend=backend).to_native()


def backend_of(given: Any) -> str:
    """Return the library of a frame, or of the first of several; polars for anything else."""
    import narwhals

    first = given[0] if isinstance(given, list | tuple) and len(given) else given
    if not is_frame(first):
        return "polars"
    return str(narwhals.from_native(first, eager_only=True).implementation)
