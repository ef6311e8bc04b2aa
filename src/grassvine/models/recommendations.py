"""Recommendations of any model: which items may be shown, the best of them, and the table."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from grassvine.data.ids import UNKNOWN, as_column
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import whole_number
from grassvine.models.fold_in import Catalogue
from grassvine.models.ranking import Mask

if TYPE_CHECKING:
    import polars as pl


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

    shown, k = items != UNKNOWN, items.shape[1]
    nothing = ~known if show_nothing else np.zeros(len(known), bool)
    shown[nothing, 0] = True
    row, place = np.nonzero(shown)
    one = len(asked) == 1
    floats = _floats({name: values[shown] for name, values in columns.items()})
    series = [
        (asked.new_from_index(0, len(row)) if one else asked[row]).alias("user"),
        *(owner.alias(name) for name, owner in owners_of(row).items()),
        catalogue.items.at(items[shown]).alias("item"),
        floats[0],
        _ranks(k).head(len(row))
        if one and not nothing.any()
        else pl.Series("rank", np.where(nothing[row], 0, place + 1)),
        _known().new_from_index(0, len(row)) if known.all() else pl.Series("known", known[row]),
        *floats[1:],
    ]
    return (
        series[0].to_frame().hstack(series[1:])
    )  # several times faster than a frame of a dictionary


@cache
def _known() -> "pl.Series":
    """Return the column of a known user."""
    import polars as pl

    return pl.Series("known", [True])


@lru_cache(maxsize=8)
def _ranks(k: int) -> "pl.Series":
    """Return the ranks of k items."""
    import polars as pl

    return pl.Series("rank", np.arange(1, k + 1))


def _floats(columns: dict[str, Array]) -> "list[pl.Series]":
    """Return columns of the same length: pieces of one series, which is faster for short ones."""
    import polars as pl

    whole, size = pl.Series(np.concatenate([*columns.values()])), len(next(iter(columns.values())))
    return [whole.slice(at * size, size).alias(name) for at, name in enumerate(columns)]


def _known_numbers(catalogue: Catalogue, ids: object) -> Indices:
    column = as_column(ids, "item")
    if not len(column):
        return np.empty(0, dtype=np.int64)
    numbers = catalogue.items.numbers(column, "item")
    return numbers[numbers != UNKNOWN]
