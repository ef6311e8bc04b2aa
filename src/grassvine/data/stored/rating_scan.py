"""Statistics of ratings in files: items, agents, users and the range of the ratings.

All of them are aggregates over a streamed table; only one row per item and per user is kept in
memory.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grassvine.data.ids import as_column
from grassvine.data.ratings import MIN_RATING, refuse_extreme
from grassvine.data.stored.lazy_tables import collect
from grassvine.data.stored.rating_place import FoundRatings, RatingPlace
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

# To find the distinct users, polars needs about 10 bytes per row if there are many users. The users
# are therefore divided into shares of about ROWS_AT_ONCE rows, but at most MAX_SHARES.
ROWS_AT_ONCE = 2**23
MAX_SHARES = 16


@dataclass(frozen=True, slots=True, eq=False)
class RatingScan:
    """Statistics of a table of ratings.

    Attributes
    ----------
    items, counts : series
        The items that occur, and the number of ratings of each.
    agents : series or None
        The agents that occur, if a column names them.
    users, owners : series
        The users of each agent, and the index of the agent.
    n_ratings : int
    lowest, highest : float
        The range of the ratings.
    """

    items: "pl.Series"
    counts: "pl.Series"
    agents: "pl.Series | None"
    users: "pl.Series"
    owners: "pl.Series"
    n_ratings: int
    lowest: float
    highest: float


def scan_ratings(
    found: FoundRatings, rules: RatingRules, number: int = 0, watch: Watch | None = None
) -> RatingScan:
    """Compute the statistics of a table; raise an error if its content is invalid.

    Parameters
    ----------
    number : int, default=0
        Index of the agent that holds all rows, if no column names the agents.
    watch : callable, optional
        Called with the completed fraction after each scan of the table.
    """
    import polars as pl

    place, source = found.place, found.place.source
    names = {"user": place.user, "item": place.item}
    if place.rating is not None:
        names["rating"] = place.rating
    if place.agent is not None:
        names["agent"] = place.agent
    table = found.table.select(pl.col(column).alias(role) for role, column in names.items())
    if place.rating is None:
        table = table.with_columns(rating=pl.lit(1.0))
    table = _with_numbers(table, place)
    n_rows, lowest, highest = _checked(table, rules, source)
    done = part_of(watch, 0.0, 1.0)
    n_scans = 3 + _n_shares(n_rows)
    done(1 / n_scans)
    rows = table.filter(pl.col("rating").is_finite())
    by_item = collect(rows.group_by("item").len(), source)
    done(2 / n_scans)
    if place.agent is None:
        agents, rows = None, rows.with_columns(agent=pl.lit(number))
    else:
        named = collect(rows.select("agent").unique(), source)["agent"]
        agents = as_column(named, "agent").sort()
    users = _users(rows, _n_shares(n_rows), source, part_of(watch, 3 / n_scans, 1.0))
    owner = users["agent"]
    if agents is not None:
        owner = as_column(owner, "agent").replace_strict(
            agents, pl.int_range(len(agents), eager=True)
        )
    return RatingScan(
        items=as_column(by_item["item"], "item"),
        counts=by_item["len"].cast(pl.Int64),
        agents=agents,
        users=as_column(users["user"], "user"),
        owners=owner.cast(pl.Int64).alias(""),
        n_ratings=int(by_item["len"].sum()),
        lowest=lowest,
        highest=highest,
    )


def _with_numbers(table: "pl.LazyFrame", place: RatingPlace) -> "pl.LazyFrame":
    import polars as pl

    kind = table.collect_schema()["rating"]
    if not kind.is_numeric():
        raise DataError(
            f"the ratings in column {place.rating!r} of {place.source} are of type {kind}; convert "
            "them to numbers."
        )
    return table.with_columns(pl.col("rating").cast(pl.Float64))


def _checked(table: "pl.LazyFrame", rules: RatingRules, source: str) -> tuple[int, float, float]:
    """Check ids and ratings; return the number of rows and the range of the ratings."""
    import polars as pl

    rating = pl.col("rating")
    known = rating.filter(rating.is_finite())
    ids = [name for name in table.collect_schema().names() if name != "rating"]
    stats = collect(
        table.select(
            n_rows=pl.len(),
            n_known=known.len(),
            lowest=known.min(),
            highest=known.max(),
            tiny=known.filter((known != 0) & (known.abs() < MIN_RATING)).min(),
            **{name: _n_missing(name, table.collect_schema()[name]) for name in ids},
        ),
        source,
    ).row(0, named=True)
    n_rows, n_unknown = stats["n_rows"], stats["n_rows"] - stats["n_known"]
    what = "counts" if rules.events else "ratings"
    if not n_rows:
        raise DataError(f"{source} has columns but no rows; use a table with at least one row.")
    for name in ids:
        if stats[name]:
            raise DataError(
                f"{stats[name]} of {n_rows} {name} ids in {source} are missing; remove those rows."
            )
    if n_unknown and rules.missing == "error":
        raise DataError(
            f"{n_unknown} of {n_rows} {what} in {source} are missing, NaN or infinite; remove "
            "those rows, or use ",
            Option("missing", "drop"),
            ".",
        )
    if n_unknown == n_rows:
        raise DataError(
            f"all {what} in {source} are missing, NaN or infinite; provide at least one."
        )
    lowest, highest = float(stats["lowest"]), float(stats["highest"])
    extremes = np.array([lowest, highest, stats["tiny"] or 0.0])
    refuse_extreme(extremes, lambda k: _place(table, extremes[k], source), what.removesuffix("s"))
    if rules.events and lowest <= 0.0:
        raise DataError(
            f"counts in {source} are negative or 0, such as {lowest:g} "
            f"{_place(table, lowest, source)}; remove these rows: a pair without an event has no "
            "row."
        )
    if rules.scale is not None and not rules.scale[0] <= lowest <= highest <= rules.scale[1]:
        raise DataError(
            f"the ratings in {source} range from {lowest:g} to {highest:g}, outside the scale from "
            f"{rules.scale[0]:g} to {rules.scale[1]:g}; fix them, or change the scale."
        )
    return n_rows, lowest, highest


def _place(table: "pl.LazyFrame", rating: float, source: str) -> str:
    import polars as pl

    same = table.select("rating").with_row_index().filter(pl.col("rating") == rating)
    row = collect(same.head(1), source).item(0, 0)
    return f"in row {row} (counting from 0) of {source}"


def _n_missing(name: str, kind: "pl.DataType") -> "pl.Expr":
    import polars as pl

    column = pl.col(name)
    missing = column.is_null() | column.is_nan() if kind.is_float() else column.is_null()
    return missing.sum()


def _n_shares(n_rows: int) -> int:
    return min(MAX_SHARES, -(-n_rows // ROWS_AT_ONCE))


def _users(rows: "pl.LazyFrame", n_shares: int, source: str, watch: Watch) -> "pl.DataFrame":
    """Return the distinct pairs of user and agent."""
    import polars as pl

    watch(0.0)
    pairs = rows.select("user", "agent")
    shares = (
        pairs.filter(pl.col("user").hash() % n_shares == share) if n_shares > 1 else pairs
        for share in range(n_shares)
    )
    found = []
    for share in shares:
        found.append(collect(share.unique(), source))
        watch(len(found) / n_shares)
    return pl.concat(found)
