"""The labelled ratings table: ratings with the ids of users and items, and their owners."""

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from grassvine.data.compression import compressed, narrowed, repetitions
from grassvine.data.ids import Ids, add_ids
from grassvine.data.passes import Values, add_numbers, total
from grassvine.data.ratings import MAX_INDEX, Ratings, refuse_extreme
from grassvine.data.split import hold_out_ratings, split_users, split_users_by_owner
from grassvine.data.tables.repeated import added, latest
from grassvine.foundations.arrays import Indices, Numbers
from grassvine.foundations.errors import DataError, Option, counted
from grassvine.foundations.memory import require_memory
from grassvine.foundations.options import choice, whole_number
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

Duplicates = Literal["error", "mean", "last"]
DUPLICATES = ("error", "mean", "last")
SUM = "sum"  # of events, whose counts are added
# Peak memory per rating while a table is fitted and evaluated by 'grassvine complete' with ten
# agents and a hold-out, which takes the most: 115 measured with four million ratings.
RATING_BYTES = 128
SharedUsers = Literal["separate", "error"]
SHARED_USERS = ("separate", "error")
# Shares of the steps in which a table is made: users and items numbered, values narrowed, entries
# sorted. Measured with ten million ratings.
USERS, ITEMS, NARROWED, SORTED = 0.2, 0.4, 0.45, 0.95


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings in memory, with the ids of users and items.

    :class:`RatingDataset`, whose ratings stay in files, provides what a fit needs under the same
    names.

    Attributes
    ----------
    users, items : Ids
        User number k of the ratings is ``users.series[k]``, item number i ``items.series[i]``. If
        a user has ratings with several owners, the users of each owner are separate, and ``users``
        has their owners.
    ratings : Ratings
    owners : array of int, or None
        The number of the agent that holds each user's ratings, if the table names owners.
    agents : Ids or None
        The names of the agents, if a column names them.
    assumed : tuple of str
        Notes on what was assumed or omitted, or looks unusual, one sentence each.
    """

    users: Ids
    items: Ids
    ratings: Ratings
    owners: Indices | None = None
    agents: Ids | None = None
    assumed: tuple[str, ...] = ()

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.users)

    @property
    def n_ratings(self) -> int:
        """The number of ratings."""
        return self.ratings.n_values

    @property
    def users_with_owners(self) -> Ids:
        """The users, with their owners if the table names them."""
        import polars as pl

        if self.users.owners is not None or self.owners is None:
            return self.users
        names = pl.Series(self.owners) if self.agents is None else self.agents.at(self.owners)
        return Ids(self.users.series, names)

    @property
    def counts(self) -> Indices:
        """The number of ratings of each item."""
        return self.ratings.item_counts()

    @property
    def lowest(self) -> float:
        """The smallest rating."""
        return float(self.ratings.stored.min())

    @property
    def highest(self) -> float:
        """The largest rating."""
        return float(self.ratings.stored.max())

    def mean(self) -> float:
        """Return the mean rating."""
        return total(self.ratings.stored, np.sum) / self.n_ratings

    def squares(self, centre: float) -> float:
        """Return the sum of squared differences between the ratings and a centre."""
        return total(self.ratings.stored, lambda values: np.sum((values - centre) ** 2))

    def split(self, agents: object) -> list[Ratings]:
        """Return the ratings of each owner or, if the table names none, of equal numbers of users.

        Parameters
        ----------
        agents : int
            The number of agents; ignored if the table names owners.
        """
        if self.owners is not None:
            return split_users_by_owner(self.ratings, self.owners)
        n_users = len(self.users)
        why = f"there are {n_users} users and each agent needs one"
        return split_users(
            self.ratings,
            whole_number("agents", agents, least=1, most=n_users, why=why, error=DataError),
        )

    def hold_out(self, share: float, seed: int) -> "tuple[RatingTable, RatingTable | None]":
        """Split the entries at random into training and test; there is no test at share 0."""
        train, test = hold_out_ratings(self.ratings, share, seed=seed)
        if not test.n_values:
            if share:
                raise DataError(
                    Option("share", share),
                    f" holds out none of {train.n_values} ratings; choose a larger fraction, or 0.",
                )
            return self, None
        if not train.n_values:
            raise DataError(Option("share", share), " leaves no rating to fit; hold out less.")
        return replace(self, ratings=train), replace(self, ratings=test)

    def digest(self) -> str:
        """Return the SHA-256 of ids and ratings; it does not depend on the order of the rows.

        The same ratings under other ids have another digest, even where 7 has become "7". Owners
        are not part of it, because they do not change the model.
        """
        digest = hashlib.sha256(b"grassvine ratings 1\n")
        add_ids(digest, self.users)
        add_ids(digest, self.items)
        for numbers in (self.ratings.starts, self.ratings.items):
            add_numbers(digest, numbers, "<i8")
        add_numbers(digest, self.ratings.stored, "<f8")
        return digest.hexdigest()

    @property
    def report(self) -> dict[str, int]:
        """Counts of ratings, users and items, and of users and items with at most one rating."""
        per_user = np.diff(self.ratings.starts)
        per_item = self.ratings.item_counts()
        return {
            "ratings": self.ratings.n_values,
            "users": len(self.users),
            "items": len(self.items),
            "users_without_rating": int((per_user == 0).sum()),
            "users_with_one_rating": int((per_user == 1).sum()),
            "items_without_rating": int((per_item == 0).sum()),
            "items_with_one_rating": int((per_item == 1).sum()),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One user id, item id, rating and perhaps agent per row; nothing is missing.

    ``times`` are ranks by time within a table, or None if it has no times.
    """

    users: "pl.Series"
    items: "pl.Series"
    values: Values
    agents: "pl.Series | None" = None
    agents_are_tables: bool = False
    times: Indices | None = None

    def time_order(self) -> Indices:
        """Return the ranks by time; all are equal if there are no times."""
        return np.zeros(len(self.values), dtype=np.int64) if self.times is None else self.times


class RepeatedRatings(DataError):
    """Several ratings of an item by a user; the first part of the message says which."""


def make_table(
    rows: Rows,
    duplicates: str,
    assumed: tuple[str, ...],
    shared_users: str = "separate",
    watch: Watch | None = None,
) -> RatingTable:
    """Number users, items and agents, and ensure that each user rates each item once.

    The order of the rows does not affect any bit of the result, except with ``duplicates="last"``
    among ratings with equal times or without times.
    """
    choice("duplicates", duplicates, (*DUPLICATES, SUM), error=DataError)
    choice("shared_users", shared_users, SHARED_USERS, error=DataError)
    if not len(rows.values):
        raise DataError("there are no ratings; pass at least one.")
    require_ratings_memory(len(rows.values), f"a table of {len(rows.values):,} ratings")
    done = part_of(watch, 0.0, 1.0)
    user: Numbers
    users, user = Ids.number(rows.users, "user")
    done(USERS)
    items, item = Ids.number(rows.items, "item")
    done(ITEMS)
    owners, agents = None, None
    if rows.agents is not None:
        agents, agent = Ids.number(rows.agents, "agent")
        owned = owned_users(users, user, agents, agent, rows.agents_are_tables)
        if owned.note is not None:
            if shared_users == "error":
                refuse_shared(owned.note)
            assumed += (separate_note(owned.note),)
        users, user, owners = owned.users, owned.user, owned.owners
    # "last" needs the row of each of several ratings, the others only its value
    by_row = duplicates == "last"
    value = narrowed(rows.values)
    done(NARROWED)
    entries: NDArray[Any] = value
    if by_row:
        entries = np.arange(len(user), dtype=np.int32 if len(user) < MAX_INDEX else np.int64)
    columns: list[NDArray[Any]] = [user, item, entries]
    del user, item, entries
    starts, sorted_items, entries = compressed(columns, len(users), len(items))
    done(SORTED)
    again = repetitions(starts, sorted_items)
    if len(again):
        if duplicates == "error":
            of_user = np.searchsorted(starts, again, side="right") - 1
            _refuse_duplicates(users.at(of_user), items.at(sorted_items[again]))
        if by_row:
            entries, kept = latest(entries, again, rows.time_order())
        else:
            entries, kept = added(entries.astype(np.float64), again, mean=duplicates == "mean")
        sorted_items = sorted_items[kept]
        starts -= np.searchsorted(again, starts)
        last_one = "the last one" if rows.times is None else "the latest one"
        done_with = {"mean": "their mean was taken", SUM: "their counts were added"}
        resolved = done_with.get(duplicates, f"{last_one} was taken")
        noun = "event" if duplicates == SUM else "rating"
        repeat = counted(len(again), f"{noun} repeats", f"{noun}s repeat")
        assumed += (f"{repeat} a user and an item; {resolved}.",)
    stored = narrowed(value[entries] if by_row else entries)
    if len(again):  # sums may be larger than all of their terms
        refuse_extreme(stored, lambda k: f"at position {k}")
    ratings = Ratings(len(items), starts, sorted_items, stored)
    table = RatingTable(users, items, ratings, owners, agents, assumed)
    if duplicates != SUM and ratings.n_values > 1 and table.lowest == table.highest:
        note = f"All ratings are {table.lowest:g}; there is nothing to learn."
        table = replace(table, assumed=(*assumed, note))
    return table


def require_ratings_memory(n_ratings: int, what: str) -> None:
    """Refuse more ratings than can be fitted in memory."""
    require_memory(RATING_BYTES * n_ratings, what, DataError)


def refuse_outside(scale: object, values: Values, users: "pl.Series", items: "pl.Series") -> None:
    """Refuse ratings that lie outside the scale on which they were given."""
    low, high = map(np.float64, as_scale(scale))  # a float would be rounded to float32
    outside = np.flatnonzero((values < low) | (values > high))
    if len(outside):
        examples = ", ".join(
            f"{values[k]:g} (user {users[int(k)]!r}, item {items[int(k)]!r})" for k in outside[:3]
        )
        raise DataError(
            f"{counted(len(outside), 'rating lies', 'ratings lie')} outside the scale from {low:g} "
            f"to {high:g}: {examples}"
            f"{', …' if len(outside) > 3 else ''}; correct them, or pass the actual scale."
        )


def as_scale(given: object) -> tuple[float, float]:
    """Return the bounds of a scale."""
    try:
        low, high = (float(bound) for bound in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise DataError(f"the scale is {given!r}; pass the lowest and the highest rating.")
    return low, high


def _refuse_duplicates(users: "pl.Series", items: "pl.Series") -> None:
    pairs = list(zip(users[:3], items[:3], strict=True))
    examples = ", ".join(f"user {user!r} and item {item!r}" for user, item in pairs)
    raise RepeatedRatings(
        f"{counted(len(users), 'rating repeats', 'ratings repeat')} a user and an item: {examples}"
        f"{', …' if len(users) > 3 else ''}; ",
        "keep one of each, or use ",
        Option("duplicates", "mean"),
        " or ",
        Option("duplicates", "last"),
        ".",
    )


@dataclass(frozen=True, slots=True, eq=False)
class OwnedUsers:
    """Users, each with one owner.

    Attributes
    ----------
    users : Ids
        With owners if any id has several.
    user : array of int
        The user of each row.
    owners : array of int
        The number of each user's owner.
    note : str or None
        A clause on ids with several owners, if there are any.
    """

    users: Ids
    user: Numbers
    owners: Indices
    note: str | None


def owned_users(
    users: Ids, user: Numbers, agents: Ids, agent: Numbers, are_tables: bool
) -> OwnedUsers:
    """Treat users of different owners as separate users.

    Parameters
    ----------
    users, agents : Ids
    user, agent : arrays of int
        The user and the agent of each row.
    are_tables : bool
        Whether the agents are numbered tables, for messages.
    """
    owners = np.empty(len(users), dtype=np.int64)
    owners[user] = agent
    strays = np.flatnonzero(owners[user] != agent)
    if not len(strays):
        return OwnedUsers(users, user, owners, None)
    where, what = ("in", "table") if are_tables else ("with", "agent")
    shared, first = np.unique(user[strays], return_index=True)
    examples = []
    for number, place in list(zip(shared, strays[first], strict=True))[:3]:
        pair = sorted((int(agent[place]), int(owners[number])))
        one, other = agents.at(np.array(pair))
        examples.append(f"{users.series[int(number)]!r} {where} {one!r} and {other!r}")
    note = (
        f"{counted(len(shared), 'user id has', 'user ids have')} ratings {where} several {what}s, "
        "such as "
        f"{', '.join(examples)}"
    )
    pairs, number = np.unique(user.astype(np.int64) * len(agents) + agent, return_inverse=True)
    ids, names = users.at(pairs // len(agents)), agents.at(pairs % len(agents))
    return OwnedUsers(Ids(ids, names), number, pairs % len(agents), note)


def separate_note(note: str) -> str:
    """Return the sentence on ids that stand for several users."""
    return f"{note}; they are separate users."


def refuse_shared(note: str) -> None:
    """Refuse ids that have ratings with several owners."""
    raise DataError(
        f"{note}; rename or merge them, or use ",
        Option("shared_users", "separate"),
        " to treat them as separate users.",
    )
