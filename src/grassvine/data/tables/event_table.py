"""The labelled table of events: what users chose, with counts, and perhaps when."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grassvine.data.event_splits import HowToSplit, masks_of_split
from grassvine.data.ids import add_ids
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class EventTable(RatingTable):
    """Events in memory, with the ids of users and items.

    The entries of ``ratings`` are the counts: one for each pair of a user and an item that occurs,
    repeated events added up.

    Attributes
    ----------
    times : array of int, or None
        The rank by time of the latest event of each pair, if times were read.
    """

    times: Indices | None = None

    @classmethod
    def of(cls, table: RatingTable, times: Indices | None = None) -> "EventTable":
        """Return a table of events with the entries of a table."""
        if isinstance(table, cls):
            return table
        counts = table.ratings.values
        if not ((counts > 0.0) & np.isfinite(counts)).all():
            raise DataError(
                "the table has entries that are not positive counts; pass a table of events, or "
                "EventTable.of_ratings(table)."
            )
        return cls(
            table.users,
            table.items,
            table.ratings,
            table.owners,
            table.agents,
            table.assumed,
            times,
        )

    @classmethod
    def of_ratings(cls, table: RatingTable) -> "EventTable":
        """Return the ratings of a table as events of count 1, whatever their values."""
        if isinstance(table, cls):
            return table
        ones = table.ratings.with_values(np.ones(table.ratings.n_values))
        noted = replace(
            table, ratings=ones, assumed=(*table.assumed, "Every rating counts as one event.")
        )
        return cls.of(noted)

    def taken(self, chosen: NDArray[np.bool_]) -> "EventTable":
        """Return the table with the events selected by a mask; users and items stay the same."""
        times = None if self.times is None else self.times[chosen]
        return replace(self, ratings=self.ratings.take_values(chosen), times=times)

    def split_for_test(
        self, how: HowToSplit = "random", share: float = 0.2, seed: int = 0
    ) -> "EventSplit":
        """Split the events into training and test; see :mod:`grassvine.data.event_splits`."""
        fit, known, test = masks_of_split(self.ratings, how, share, seed, self.times)
        return EventSplit(
            self.taken(fit), None if known is None else self.taken(known), self.taken(test)
        )

    def digest(self) -> str:
        """Return the SHA-256 of ids and counts; it does not depend on the order of the rows."""
        digest = hashlib.sha256(b"grassvine events 1\n")
        add_ids(digest, self.users)
        add_ids(digest, self.items)
        for numbers in (self.ratings.starts, self.ratings.items):
            digest.update(numbers.astype("<i8").tobytes())
        digest.update(self.ratings.values.astype("<f8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class EventSplit:
    """Events to fit and to test; all tables have the same users and items.

    Attributes
    ----------
    train : EventTable
        The events that a model is fitted to.
    known : EventTable or None
        The events of test users from which they are folded in, if they are not among those fitted.
    test : EventTable
        The events that the model should rank high.
    """

    train: EventTable
    known: EventTable | None
    test: EventTable

    @property
    def given(self) -> EventTable:
        """The events of test users that a model may use."""
        return self.train if self.known is None else self.known
