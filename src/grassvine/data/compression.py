"""Entries in any order in compressed form, and values in as few bytes as keep them.

Sorting by counting moves every entry twice, by item and then by user; entries that are in order are
moved once. Sorting by a combined key, which takes five times as long, is for small tables:
importing SciPy's sparse arrays takes longer than that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.passes import AT_ONCE, Values
from grassvine.foundations.arrays import Indices, Numbers

SMALL = 2**16


def compressed(
    columns: list[NDArray[Any]], n_users: int, n_items: int
) -> tuple[Indices, NDArray[np.int32], NDArray[Any]]:
    """Sort entries by user, then item; return the start of each user, the items and the values.

    Entries of the same user and item are next to each other, in no particular order.

    Parameters
    ----------
    columns : list of three arrays
        Users, items and values. They are taken out of the list, so that their memory is free as
        soon as they have been moved.
    """
    values, item, user = columns.pop(), columns.pop(), columns.pop()
    if len(values) < SMALL:
        order = np.argsort(user.astype(np.int64) * n_items + item)
        counts = np.bincount(user, minlength=n_users)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, item[order].astype(np.int32), values[order]
    from scipy import sparse

    entries = sparse.coo_array((values, (user, item)), shape=(n_users, n_items))
    entries.has_canonical_format = True  # else SciPy adds repeated entries up
    if not _in_order(user, item):
        entries = entries.tocsc()  # by item
    del user, item, values
    rows = entries.tocsr()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32, copy=False), rows.data


def _in_order(user: Numbers, item: Numbers) -> bool:
    """Return whether entries are sorted by user, then item."""
    for first in range(0, len(user), AT_ONCE):
        step = np.diff(user[first : first + AT_ONCE + 1])
        step_within = np.diff(item[first : first + AT_ONCE + 1])
        if ((step < 0) | ((step == 0) & (step_within < 0))).any():
            return False
    return True


def repetitions(starts: Indices, items: NDArray[np.int32]) -> Indices:
    """Return the places of entries whose user and item are those of the entry before."""
    same = np.flatnonzero(items[1:] == items[:-1]) + 1
    return same[starts[np.searchsorted(starts, same)] != same]  # not the first of a user


def narrowed(values: Values) -> Values:
    """Return values as float32 if all of them survive the round trip, else unchanged."""
    if values.dtype == np.float32:
        return values
    narrow = np.empty(len(values), dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for first in range(0, len(values), AT_ONCE):
            some = values[first : first + AT_ONCE]
            narrow[first : first + AT_ONCE] = some
            if not np.array_equal(narrow[first : first + AT_ONCE], some):
                return values
    return narrow
