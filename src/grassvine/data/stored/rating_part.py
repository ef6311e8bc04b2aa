"""One agent's ratings in files, read where they are used."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.data.ratings import Ratings
from grassvine.data.stored.lazy_tables import collected
from grassvine.data.stored.rating_place import RatingPlace
from grassvine.data.tables.files import Table
from grassvine.data.tables.rating_input import ratings_from_frame
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class RatingPart:
    """Where one agent's ratings are, and the list of items that all agents share.

    It holds no ratings and can be sent to where the agent lives. Calling it reads them.

    Attributes
    ----------
    name
        What a column calls the agent; or its file.
    place : RatingPlace
    rules : RatingRules
    items : Ids
        Those of all agents.
    """

    name: Any
    place: RatingPlace
    rules: RatingRules
    items: Ids

    def __call__(self) -> Ratings:
        """Read the ratings, by the numbers of the shared items; users are numbered from 0."""
        return self.read().ratings

    def read(self) -> RatingTable:
        """Read the ratings with the ids of their users, as an agent folds its own users in."""
        try:
            return self._read()
        except DataError as cause:
            raise DataError(f"agent {self.name!r}: {cause}") from None

    def _read(self) -> RatingTable:
        place = self.place
        frame = collected(place.rows(self.name), place.source)
        if not len(frame):
            raise DataError(
                f"{place.source} holds no rating of it any more; look where they went, or make the "
                "dataset anew."
            )
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
            few = own.items.at(np.flatnonzero(number == UNKNOWN)[:3]).to_list()
            raise DataError(
                f"{int((number == UNKNOWN).sum())} items are not among the {len(self.items)} that "
                f"all agents share (such as {', '.join(map(repr, few))}): {place.source} has "
                "changed since they were listed; make the dataset anew."
            )
        # both lists ascend, so the entries of a user stay in order
        items = number.astype(np.int32)[own.ratings.items]
        ratings = Ratings(len(self.items), own.ratings.starts, items, own.ratings.values)
        return RatingTable(own.users, self.items, ratings, assumed=own.assumed)
