"""Location and columns of ratings in files."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grassvine.data.stored.lazy_tables import scan_parquet, scan_table
from grassvine.data.tables.columns import (
    columns_by_role,
    guess_columns,
    named_column,
    unidentified,
)
from grassvine.data.tables.times import time_columns

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class RatingPlace:
    """The source of a table and its columns.

    Attributes
    ----------
    source : str
        A table file, a folder of Parquet files, or a pattern.
    user, item : str
        Columns of users and items.
    rating : str or None
        Column of ratings, or of the counts of events; if None, every row counts once.
    agent : str or None
        Column of the agent of each row; if None, all rows belong to one agent.
    """

    source: str
    user: str
    item: str
    rating: str | None
    agent: str | None = None

    def rows(self, agent: Any = None, *, times: bool = False) -> "pl.LazyFrame":
        """Return the user, item and rating columns, of one agent or, by default, of all.

        With ``times``, columns of times follow.

        For Parquet, only these columns are read, and its statistics are used to skip rows.
        """
        import polars as pl

        if self.agent is None:
            table, _ = scan_table(self.source)
        else:
            table = scan_parquet(self.source)
            if agent is not None:
                table = table.filter(pl.col(self.agent) == agent)
        columns = [self.user, self.item, *([] if self.rating is None else [self.rating])]
        if times:
            names = table.collect_schema().names()
            columns += time_columns([name for name in names if name not in columns])
        return table.select(columns)


@dataclass(frozen=True, slots=True, eq=False)
class FoundRatings:
    """A location of ratings, its opened table, and notes on what was assumed."""

    place: RatingPlace
    table: "pl.LazyFrame"
    assumed: tuple[str, ...]


def find_events(
    source: str, chosen: dict[str, str | None], count: str | None, agent: str
) -> FoundRatings:
    """Open events in files; a column of counts is optional."""
    table = scan_parquet(source)
    names = table.collect_schema().names()
    named_column(names, agent, "agent")
    free = [name for name in names if name != agent]
    if count is None:
        known = columns_by_role(free).get("count", [])
        count = known[0] if len(known) == 1 else None
    else:
        named_column(free, count, "count")
    others = columns_by_role(free)
    unused = {count, *others.get("rating", []), *others.get("time", [])}
    rest = [name for name in free if name not in unused or name in chosen.values()]
    columns, by_place = guess_columns(rest, chosen)
    if by_place:
        raise unidentified(by_place, names, source)
    held = [f"{columns[role]!r} holds the {role}s" for role in chosen]
    held += [] if count is None else [f"{count!r} holds the counts"]
    assumed: tuple[str, ...] = (f"By name, {', '.join(held)}.",)
    if count is None:
        assumed += ("Every row counts once.",)
    place = RatingPlace(source, columns["user"], columns["item"], count, agent)
    return FoundRatings(place, table, assumed)


def find_ratings(
    source: str, chosen: dict[str, str | None], agent: str | None = None
) -> FoundRatings:
    """Open ratings in files; columns that are not chosen are identified by name."""
    table, assumed = scan_table(source) if agent is None else (scan_parquet(source), ())
    names = table.collect_schema().names()
    if agent is not None:
        named_column(names, agent, "agent")
    columns, by_place = guess_columns([name for name in names if name != agent], chosen)
    if by_place:
        raise unidentified(by_place, names, source)
    if None in chosen.values():
        held = ", ".join(f"{columns[role]!r} holds the {role}s" for role in chosen)
        assumed += (f"By name, {held}.",)
    place = RatingPlace(source, columns["user"], columns["item"], columns["rating"], agent)
    return FoundRatings(place, table, assumed)
