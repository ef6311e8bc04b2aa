"""A digest of what was learned from, for models and run folders."""

import hashlib

import numpy as np

from grassvine.data.ids import Ids, kind_of
from grassvine.data.tables.rating_table import RatingTable
from grassvine.data.tables.task_table import TaskTable


def table_hash(table: RatingTable | TaskTable) -> str:
    """Return the sha256 of ids and numbers, which the order of the rows does not change.

    The same ratings under other ids have another hash, also where 7 has become "7". Which agent
    holds a user does not matter: it changes nothing of what is learned.
    """
    digest = hashlib.sha256()
    if isinstance(table, RatingTable):
        ratings = table.ratings
        digest.update(b"grassvine ratings 1\n")
        add_ids(digest, table.users)
        add_ids(digest, table.items)
        for numbers in (ratings.starts, ratings.items):
            digest.update(numbers.astype("<i8").tobytes())
        digest.update((ratings.values + 0.0).astype("<f8").tobytes())  # −0 is 0
        return digest.hexdigest()
    digest.update(b"grassvine tasks 1\n")
    add_ids(digest, table.ids)
    digest.update(repr(table.features).encode())
    for x, y in zip(table.tasks.features, table.tasks.targets, strict=True):
        samples = np.column_stack((x, y)) + 0.0
        in_order = samples[np.lexsort(samples.T)]
        digest.update(f"{in_order.shape}\n".encode() + in_order.astype("<f8").tobytes())
    return digest.hexdigest()


def add_ids(digest: "hashlib._Hash", ids: Ids) -> None:
    """Add ids to a digest, each after its length, so that no two lists look alike."""
    import polars as pl

    digest.update(f"{len(ids)} {kind_of(ids.series)}\n".encode())
    if ids.series.dtype.is_integer():
        digest.update(ids.series.to_numpy().astype("<i8").tobytes())
        return
    binary = ids.series.dtype == pl.Binary
    for one in ids.series if binary else ids.series.cast(pl.String):
        content = one if binary else one.encode()
        digest.update(len(content).to_bytes(8, "little") + content)
