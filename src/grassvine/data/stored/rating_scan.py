"""What is counted in files of ratings without holding them: items, agents, users, the range.

Every number is an aggregate over a table that is read piece by piece. What is held at the end is a
line for each item and each user.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grassvine.data.ids import as_column
from grassvine.data.stored.lazy_tables import collected
from grassvine.data.stored.rating_place import FoundRatings, RatingPlace
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

# To find different users polars nearly holds all rows, if users are many: about 10 bytes each. So
# users are gone through in shares of about so many rows, but not more than so often.
ROWS_AT_ONCE = 2**23
MOST_SHARES = 16


@dataclass(frozen=True, slots=True, eq=False)
class RatingScan:
    """What a table holds.

    Attributes
    ----------
    items, counts : series
        The items that occur, and how many ratings each has.
    agents : series or None
        The agents that occur, where a column names them.
    users, owners : series
        The users of each agent, and the agent's number.
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


def scan_ratings(found: FoundRatings, rules: RatingRules, number: int = 0) -> RatingScan:
    """Count what a table holds; what can be seen to be wrong with it is refused.

    Parameters
    ----------
    number : int
        The number of the agent to whom all belongs, where no column names agents.
    """
    import polars as pl

    place, source = found.place, found.place.source
    names = {"user": place.user, "item": place.item, "rating": place.rating}
    if place.agent is not None:
        names["agent"] = place.agent
    table = found.table.select(pl.col(column).alias(role) for role, column in names.items())
    table = _with_numbers(table, place)
    n_rows, lowest, highest = _checked(table, rules, source)
    rows = table.filter(pl.col("rating").is_finite())
    by_item = collected(rows.group_by("item").len(), source)
    if place.agent is None:
        agents, rows = None, rows.with_columns(agent=pl.lit(number))
    else:
        named = collected(rows.select("agent").unique(), source)["agent"]
        agents = as_column(named, "agent").sort()
    users = _users(rows, n_rows, source)
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
            f"the ratings in column {place.rating!r} of {place.source} are of type {kind}; give "
            "numbers."
        )
    return table.with_columns(pl.col("rating").cast(pl.Float64))


def _checked(table: "pl.LazyFrame", rules: RatingRules, source: str) -> tuple[int, float, float]:
    """Return the number of rows and the range of the ratings."""
    import polars as pl

    rating = pl.col("rating")
    known = rating.filter(rating.is_finite())
    ids = [name for name in table.collect_schema().names() if name != "rating"]
    facts = collected(
        table.select(
            n_rows=pl.len(),
            n_known=known.len(),
            lowest=known.min(),
            highest=known.max(),
            **{name: _n_missing(name, table.collect_schema()[name]) for name in ids},
        ),
        source,
    ).row(0, named=True)
    n_rows, n_unknown = facts["n_rows"], facts["n_rows"] - facts["n_known"]
    if not n_rows:
        raise DataError(f"{source} holds columns and no row; give a table with rows.")
    for name in ids:
        if facts[name]:
            raise DataError(
                f"{facts[name]} {name} ids in {source} are missing; leave those rows out."
            )
    if n_unknown and rules.missing == "error":
        raise DataError(
            f"{n_unknown} of {n_rows} ratings in {source} are missing, NaN or infinite; leave "
            "those rows out, or say missing='drop'."
        )
    if n_unknown == n_rows:
        raise DataError(f"every rating in {source} is missing, NaN or infinite; give at least one.")
    lowest, highest = float(facts["lowest"]), float(facts["highest"])
    if rules.scale is not None and not rules.scale[0] <= lowest <= highest <= rules.scale[1]:
        raise DataError(
            f"the ratings in {source} reach from {lowest:g} to {highest:g}, beyond the scale from "
            f"{rules.scale[0]:g} to {rules.scale[1]:g}; mend them, or give their own scale."
        )
    return n_rows, lowest, highest


def _n_missing(name: str, kind: "pl.DataType") -> "pl.Expr":
    import polars as pl

    column = pl.col(name)
    missing = column.is_null() | column.is_nan() if kind.is_float() else column.is_null()
    return missing.sum()


def _users(rows: "pl.LazyFrame", n_rows: int, source: str) -> "pl.DataFrame":
    """Return each user with each agent that has ratings of theirs."""
    import polars as pl

    n_shares = min(MOST_SHARES, -(-n_rows // ROWS_AT_ONCE))
    pairs = rows.select("user", "agent")
    shares = (
        pairs.filter(pl.col("user").hash() % n_shares == share) if n_shares > 1 else pairs
        for share in range(n_shares)
    )
    return pl.concat([collected(share.unique(), source) for share in shares])
