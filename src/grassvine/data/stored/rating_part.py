"""One agent's ratings in files."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.data.stored.lazy_tables import collect
from grassvine.data.stored.rating_place import RatingPlace
from grassvine.data.tables.event_input import EventColumns, events_from_frame
from grassvine.data.tables.files import Table
from grassvine.data.tables.rating_input import ratings_from_frame
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import RatingTable, require_ratings_memory
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class RatingPart:
    """The location of one agent's ratings, and the items that all agents share.

    It contains no ratings and can be sent to the agent's process. Calling it reads them.

    Attributes
    ----------
    name : object
        The agent's value in the agent column, or its file.
    place : RatingPlace
    rules : RatingRules
    items : Ids
        The items of all agents.
    owned : bool
        Whether users are identified by id and owner, because some ids occur with several agents.
    """

    name: Any
    place: RatingPlace
    rules: RatingRules
    items: Ids
    owned: bool = False

    def __call__(self) -> Ratings:
        """Read the ratings, with indices of the shared items and users numbered from 0."""
        return self.read().ratings

    def read(self) -> RatingTable:
        """Read the ratings with their user ids, which an agent needs to fold in its users."""
        try:
            return self._read()
        except DataError as cause:
            raise cause.within(f"agent {self.name!r}") from None

    def _read(self) -> RatingTable:
        import polars as pl

        place = self.place
        rows = place.rows(self.name, times=self.rules.duplicates == "last")
        n_rows = collect(rows.select(pl.len()), place.source).item()
        require_ratings_memory(n_rows, f"its part of {place.source}, {n_rows:,} ratings,")
        frame = collect(rows, place.source)
        if not len(frame):
            raise DataError(
                f"{place.source} no longer contains ratings of this agent; restore them, or create "
                "the dataset again."
            )
        own: RatingTable
        if self.rules.events:
            columns = EventColumns(place.user, place.item, place.rating)
            own = events_from_frame(Table(frame), columns, missing=self.rules.missing)
        else:
            own = ratings_from_frame(
                Table(frame),
                user=place.user,
                item=place.item,
                rating=place.rating,
                duplicates=self.rules.duplicates,
                missing=self.rules.missing,
                scale=self.rules.scale,
            )
        number = self.items.numbers(own.items.series, "item")
        if (number == UNKNOWN).any():
            examples = own.items.at(np.flatnonzero(number == UNKNOWN)[:3]).to_list()
            raise DataError(
                f"{int((number == UNKNOWN).sum())} items are not among the {len(self.items)} that "
                f"all agents share (such as {', '.join(map(repr, examples))}): {place.source} has "
                "changed since the dataset was created; create it again."
            )
        # both id lists are ascending, so the entries of a user stay in order
        items = number.astype(np.int32)[own.ratings.items]
        ratings = Ratings(len(self.items), own.ratings.starts, items, own.ratings.values)
        users = own.users
        if self.owned:
            users = Ids(users.series, pl.Series([self.name]).new_from_index(0, len(users)))
        return RatingTable(users, self.items, ratings, assumed=own.assumed)
