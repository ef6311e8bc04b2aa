"""Where ratings lie in files, and which columns they have: no data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grassvine.data.stored.lazy_tables import scan_parquet, scan_table
from grassvine.data.tables.columns import guess_columns, listing, named_column
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class RatingPlace:
    """A table in files, and its columns.

    Attributes
    ----------
    source : str
        A file; or a Parquet file, a folder of them, or a pattern.
    user, item, rating : str
        The columns.
    agent : str or None
        The column that names the agent of each row; without it all rows are one agent's.
    """

    source: str
    user: str
    item: str
    rating: str
    agent: str | None = None

    def rows(self, agent: Any = None) -> "pl.LazyFrame":
        """Return users, items and ratings under their columns' names, of one agent if it is told.

        Of Parquet, nothing but these columns is read, and whatever its statistics allow is skipped.
        """
        import polars as pl

        if self.agent is None:
            table, _ = scan_table(self.source)
        else:
            table = scan_parquet(self.source)
            if agent is not None:
                table = table.filter(pl.col(self.agent) == agent)
        return table.select(self.user, self.item, self.rating)


@dataclass(frozen=True, slots=True, eq=False)
class FoundRatings:
    """A place, its table as it was opened there, and what was assumed."""

    place: RatingPlace
    table: "pl.LazyFrame"
    assumed: tuple[str, ...]


def find_ratings(
    source: str, chosen: dict[str, str | None], agent: str | None = None
) -> FoundRatings:
    """Open ratings in files; their columns are told, or found by their names."""
    table, assumed = scan_table(source) if agent is None else (scan_parquet(source), ())
    names = table.collect_schema().names()
    if agent is not None:
        named_column(names, agent, "agent")
    columns, by_place = guess_columns([name for name in names if name != agent], chosen)
    if by_place:
        missing = " and ".join(f"{role}s" for role in by_place)
        options = ", ".join(f"{role}=" for role in by_place)
        raise DataError(
            f"no column of {source} is named as that of the {missing}; say which it is "
            f"({options}). {listing(names)}"
        )
    if None in chosen.values():
        told = ", ".join(f"{columns[role]!r} holds the {role}s" for role in chosen)
        assumed += (f"By their names, {told}.",)
    place = RatingPlace(source, columns["user"], columns["item"], columns["rating"], agent)
    return FoundRatings(place, table, assumed)
