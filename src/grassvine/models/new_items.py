"""Add items to the catalogue of a ranking model."""

from dataclasses import dataclass, replace

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError
from grassvine.models.ranking_parts import RankedItems, RankedUsers
from grassvine.models.scorers import FactorScorer
from grassvine.sums.implicit.model import ImplicitModel
from grassvine.sums.implicit.new_items import new_item_rows, new_item_sums


def with_new_items(
    shared: RankedItems, private: RankedUsers | None, users: Ids, items: Ids, events: Ratings
) -> tuple[RankedItems, RankedUsers | None]:
    """Return both parts with the items of these events that nobody had chosen before.

    Parameters
    ----------
    users, items : Ids
    events : Ratings
        The events that contain new items, indexed by position in ``users`` and ``items``. They are
        not added to the private part.
    """
    occurring = np.unique(events.items).astype(np.int64)
    longer = _longer(shared, items, occurring)
    if not longer.n_new:
        return shared, private
    scorer = shared.scorer
    if not isinstance(scorer, FactorScorer):
        first = items.series[int(occurring[longer.new[longer.of_given[occurring]]][0])]
        raise DataError(
            f"{longer.n_new} of {len(occurring)} items are new (such as {first!r}), and "
            "regressions between items cannot be extended; fit again, or use factors."
        )
    n_items = len(longer.items)
    old = None if private is None else _renumbered(private, longer.of_old, n_items)
    added = Ratings.from_arrays(
        events.users_of_values(),
        longer.of_given[events.items],
        events.values,
        n_users=len(users),
        n_items=n_items,
    )
    # Known users contribute with all their events.
    everybody = RankedUsers(users, added) if old is None else old.joined(users, added)
    is_fresh = longer.new[everybody.seen.items]
    known, fresh = everybody.seen.take_values(~is_fresh), everybody.seen.take_values(is_fresh)
    position = np.cumsum(longer.new) - 1
    fresh = replace(fresh, n_items=longer.n_new, items=position[fresh.items].astype(np.int32))
    rows = np.zeros((n_items, scorer.model.rows.shape[1]))
    rows[longer.of_old] = scorer.model.rows
    model = ImplicitModel(rows[:, :-1], rows[:, -1], scorer.model.strengths)
    totals = new_item_sums(model, known, fresh)
    rows[longer.new] = new_item_rows(model, totals)
    counts = np.zeros(n_items, dtype=np.int64)
    counts[longer.of_old] = shared.counts
    counts[longer.new] = totals[2].astype(np.int64)
    model = ImplicitModel(rows[:, :-1], rows[:, -1], scorer.model.strengths)
    return RankedItems(longer.items, counts, FactorScorer(model)), old


@dataclass(frozen=True, slots=True, eq=False)
class _Longer:
    """A longer catalogue: the number of each old and of each given item, and which are new."""

    items: Ids
    of_old: Indices
    of_given: Indices
    new: "np.ndarray[tuple[int], np.dtype[np.bool_]]"

    @property
    def n_new(self) -> int:
        return int(np.count_nonzero(self.new))


def _longer(shared: RankedItems, items: Ids, occurring: Indices) -> _Longer:
    """Return the catalogue with those of the given items that occur."""
    number = shared.items.numbers(items.series, "item")
    absent = occurring[number[occurring] == UNKNOWN]
    catalogue, place = shared.items.merged(items.take(absent))
    of_old, of_absent = place[: len(shared.items)], place[len(shared.items) :]
    of_given = np.where(number == UNKNOWN, UNKNOWN, of_old[number])
    of_given[absent] = of_absent
    new = np.zeros(len(catalogue), dtype=bool)
    new[of_given[occurring]] = True
    new[of_old[shared.counts > 0]] = False
    return _Longer(catalogue, of_old, of_given, new)


def _renumbered(private: RankedUsers, place: Indices, n_items: int) -> RankedUsers:
    """Return the users with other item numbers, in the same order."""
    items = place[private.seen.items].astype(np.int32)
    return replace(private, seen=replace(private.seen, n_items=n_items, items=items))
