"""Ratings of many agents that stay in their files until each agent reads its own."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from grassvine.data.ids import Ids, add_ids
from grassvine.data.stored.exact_sums import exact_sum
from grassvine.data.stored.rating_part import RatingPart
from grassvine.data.stored.rating_place import RatingPlace, find_ratings
from grassvine.data.stored.rating_scan import RatingScan, scan_ratings
from grassvine.data.tables.rating_input import Missing, Scale, united
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import Duplicates, refuse_shared
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, unknown


@dataclass(frozen=True, slots=True, eq=False)
class RatingDataset:
    """Ratings in files, and what can be told of them without holding them.

    Make one with :meth:`by_column` or :meth:`by_file`. Each of its parts reads one agent's ratings
    when it is called, which may be on another machine that sees the same files.

    Attributes
    ----------
    parts : tuple of RatingPart
        One for each agent, in the order of ``agents``.
    items : Ids
        The items of all agents, in the order that :class:`RatingTable` would have.
    counts : array of int, one an item
        How many ratings an item has; repeated ones count too.
    n_users, n_ratings : int
    lowest, highest : float
        The range of the ratings.
    assumed : tuple of str
        Sentences that say what was assumed.
    """

    parts: tuple[RatingPart, ...]
    items: Ids
    counts: Indices
    n_users: int
    n_ratings: int
    lowest: float
    highest: float
    assumed: tuple[str, ...] = ()

    @classmethod
    def by_column(
        cls,
        source: str | os.PathLike[str],
        agent: str,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: Duplicates = "error",
        missing: Missing = "error",
        scale: Scale | None = None,
    ) -> "RatingDataset":
        """Take ratings from Parquet with a column that names the agent of each.

        Parameters
        ----------
        source : path
            A Parquet file, a folder of them, or a pattern such as ``"ratings/*.parquet"``. Names of
            folders such as ``shop=north`` are a column of what lies in them.
        agent : str
            The column; agents are in the order of their names.
        user, item, rating : str, optional
            The columns; found by their names unless told.
        duplicates, missing, scale
            As :func:`ratings_from_frame` has them. Repeated pairs are met by the agents.
        """
        rules = RatingRules(duplicates, missing, scale)
        chosen = {"user": user, "item": item, "rating": rating}
        found = find_ratings(_absolute(source), chosen, agent)
        scan = scan_ratings(found, rules)
        assert scan.agents is not None
        names = scan.agents.to_list()
        return cls._of([found.place] * len(names), names, [scan], rules, found.assumed)

    @classmethod
    def by_file(
        cls,
        sources: Sequence[str | os.PathLike[str]],
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: Duplicates = "error",
        missing: Missing = "error",
        scale: Scale | None = None,
    ) -> "RatingDataset":
        """Take ratings from a file an agent, of any form that :func:`read_table` reads.

        Files that are not Parquet are gone through whole, one after the other, to list the items.
        For the parameters see :meth:`by_column`.
        """
        if isinstance(sources, str | os.PathLike) or not len(sources):
            raise DataError(f"the files are {sources!r}; give a list with one file an agent.")
        rules = RatingRules(duplicates, missing, scale)
        chosen = {"user": user, "item": item, "rating": rating}
        places: list[RatingPlace] = []
        scans: list[RatingScan] = []
        assumed: list[str] = []
        for number, source in enumerate(sources):
            try:
                found = find_ratings(_absolute(source), chosen)
                scans.append(scan_ratings(found, rules, number))
            except DataError as cause:
                raise cause.within(f"table {number}") from None
            places.append(found.place)
            assumed += [f"Table {number}: {sentence}" for sentence in found.assumed]
        names = [os.fspath(source) for source in sources]
        return cls._of(places, names, scans, rules, tuple(assumed))

    @classmethod
    def _of(
        cls,
        places: Sequence[RatingPlace],
        names: Sequence[Any],
        scans: Sequence[RatingScan],
        rules: RatingRules,
        assumed: tuple[str, ...],
    ) -> "RatingDataset":
        """Put together what was counted in each table."""
        items, item = Ids.number(united([scan.items for scan in scans], "item"), "item")
        counts = np.zeros(len(items), dtype=np.int64)
        np.add.at(counts, item, np.concatenate([scan.counts.to_numpy() for scan in scans]))
        lowest = min(scan.lowest for scan in scans)
        highest = max(scan.highest for scan in scans)
        if lowest == highest and counts.sum() > 1:
            assumed += (f"All ratings are {lowest:g}; there is nothing to learn.",)
        return cls(
            parts=tuple(
                RatingPart(name, place, rules, items)
                for name, place in zip(names, places, strict=True)
            ),
            items=items,
            counts=counts,
            n_users=_n_users(scans, names),
            n_ratings=sum(scan.n_ratings for scan in scans),
            lowest=lowest,
            highest=highest,
            assumed=assumed,
        )

    @property
    def agents(self) -> tuple[Any, ...]:
        """The names of the agents: what their column calls them, or their files."""
        return tuple(part.name for part in self.parts)

    def part(self, agent: Any) -> RatingPart:
        """Return the part of one agent."""
        for part in self.parts:
            if part.name == agent:
                return part
        raise DataError(unknown("agent", agent, map(str, self.agents)))

    def split(self, agents: object) -> tuple[RatingPart, ...]:
        """Return the parts of its own agents, as :meth:`RatingTable.split` does."""
        return self.parts

    def mean(self) -> float:
        """Return the mean of the ratings, to the last bit."""
        return float(self._sum(None) / self.n_ratings)

    def squares(self, centre: float) -> float:
        """Return the sum of the squares of the ratings less a centre."""
        return float(self._sum(centre))

    def digest(self) -> str:
        """Return a sha256 of what was counted: ids of items, how often each was rated, the range.

        It differs from the digest of a :class:`RatingTable`, which needs all ratings in memory:
        exchanging ratings between users does not change it.
        """
        digest = hashlib.sha256(b"grassvine counted ratings 1\n")
        add_ids(digest, self.items)
        digest.update(self.counts.astype("<i8").tobytes())
        facts = len(self.parts), self.n_users, self.n_ratings, self.lowest + 0.0, self.highest + 0.0
        digest.update(repr(facts).encode())
        return digest.hexdigest()

    def _sum(self, centre: float | None) -> Fraction:
        """Add up the ratings, or their squares less a centre, table by table."""
        import polars as pl

        largest = max(abs(self.lowest - (centre or 0.0)), abs(self.highest - (centre or 0.0)))
        total = Fraction(0)
        for place in dict.fromkeys(part.place for part in self.parts):
            value = pl.col(place.rating).cast(pl.Float64)
            value = value.filter(value.is_finite())
            if centre is not None:
                value = (value - centre) * (value - centre)
            bound = largest if centre is None else largest**2
            total += exact_sum(place.rows(), value, bound, place.source)
        return total


def _absolute(source: str | os.PathLike[str]) -> str:
    """An agent's working folder may be another."""
    return os.path.abspath(source)


def _n_users(scans: Sequence[RatingScan], names: Sequence[Any]) -> int:
    """Count the users; one with several agents is refused."""
    import polars as pl

    users, user = Ids.number(united([scan.users for scan in scans], "user"), "user")
    owner = np.concatenate([scan.owners.to_numpy() for scan in scans])
    owners = np.empty(len(users), dtype=np.int64)
    owners[user] = owner
    by_file = scans[0].agents is None
    refuse_shared(users, user, Ids(pl.Series(names)), owner, owners, by_file)
    return len(users)
