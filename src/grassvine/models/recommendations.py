"""Recommendations of any model: which items may be shown, the best of them, and the table."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import UNKNOWN, as_column
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch
from grassvine.models.fold_in import Catalogue
from grassvine.models.ranking import BLOCK, best, entries

if TYPE_CHECKING:
    import polars as pl

Mask = NDArray[np.bool_]


def allowed_items(
    catalogue: Catalogue, exclude: object, candidates: object, min_users: object
) -> Mask:
    """Return which items may be recommended.

    Parameters
    ----------
    catalogue : ItemPart or RankedItems
    exclude, candidates : list, array or series of ids, or None
        Items to leave out, and the only ones to choose from; unknown ones are ignored.
    min_users : int
        The least number of users of an item.
    """
    allowed = catalogue.counts >= whole_number("min_users", min_users, least=1)
    if candidates is not None:
        chosen = np.zeros(len(allowed), dtype=bool)
        chosen[_known_numbers(catalogue, candidates)] = True
        allowed &= chosen
    if exclude is not None:
        allowed[_known_numbers(catalogue, exclude)] = False
    if not allowed.any():
        raise DataError(
            "no item is left to recommend; exclude fewer, name more candidates, or lower ",
            Option("min_users"),
            ".",
        )
    return allowed


def best_in_blocks(
    scores_of: Callable[[Indices, Ratings], Array],
    seen: Ratings,
    users: Indices,
    k: int,
    allowed: Mask,
    *,
    exclude_seen: bool,
    watch: Watch | None = None,
) -> tuple[Indices, Array]:
    """Return the best items of each user and their scores, padded with −1.

    Parameters
    ----------
    scores_of : function
        Returns the scores of all items for users, from their numbers and their entries.
    seen : Ratings
        The entries of all users.
    users : array of int
    allowed : bool array of shape (n_items,)
    """
    k = min(whole_number("k", k, least=1), len(allowed))
    items, scores = np.full((len(users), k), UNKNOWN), np.full((len(users), k), np.nan)
    size = max(1, BLOCK // len(allowed))
    for first in range(0, len(users), size):
        some = slice(first, first + size)
        own = seen.choose_users(users[some])
        found = scores_of(users[some], own)
        found[:, ~allowed] = -np.inf
        if exclude_seen:
            found[entries(own, np.arange(own.n_users))] = -np.inf
        items[some], scores[some] = best(found, k)
        if watch is not None:
            watch(min(first + size, len(users)) / len(users))
    return items, scores


def popular_items(counts: Indices, k: int, allowed: Mask) -> Indices:
    """Return the allowed items with the largest counts, padded with −1."""
    sizes = np.where(allowed, counts, 0)
    order = np.argsort(-sizes, kind="stable")[:k]
    return np.where(sizes[order] > 0, order, UNKNOWN)


def recommendation_table(
    asked: "pl.Series",
    owners_of: "Callable[[Indices], dict[str, pl.Series]]",
    catalogue: Catalogue,
    items: Indices,
    columns: dict[str, Array],
    known: Mask,
    *,
    show_nothing: bool,
) -> "pl.DataFrame":
    """Return a row per recommended item: user, owner if any, item, score, rank, known, and others.

    Parameters
    ----------
    asked : series
        The users.
    owners_of : function
        Returns a column of owners, if users have them, for rows of ``asked``.
    items : array of shape (n_users, k)
        Numbers of items, padded with −1.
    columns : dict of arrays of that shape
        ``score``, and what stands behind the other columns.
    show_nothing : bool
        Whether an unknown user gets a row without an item and with rank 0.
    """
    import polars as pl

    shown = items != UNKNOWN
    ranks = np.where(shown, np.arange(1, items.shape[1] + 1), 0)
    if show_nothing:
        shown[~known, 0] = True
    row, _ = np.nonzero(shown)
    places = pl.Series(items[shown])
    others = {name: values[shown] for name, values in columns.items() if name != "score"}
    return pl.DataFrame(
        {
            "user": asked.gather(row),
            **owners_of(row),
            "item": catalogue.items.series.gather(places.set(places == UNKNOWN, None)),
            "score": columns["score"][shown],
            "rank": ranks[shown],
            "known": known[row],
            **others,
        }
    )


def _known_numbers(catalogue: Catalogue, ids: object) -> Indices:
    column = as_column(ids, "item")
    if not len(column):
        return np.empty(0, dtype=np.int64)
    numbers = catalogue.items.numbers(column, "item")
    return numbers[numbers != UNKNOWN]
