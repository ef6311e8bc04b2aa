"""Ratings of many agents that stay in files until each agent reads its own part."""

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
from grassvine.data.stored.rating_place import RatingPlace, find_events, find_ratings
from grassvine.data.stored.rating_scan import RatingScan, scan_ratings
from grassvine.data.tables.rating_input import Missing, Scale, united
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import (
    Duplicates,
    SharedUsers,
    owned_users,
    refuse_shared,
    separate_note,
)
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, unknown
from grassvine.foundations.watch import Watch


@dataclass(frozen=True, slots=True, eq=False)
class RatingDataset:
    """Labelled ratings in files, with their items, counts and range.

    Create one with :meth:`by_column` or :meth:`by_file`. Calling a part reads one agent's ratings,
    possibly on another machine that sees the same files.

    Attributes
    ----------
    parts : tuple of RatingPart
        One for each agent, in the order of ``agents``.
    items : Ids
        The items of all agents, in the order that :class:`RatingTable` would have.
    counts : int array of shape (n_items,)
        The number of ratings per item, repeated ones included.
    n_users, n_ratings : int
    lowest, highest : float
        The range of the ratings.
    assumed : tuple of str
        Sentences on what was assumed.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 2, 3], "item": [7, 7, 8], "rating": [5, 3, 4], "shop": ["n", "n", "s"]}
    ... )
    >>> ratings.write_parquet("ratings.parquet")
    >>> dataset = gv.RatingDataset.by_column("ratings.parquet", agent="shop")
    >>> dataset.agents, dataset.part("n")().n_values  # a part is read where it is called
    (('n', 's'), 2)
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
        shared_users: SharedUsers = "separate",
        watch: Watch | None = None,
    ) -> "RatingDataset":
        """Create a dataset from Parquet files with a column that names the agent of each rating.

        Parameters
        ----------
        source : path
            A Parquet file, a folder of them, or a pattern such as ``"ratings/*.parquet"``. Folder
            names such as ``shop=north`` become a column.
        agent : str
            The column; agents are sorted by name.
        user, item, rating : str, optional
            The columns; found by name if omitted.
        duplicates, missing, scale, shared_users
            As in :func:`ratings_from_frame`. Duplicates are found when the agents read their parts.
        watch : callable, optional
            Called with the completed fraction after each scan of the files.
        """
        rules = RatingRules(duplicates, missing, scale, shared_users)
        chosen = {"user": user, "item": item, "rating": rating}
        found = find_ratings(_absolute(source), chosen, agent)
        scan = scan_ratings(found, rules, watch=watch)
        assert scan.agents is not None
        names = scan.agents.to_list()
        return cls._of([found.place] * len(names), names, [scan], rules, found.assumed)

    @classmethod
    def of_events(
        cls,
        source: str | os.PathLike[str],
        agent: str,
        *,
        user: str | None = None,
        item: str | None = None,
        count: str | None = None,
        missing: Missing = "error",
        shared_users: SharedUsers = "separate",
        watch: Watch | None = None,
    ) -> "RatingDataset":
        """Create a dataset of events from Parquet files with a column that names the agent.

        The ratings are then the counts; without a column of counts, every row counts once. Counts
        of the same pair are added up when the agents read their parts; ``counts`` has all rows of
        an item. For the other parameters see :meth:`by_column`.
        """
        rules = RatingRules(missing=missing, shared_users=shared_users, events=True)
        found = find_events(_absolute(source), {"user": user, "item": item}, count, agent)
        scan = scan_ratings(found, rules, watch=watch)
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
        shared_users: SharedUsers = "separate",
    ) -> "RatingDataset":
        """Create a dataset from one file per agent, in any format that :func:`read_table` reads.

        Files other than Parquet are read completely, one after another, to list the items. For the
        parameters see :meth:`by_column`.
        """
        if isinstance(sources, str | os.PathLike) or not len(sources):
            raise DataError(f"the files are {sources!r}; pass a list with one file per agent.")
        rules = RatingRules(duplicates, missing, scale, shared_users)
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
        """Combine the scans of the tables."""
        items, item = Ids.number(united([scan.items for scan in scans], "item"), "item")
        counts = np.zeros(len(items), dtype=np.int64)
        np.add.at(counts, item, np.concatenate([scan.counts.to_numpy() for scan in scans]))
        lowest = min(scan.lowest for scan in scans)
        highest = max(scan.highest for scan in scans)
        n_users, note = _users(scans, names)
        if note is not None:
            if rules.shared_users == "error":
                refuse_shared(note)
            assumed += (separate_note(note),)
        if lowest == highest and counts.sum() > 1 and not rules.events:
            assumed += (f"All ratings are {lowest:g}; there is nothing to learn.",)
        return cls(
            parts=tuple(
                RatingPart(name, place, rules, items, owned=note is not None)
                for name, place in zip(names, places, strict=True)
            ),
            items=items,
            counts=counts,
            n_users=n_users,
            n_ratings=sum(scan.n_ratings for scan in scans),
            lowest=lowest,
            highest=highest,
            assumed=assumed,
        )

    @property
    def agents(self) -> tuple[Any, ...]:
        """The names of the agents: values of their column, or file names."""
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
        """Return the mean rating, correctly rounded."""
        return float(self._sum(None) / self.n_ratings)

    def squares(self, centre: float) -> float:
        """Return the sum of squared differences between the ratings and a centre."""
        return float(self._sum(centre))

    def digest(self) -> str:
        """Return the SHA-256 of the summary: item ids, counts, range, numbers of users and ratings.

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
        """Add the ratings, or their squared differences from a centre, table by table."""
        import polars as pl

        largest = max(abs(self.lowest - (centre or 0.0)), abs(self.highest - (centre or 0.0)))
        total = Fraction(0)
        for place in dict.fromkeys(part.place for part in self.parts):
            assert place.rating is not None  # of ratings, not of events
            value = pl.col(place.rating).cast(pl.Float64)
            value = value.filter(value.is_finite())
            if centre is not None:
                value = (value - centre) * (value - centre)
            bound = largest if centre is None else largest**2
            total += exact_sum(place.rows(), value, bound, place.source)
        return total


def _absolute(source: str | os.PathLike[str]) -> str:
    """Return an absolute path, because an agent may have another working directory."""
    return os.path.abspath(source)


def _users(scans: Sequence[RatingScan], names: Sequence[Any]) -> tuple[int, str | None]:
    """Return the number of users, counting an id once per agent, and a note on shared ids."""
    import polars as pl

    users, user = Ids.number(united([scan.users for scan in scans], "user"), "user")
    owner = np.concatenate([scan.owners.to_numpy() for scan in scans])
    by_file = scans[0].agents is None
    owned = owned_users(users, user, Ids(pl.Series(names)), owner, by_file)
    return len(owned.users), owned.note
