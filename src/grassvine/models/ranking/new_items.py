"""Add items to the catalogue of a ranking model."""

from dataclasses import replace

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError
from grassvine.models.longer_catalogue import LongerCatalogue, longer_catalogue
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.scorers import FactorScorer
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
    longer = longer_catalogue(shared, items, events)
    if not longer.n_new:
        return shared, private
    if not isinstance(shared.scorer, FactorScorer):
        number = int(np.flatnonzero(longer.new)[0])
        raise DataError(
            f"{longer.n_new} items are new (such as {longer.items.series[number]!r}), and "
            "regressions between items cannot be extended; fit again, or use factors."
        )
    old = None if private is None else replace(private, seen=longer.renumbered(private.seen))
    added = longer.given(events)
    # Known users contribute with all their events.
    everybody = RankedUsers(users, added) if old is None else old.joined(users, added)
    scorer, new_counts = longer_scorer(shared.scorer, longer, everybody.seen)
    counts = np.zeros(len(longer.items), dtype=np.int64)
    counts[longer.of_old] = shared.counts
    counts[longer.new] = new_counts
    return RankedItems(longer.items, counts, scorer), old


def longer_scorer(
    scorer: FactorScorer, longer: LongerCatalogue, seen: Ratings
) -> tuple[FactorScorer, Indices]:
    """Return the scorer with rows of the new items, and the numbers of their users.

    Parameters
    ----------
    seen : Ratings
        All events of users with new items, with the numbers of the longer catalogue.
    """
    rows = np.zeros((len(longer.items), scorer.model.rows.shape[1]))
    rows[longer.of_old] = scorer.model.rows
    strengths = scorer.model.strengths
    model = ImplicitModel(rows[:, :-1], rows[:, -1], strengths)
    totals = new_item_sums(model, *longer.divided(seen))
    rows[longer.new] = new_item_rows(model, totals)
    found = FactorScorer(ImplicitModel(rows[:, :-1], rows[:, -1], strengths))
    return found, totals[2].astype(np.int64)
