r"""Measures of ranked lists, one number per user.

A list is a row of item numbers, best first, padded with −1; relevant items are the entries of a
:class:`Ratings`, one user per row. Users without relevant items have NaN, so that means over users
are taken with ``numpy.nanmean``. With h_k = 1 if place k (from 1) is relevant, and R relevant
items, at K places:

- ``ndcg``: Σ h_k / log₂(k + 1), divided by its largest value, Σ over the first min(R, K) places;
- ``recall``: Σ h_k / R; ``precision``: Σ h_k / K;
- ``average_precision``: Σ h_k · (precision at k) / min(R, K), whose mean over users is MAP.

Lists may be shorter than K; the missing places count as not relevant.
"""

import math

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number

Hits = NDArray[np.bool_]


def found(lists: Indices, relevant: Ratings) -> Hits:
    """Return for each place of each list whether its item is relevant to the user.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.metrics import found
    >>> chosen = gv.Ratings.from_arrays([0, 1], [2, 0], [1.0, 1.0], n_items=3)
    >>> found(np.array([[2, 0], [1, 2]]), chosen).tolist()
    [[True, False], [False, False]]
    """
    lists = np.asarray(lists)
    if lists.ndim != 2 or len(lists) != relevant.n_users:
        raise DataError(
            f"got lists of shape {lists.shape} and relevant items of {relevant.n_users} users; "
            "pass one list per user."
        )
    if lists.size and lists.max() >= relevant.n_items:
        raise DataError(
            f"a list has item {lists.max()}, and there are {relevant.n_items} items; pass lists "
            "and relevant items of the same catalogue."
        )
    keys = relevant.users_of_values() * relevant.n_items + relevant.items
    asked = np.arange(len(lists))[:, None] * relevant.n_items + lists
    place = np.searchsorted(keys, asked)
    place[place == len(keys)] = 0
    hits: Hits = (keys[place] == asked) & (lists >= 0) if len(keys) else np.zeros(lists.shape, bool)
    return hits


def ndcg(hits: Hits, n_relevant: Indices, k: int) -> Array:
    """Return the normalised discounted cumulative gain at k places of each user.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import ndcg
    >>> hits = np.array([[True, False, False], [False, False, True]])
    >>> ndcg(hits, n_relevant=np.array([1, 1]), k=3).tolist()
    [1.0, 0.5]
    """
    discounts = 1.0 / np.log2(np.arange(2.0, _places(k) + 2.0))
    gain = _first(hits, k) @ discounts
    best = np.concatenate([[np.nan], np.cumsum(discounts)])
    return gain / best[np.minimum(n_relevant, k)]


def recall(hits: Hits, n_relevant: Indices, k: int) -> Array:
    """Return the share of the relevant items that are among the first k places.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import recall
    >>> recall(np.array([[True, False, True, False]]), n_relevant=np.array([4]), k=4).tolist()
    [0.5]
    """
    return _first(hits, k).sum(axis=1) / _positive(n_relevant)


def precision(hits: Hits, n_relevant: Indices, k: int) -> Array:
    """Return the share of the first k places that are relevant.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import precision
    >>> precision(np.array([[True, False, True, False]]), n_relevant=np.array([3]), k=4).tolist()
    [0.5]
    """
    return np.where(n_relevant > 0, _first(hits, k).sum(axis=1) / _places(k), np.nan)


def average_precision(hits: Hits, n_relevant: Indices, k: int) -> Array:
    """Return the mean precision at the places of relevant items, among the first k places.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import average_precision
    >>> hits = np.array([[True, False, True]])
    >>> average_precision(hits, n_relevant=np.array([2]), k=3).round(3).tolist()
    [0.833]
    """
    first = _first(hits, k)
    precisions = np.cumsum(first, axis=1) / np.arange(1.0, k + 1.0)
    return (first * precisions).sum(axis=1) / np.minimum(_positive(n_relevant), k)


def coverage(lists: Indices, n_items: int, k: int) -> float:
    """Return the share of the catalogue that somebody gets among the first k places.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import coverage
    >>> float(coverage(np.array([[0, 1], [0, 2]]), n_items=4, k=2))
    0.75
    """
    shown = np.unique(np.asarray(lists)[:, : _places(k)])
    return np.count_nonzero(shown >= 0) / n_items


def auc(scores: Array, relevant: Ratings, excluded: Ratings | None = None) -> Array:
    """Return the probability that a relevant item of a user has a higher score than another item.

    Equal scores count half.

    Parameters
    ----------
    scores : array of shape (n_users, n_items)
    relevant : Ratings
    excluded : Ratings, optional
        Items that are not ranked, such as those that a user chose before.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.metrics import auc
    >>> chosen = gv.Ratings.from_arrays([0], [2], [1.0], n_items=3)
    >>> auc(np.array([[0.1, 0.9, 0.5]]), chosen).tolist()  # better than one of two others
    [0.5]
    """
    result = np.full(len(scores), np.nan)
    for user, row in enumerate(scores):
        chosen = relevant.items[relevant.starts[user] : relevant.starts[user + 1]]
        other = np.ones(len(row), dtype=bool)
        other[chosen] = False
        if excluded is not None:
            other[excluded.items[excluded.starts[user] : excluded.starts[user + 1]]] = False
        rest = np.sort(row[other])
        if len(chosen) and len(rest):
            below = np.searchsorted(rest, row[chosen], "left")
            not_above = np.searchsorted(rest, row[chosen], "right")
            result[user] = float(np.mean(below + not_above)) / (2.0 * len(rest))
    return result


def paired_difference(one: Array, other: Array) -> tuple[float, float]:
    """Return the mean over users of one − other, and its standard error; NaN are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.metrics import paired_difference
    >>> mean, error = paired_difference(np.array([0.5, 0.6, 0.7]), np.array([0.4, 0.6, 0.5]))
    >>> round(mean, 3), round(error, 3)
    (0.1, 0.058)
    """
    differences = one - other
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    if n < 2:
        return (float(differences.mean()) if n else math.nan), math.nan
    return float(differences.mean()), float(differences.std(ddof=1) / math.sqrt(n))


def _first(hits: Hits, k: int) -> Array:
    """Return the first k places as numbers, with zeros where a list is shorter."""
    first = np.zeros((len(hits), _places(k)))
    first[:, : hits.shape[1]] = hits[:, :k]
    return first


def _places(k: object) -> int:
    return whole_number("k", k, least=1)


def _positive(n_relevant: Indices) -> Array:
    return np.where(n_relevant > 0, n_relevant, np.nan)
