"""Rating tables in folders whose arrays are mapped into memory, for tables larger than it.

A folder has the arrays of :class:`Ratings` as they are in memory, little-endian and without
headers, the ids in the order of their numbers, and a description.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import Ids, as_column
from grassvine.data.passes import AT_ONCE, Values
from grassvine.data.ratings import MAX_INDEX, Ratings, refuse_extreme
from grassvine.data.tables.files import check_column_types
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.arrays import Indices
from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import DataError
from grassvine.foundations.memory import require_memory

if TYPE_CHECKING:
    pass

FORMAT = "grassvine ratings 1"
DESCRIPTION, STARTS, ITEMS, VALUES = "ratings.json", "starts", "items", "values"
USER_IDS, ITEM_IDS = "users.parquet", "items.parquet"
ID_BYTES = 100  # peak memory per id while ids are read
MOST_DESCRIBED = 2**20  # bytes of a description


def is_mapped_table(folder: Path) -> bool:
    """Return whether a folder has the description of a stored table."""
    return (folder / DESCRIPTION).is_file()


def open_ratings(folder: str | os.PathLike[str]) -> RatingTable:
    """Open a table that :func:`store_ratings` wrote.

    Ratings are read from the files whenever they are used, and the system keeps as much of them in
    memory as there is room for. Everything is checked first, in one pass over the files.

    Parameters
    ----------
    folder : path

    Returns
    -------
    RatingTable
        Its arrays of ratings cannot be written to.
    """
    place = Path(folder)
    described = _description(place)
    n_users, n_items, n_ratings = (described[key] for key in ("users", "items", "ratings"))
    require_memory(ID_BYTES * (n_users + n_items), str(place), DataError)
    users, items = _ids(place / USER_IDS, n_users), _ids(place / ITEM_IDS, n_items)
    starts = np.array(_mapped(place / STARTS, "<i8", n_users + 1))
    item = _mapped(place / ITEMS, "<i4", n_ratings)
    stored = _mapped(place / VALUES, described["values"], n_ratings)
    _check(place, starts, item, stored, n_items)
    return RatingTable(
        users,
        items,
        Ratings(n_items, starts, item, stored),
        assumed=(*described["assumed"], f"{place} is a stored table."),
    )


def description(
    n_users: int, n_items: int, n_ratings: int, values: str, assumed: tuple[str, ...]
) -> bytes:
    """Return the description of a table."""
    counts = {"users": n_users, "items": n_items, "ratings": n_ratings}
    return json.dumps({"format": FORMAT, **counts, "values": values, "assumed": assumed}).encode()


def _description(place: Path) -> dict[str, Any]:
    path = place / DESCRIPTION
    try:
        with path.open("rb") as file:
            text = file.read(MOST_DESCRIBED)
    except OSError as cause:
        raise DataError(
            f"{path} cannot be read ({cause.strerror}); use a folder that store_ratings wrote."
        ) from None
    try:
        found = parse_json(text)
    except ValueError as cause:
        raise _invalid(path, str(cause)) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _invalid(path, f"its format is not {FORMAT!r}")
    for key, most in (("users", MAX_INDEX), ("items", MAX_INDEX), ("ratings", 2**48)):
        if type(found.get(key)) is not int or not 0 < found[key] <= most:
            raise _invalid(path, f"{key} is {found.get(key)!r}")
    if found.get("values") not in ("<f4", "<f8"):
        raise _invalid(path, f"values is {found.get('values')!r}")
    notes = found.get("assumed")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise _invalid(path, "assumed is not a list of sentences")
    return found


def _ids(path: Path, count: int) -> Ids:
    import polars as pl

    try:
        frame = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as cause:
        raise _invalid(path, (str(cause).strip() or "it cannot be read").splitlines()[0]) from None
    check_column_types(frame.schema, str(path))
    if frame.width != 1 or len(frame) != count:
        raise _invalid(path, f"it has {frame.width} columns and {len(frame)} rows, not {count}")
    ids: pl.Series = as_column(frame.to_series(), "stored")
    if not ids.is_sorted() or ids.n_unique() != count:
        raise _invalid(path, "its ids are not distinct and in ascending order")
    return Ids(ids)


def _mapped(path: Path, kind: str, count: int) -> NDArray[Any]:
    dtype = np.dtype(kind)
    try:
        size = path.stat().st_size
        if size != count * dtype.itemsize:
            raise _invalid(path, f"it has {size} bytes, not {count * dtype.itemsize}")
        mapped = np.memmap(path, dtype=dtype, mode="r", shape=(count,))
    except OSError as cause:
        raise _invalid(path, f"it cannot be read, {cause.strerror}") from None
    return np.asarray(mapped)


def _check(
    place: Path, starts: Indices, items: NDArray[np.int32], values: Values, n_items: int
) -> None:
    """Refuse entries that no table has."""
    if starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise _invalid(place / STARTS, "the users' first entries are not in ascending order")
    for low in range(0, len(items), AT_ONCE):
        own = items[max(low - 1, 0) : low + AT_ONCE]  # with the entry before
        if own.min() < 0 or own.max() >= n_items:
            raise _invalid(place / ITEMS, f"an item is not between 0 and {n_items - 1}")
        descents = np.flatnonzero(own[1:] <= own[:-1]) + max(low - 1, 0) + 1
        if (starts[np.searchsorted(starts, descents)] != descents).any():
            raise _invalid(place / ITEMS, "the items of a user are not in ascending order")
        some = values[low : low + AT_ONCE]
        if not np.isfinite(some).all():
            raise _invalid(place / VALUES, "a rating is not finite")
        refuse_extreme(some, lambda k, low=low: f"at position {low + k} of {place / VALUES}")  # type: ignore[misc]


def _invalid(path: Path, reason: str) -> DataError:
    return DataError(f"{path} is not part of a stored table ({reason}); store the ratings again.")
