"""Convert data in memory to a ratings table, and results to data frames of the user's library."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.tables.columns import guess_columns, named_column
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
    ratings : data frame, SciPy matrix, array, list of data frames, dict, or RatingTable
        A frame has one row per rating, or one row per user. A ``RatingTable`` is returned as it is.
        A matrix has one row per user and one column per item; unknown entries of a dense one are
        NaN. A dict is {user: {item: rating}}. With ``values``, one pair of user and item per row.
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
    owned = {**options, "shared_users": rules.shared_users}
    if values is not None:
        if agent is not None and not is_frame(ratings):
            raise DataError(
                f"pairs in an array have no column {agent!r}; pass a frame with columns of users, "
                "items and owners, or agents as a number."
            )
        users, items, owners = as_pairs(ratings, columns, agent)
        return ratings_from_arrays(users, items, values, agents=owners, **owned)
    named: dict[str, Any] = {"user": columns.user, "item": columns.item, "rating": columns.rating}
    if isinstance(ratings, list | tuple):
        if ratings and all(is_frame(one) for one in ratings):
            return ratings_from_frames(ratings, **named, **owned)
    elif is_frame(ratings):
        return ratings_from_frame(ratings, **named, agent=agent, **owned)
    if agent is not None:
        raise DataError(
            f"a matrix or dict has no column {agent!r}; pass a frame, or agents as a number."
        )
    if isinstance(ratings, Mapping):
        return ratings_from_arrays(*_entries(ratings), **options)
    return ratings_from_matrix(ratings)


def as_pairs(pairs: Any, columns: Columns, agent: str | None = None) -> tuple[Any, Any, Any]:
    """Return the users, items and perhaps owners of pairs in a frame or an array of two columns.

    Parameters
    ----------
    agent : str, optional
        The column of a frame that names the owner of each user.
    """
    if is_frame(pairs):
        import narwhals

        opened: Any = narwhals.from_native(pairs)
        frame = opened.collect() if isinstance(opened, narwhals.LazyFrame) else opened
        names = [name for name in frame.columns if name != agent]
        if agent is not None:
            named_column(frame.columns, agent, "agent")
        chosen, _ = guess_columns(names, {"user": columns.user, "item": columns.item})
        owners = None if agent is None else frame[agent].to_native()
        return frame[chosen["user"]].to_native(), frame[chosen["item"]].to_native(), owners
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise DataError(
            f"pairs have shape {array.shape}; pass two columns, the user and the item of each pair."
        )
    return array[:, 0], array[:, 1], None


def _entries(ratings: Mapping[Any, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the users, items and values of ratings by user and item."""
    for user, own in ratings.items():
        if not isinstance(own, Mapping) or not own:
            raise DataError(
                f"the ratings of user {user!r} are {own!r}; pass {{user: {{item: rating}}}}, with "
                "one rating or more per user."
            )
    entries = [(user, *entry) for user, own in ratings.items() for entry in own.items()]
    if not entries:
        raise DataError("there are no ratings; pass at least one.")
    users, items, values = (list(column) for column in zip(*entries, strict=True))
    return users, items, [np.nan if value is None else value for value in values]


def is_frame(given: Any) -> bool:
    """Return whether an object is a data frame, perhaps lazy, that narwhals supports."""
    import narwhals

    opened: Any = narwhals.from_native(given, pass_through=True)
    return isinstance(opened, narwhals.DataFrame | narwhals.LazyFrame)


def has_column(given: Any, name: str) -> bool:
    """Return whether an object is a data frame with a column of this name."""
    import narwhals

    return is_frame(given) and name in narwhals.from_native(given).collect_schema().names()


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
    opened: Any = narwhals.from_native(first, eager_only=True, pass_through=True)
    return str(opened.implementation) if isinstance(opened, narwhals.DataFrame) else "polars"
