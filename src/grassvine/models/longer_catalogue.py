"""A catalogue with items that nobody had rated or chosen before."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.models.fold_in import Catalogue


@dataclass(frozen=True, slots=True, eq=False)
class LongerCatalogue:
    """A longer catalogue: the number of each old and of each given item, and which are new.

    Given items that do not occur have the number −1.
    """

    items: Ids
    of_old: Indices
    of_given: Indices
    new: NDArray[np.bool_]

    @property
    def n_new(self) -> int:
        """The number of new items."""
        return int(np.count_nonzero(self.new))

    def renumbered(self, old: Ratings) -> Ratings:
        """Return entries of the old items with their new numbers, in the same order."""
        items = self.of_old[old.items].astype(np.int32)
        return replace(old, n_items=len(self.items), items=items)

    def given(self, entries: Ratings) -> Ratings:
        """Return given entries with the numbers of the longer catalogue."""
        return Ratings.from_arrays(
            entries.users_of_values(),
            self.of_given[entries.items],
            entries.values,
            n_users=entries.n_users,
            n_items=len(self.items),
        )

    def divided(self, entries: Ratings) -> tuple[Ratings, Ratings]:
        """Return entries of known items, and those of new ones, which are numbered from 0."""
        is_new = self.new[entries.items]
        fresh, position = entries.take_values(is_new), np.cumsum(self.new) - 1
        numbers = position[fresh.items].astype(np.int32)
        return entries.take_values(~is_new), replace(fresh, n_items=self.n_new, items=numbers)


def longer_catalogue(known: Catalogue, items: Ids, entries: Ratings) -> LongerCatalogue:
    """Return the catalogue with those of the given items that occur in entries."""
    occurring = np.unique(entries.items).astype(np.int64)
    number = known.items.numbers(items.series, "item")
    absent = occurring[number[occurring] == UNKNOWN]
    catalogue, place = known.items.merged(items.take(absent))
    of_old, of_absent = place[: len(known.items)], place[len(known.items) :]
    of_given = np.where(number == UNKNOWN, UNKNOWN, of_old[number])
    of_given[absent] = of_absent
    new = np.zeros(len(catalogue), dtype=bool)
    new[of_given[occurring]] = True
    new[of_old[known.counts > 0]] = False
    return LongerCatalogue(catalogue, of_old, of_given, new)
