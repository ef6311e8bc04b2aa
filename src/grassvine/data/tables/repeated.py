"""Several values for one pair of user and item, in entries sorted by pair.

``again`` are the places of the entries whose pair is that of the entry before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices


def added(values: Array, again: Indices, *, mean: bool) -> tuple[Array, NDArray[np.bool_]]:
    """Add up the values of each pair, or take their mean; also return a mask of one entry each.

    They are added in ascending order, so that the order of the rows changes no bit. Modifies
    ``values``.
    """
    members, pair = _repeated(len(values), again)
    values[members] = values[members][np.lexsort((values[members], pair))]
    kept = np.ones(len(values), dtype=np.bool_)
    kept[again] = False
    first = np.flatnonzero(kept)
    sums = np.add.reduceat(values, first)
    if mean:
        sums /= np.diff(np.append(first, len(values)))
    return sums, kept


def latest(
    rows: NDArray[Any], again: Indices, times: Indices
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the latest row of each pair, the last at equal times, and a mask of one entry each.

    Modifies ``rows``.
    """
    members, pair = _repeated(len(rows), again)
    own = rows[members]
    rows[members] = own[np.lexsort((own, times[own], pair))]
    kept = np.ones(len(rows), dtype=np.bool_)
    kept[again - 1] = False
    return rows[kept], kept


def _repeated(n_entries: int, again: Indices) -> tuple[Indices, Indices]:
    """Return the entries of pairs that have several, and a number for the pair of each."""
    chosen = np.zeros(n_entries, dtype=np.bool_)
    chosen[again] = True
    chosen[again - 1] = True
    members = np.flatnonzero(chosen)
    return members, members - np.searchsorted(again, members, side="right")
