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
from grassvine.models.ranking.best import Mask

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

    if len(asked) == 1 and known[0]:
        series = _columns_of_one(asked, owners_of, catalogue, items[0], columns)
        return series[0].to_frame().hstack(series[1:])
    shown = items != UNKNOWN
    ranks = np.where(shown, np.arange(1, items.shape[1] + 1), 0)
    if show_nothing:
        shown[~known, 0] = True
    row, _ = np.nonzero(shown)
    others = {name: pl.Series(values[shown]) for name, values in columns.items() if name != "score"}
    return pl.DataFrame(
        {
            "user": asked.new_from_index(0, len(row)) if len(asked) == 1 else asked[row],
            **owners_of(row),
            "item": catalogue.items.at(items[shown]),
            "score": pl.Series(columns["score"][shown]),
            "rank": pl.Series(ranks[shown]),
            "known": pl.Series(known[row]),
            **others,
        }
    )


def _columns_of_one(
    asked: "pl.Series",
    owners_of: "Callable[[Indices], dict[str, pl.Series]]",
    catalogue: Catalogue,
    items: Indices,
    columns: dict[str, Array],
) -> "list[pl.Series]":
    """Return the columns of one known user: of short series, making them takes the longest.

    Numbers are pieces of one series, and what is the same for all users is kept.
    """
    import polars as pl

    count = int(np.count_nonzero(items != UNKNOWN))  # they come first
    numbers = pl.Series(np.concatenate([values[0, :count] for values in columns.values()]))
    score, *others = (
        numbers.slice(at * count, count).alias(name) for at, name in enumerate(columns)
    )
    owners = owners_of(np.zeros(count, np.int64))
    return [
        asked.new_from_index(0, count).alias("user"),
        *(owner.alias(name) for name, owner in owners.items()),
        catalogue.items.at(items[:count]).alias("item"),
        score,
        _ranks(len(items)).head(count),
        _known().new_from_index(0, count),
        *others,
    ]


@cache
def _known() -> "pl.Series":
    import polars as pl

    return pl.Series("known", [True])


@lru_cache(maxsize=8)
def _ranks(k: int) -> "pl.Series":
    import polars as pl

    return pl.Series("rank", np.arange(1, k + 1))


def _known_numbers(catalogue: Catalogue, ids: object) -> Indices:
    column = as_column(ids, "item")
    if not len(column):
        return np.empty(0, dtype=np.int64)
    numbers = catalogue.items.numbers(column, "item")
    return numbers[numbers != UNKNOWN]
