"""Ratings of Parquet files written to a folder as a sorted table, in bounded memory.

Users are divided into buckets by their number. The rows are read in batches and appended to a file
of their bucket; then each bucket is sorted in memory and appended to the arrays. Both passes read
and write files from beginning to end.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from grassvine.data.compression import compressed, narrowed, repetitions
from grassvine.data.ids import Ids
from grassvine.data.stored.lazy_tables import collect, scan_parquet
from grassvine.data.stored.mapped_table import (
    DESCRIPTION,
    ITEM_IDS,
    ITEMS,
    STARTS,
    USER_IDS,
    VALUES,
    description,
    open_ratings,
)
from grassvine.data.stored.rating_place import FoundRatings, find_ratings
from grassvine.data.stored.rating_scan import scan_ratings
from grassvine.data.tables.rating_input import Missing, Scale
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import RatingTable, RepeatedRatings
from grassvine.data.tables.repeated import added
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, Option, OutputError, counted
from grassvine.foundations.options import choice
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

ROWS_AT_ONCE = 2**21
ROWS_IN_BUCKET = 2**22  # on average, of about 40 bytes while they are sorted
ROW = np.dtype([("user", "<i4"), ("item", "<i4"), ("value", "<f8")])
# Shares of the steps: statistics, rows divided into buckets; measured with 200 million ratings.
SCANNED, DIVIDED = 0.3, 0.8


def store_ratings(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    duplicates: Literal["error", "mean"] = "error",
    missing: Missing = "error",
    scale: Scale | None = None,
    watch: Watch | None = None,
) -> RatingTable:
    """Write ratings to a folder, and open it with :func:`open_ratings`.

    The table is that of :func:`ratings_from_frame`, but its ratings stay in the folder. They need
    not fit into memory; the ids of users and items must.

    Parameters
    ----------
    source : path
        A Parquet file or a folder of them.
    folder : path
        The folder to be written, which must not exist. While it is written, the files in it take
        up to three times as much space as at the end.
    user, item, rating : str, optional
        The columns; found by name if omitted.
    duplicates : {"error", "mean"}, default="error"
        How to treat several ratings of one item by one user.
    missing, scale
        As in :func:`ratings_from_frame`.
    watch : callable, optional
        Called with the completed fraction as it grows.
    """
    choice("duplicates", duplicates, ("error", "mean"), error=DataError)
    rules = RatingRules(duplicates, missing, scale)
    target = Path(folder)
    if os.path.lexists(target):
        raise OutputError(f"{target} exists; choose another folder, or remove it.")
    place = os.path.abspath(source)
    scan_parquet(place)  # refuses other formats, which cannot be read in batches
    found = find_ratings(place, {"user": user, "item": item, "rating": rating})
    done = part_of(watch, 0.0, 1.0)
    scan = scan_ratings(found, rules, watch=part_of(watch, 0.0, SCANNED))
    users, items = Ids(scan.users.sort()), Ids(scan.items.sort())
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    try:
        partial.mkdir(parents=True)
        buckets = _divided(found, users, items, partial, part_of(watch, SCANNED, DIVIDED))
        n_repeated = _sorted(buckets, users, items, duplicates, partial)
        _write_ids(partial / USER_IDS, users)
        _write_ids(partial / ITEM_IDS, items)
        notes = found.assumed
        if n_repeated:
            repeat = counted(n_repeated, "rating repeats", "ratings repeat")
            notes += (f"{repeat} a user and an item; their mean was taken.",)
        n_ratings = scan.n_ratings - n_repeated
        kind = buckets.kind(duplicates)
        content = description(len(users), len(items), n_ratings, kind, notes)
        (partial / DESCRIPTION).write_bytes(content)
        partial.rename(target)
    except OSError as cause:
        raise OutputError(
            f"{target} cannot be written ({cause.strerror}); check the space on its disk and its "
            "permissions."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    done(1.0)
    return open_ratings(target)


@dataclass(frozen=True, slots=True)
class Buckets:
    """Files with the rows of consecutive users, of which ``bounds`` are the first and the last."""

    paths: tuple[Path, ...]
    bounds: tuple[int, ...]
    narrow: bool

    def kind(self, duplicates: str) -> str:
        """Return the type of the values: float32 if all survive it, and none is a mean."""
        return "<f4" if self.narrow and duplicates == "error" else "<f8"


def _divided(found: FoundRatings, users: Ids, items: Ids, folder: Path, watch: Watch) -> Buckets:
    """Append all rows to the files of their buckets."""
    import polars as pl

    source = found.place.source
    total = collect(found.table.select(pl.len()), source).item()
    count = -(-total // ROWS_IN_BUCKET)
    paths = tuple(folder / f"bucket-{number}" for number in range(count))
    narrow = True
    for frame in _batches(found, total, watch):
        rows = np.empty(len(frame), dtype=ROW)
        rows["user"] = users.numbers(frame["user"], "user")
        rows["item"] = items.numbers(frame["item"], "item")
        rows["value"] = frame["rating"].to_numpy()
        if len(rows) and min(rows["user"].min(), rows["item"].min()) < 0:
            raise DataError(f"{source} has changed while it was read; store it again.")
        narrow = narrow and narrowed(np.ascontiguousarray(rows["value"])).dtype == np.float32
        bucket = rows["user"].astype(np.int64) * count // len(users)
        order = np.argsort(bucket, kind="stable")
        rows, cuts = rows[order], np.searchsorted(bucket[order], np.arange(count + 1))
        for path, low, high in zip(paths, cuts[:-1], cuts[1:], strict=True):
            with path.open("ab") as file:
                rows[low:high].tofile(file)
    bounds = tuple(-(-k * len(users) // count) for k in range(count + 1))
    return Buckets(paths, bounds, narrow)


def _batches(found: FoundRatings, total: int, watch: Watch) -> "Iterator[pl.DataFrame]":
    """Yield users, items and known ratings, as many rows at once as fit into memory."""
    import polars as pl

    place = found.place
    assert place.rating is not None
    table = found.table.select(
        pl.col(place.user).alias("user"),
        pl.col(place.item).alias("item"),
        pl.col(place.rating).cast(pl.Float64).alias("rating"),
    )
    for start in range(0, total, ROWS_AT_ONCE):
        frame = collect(table.slice(start, ROWS_AT_ONCE), place.source)
        yield frame.filter(pl.col("rating").is_finite())
        watch(min(start + ROWS_AT_ONCE, total) / total)


def _sorted(buckets: Buckets, users: Ids, items: Ids, duplicates: str, folder: Path) -> int:
    """Sort each bucket and append it to the arrays; return how many ratings were repeated."""
    kind, n_repeated, n_entries = buckets.kind(duplicates), 0, 0
    with (
        (folder / STARTS).open("wb") as starts,
        (folder / ITEMS).open("wb") as item,
        (folder / VALUES).open("wb") as values,
    ):
        np.zeros(1, "<i8").tofile(starts)
        for path, low, high in zip(buckets.paths, buckets.bounds, buckets.bounds[1:], strict=False):
            rows = np.fromfile(path, dtype=ROW)
            path.unlink()
            own = _entries(rows, low, high, users, items, duplicates)
            (own.starts[1:] + n_entries).astype("<i8").tofile(starts)
            own.items.astype("<i4").tofile(item)
            own.values.astype(kind).tofile(values)
            n_entries += len(own.items)
            n_repeated += len(rows) - len(own.items)
    return n_repeated


@dataclass(frozen=True, slots=True)
class _Entries:
    starts: Indices
    items: NDArray[np.int32]
    values: NDArray[Any]


def _entries(
    rows: NDArray[Any], low: int, high: int, users: Ids, items: Ids, duplicates: str
) -> _Entries:
    """Return the sorted entries of users low … high−1."""
    user, item = rows["user"] - np.int32(low), np.ascontiguousarray(rows["item"])
    value = np.ascontiguousarray(rows["value"])
    starts, sorted_items, values = compressed([user, item, value], high - low, len(items))
    again = repetitions(starts, sorted_items)
    if not len(again):
        return _Entries(starts, sorted_items, values)
    if duplicates == "error":
        of_user = low + np.searchsorted(starts, again, side="right") - 1
        examples = zip(users.at(of_user[:3]), items.at(sorted_items[again[:3]]), strict=True)
        pairs = ", ".join(f"user {user!r} and item {item!r}" for user, item in examples)
        raise RepeatedRatings(
            f"some ratings repeat a user and an item, such as {pairs}; ",
            "keep one of each, or use ",
            Option("duplicates", "mean"),
            ".",
        )
    values, kept = added(values, again, mean=True)
    return _Entries(starts - np.searchsorted(again, starts), sorted_items[kept], values)


def _write_ids(path: Path, ids: Ids) -> None:
    import polars as pl

    pl.DataFrame({"id": ids.series}).write_parquet(path)
