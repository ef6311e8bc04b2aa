"""A member's own table, read and checked against the plan."""

import contextlib
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from grassvine.data import Ratings, hold_out_ratings, hold_out_samples
from grassvine.data.event_splits import masks_of_split
from grassvine.data.ids import UNKNOWN, Ids, as_known
from grassvine.data.tables import RatingTable, Table, read_table, tasks_from_frame
from grassvine.data.tables.columns import columns_by_role, guess_columns
from grassvine.data.tables.event_input import EventColumns
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates
from grassvine.data.tables.sample_table import samples_from_frame
from grassvine.datasets import read_events, read_ratings
from grassvine.foundations.errors import DataError, Option
from grassvine.peers.fit.components import MemberSamples
from grassvine.peers.fit.events import MemberEvents
from grassvine.peers.fit.learning import Catalogue, in_order
from grassvine.peers.fit.ratings import MemberRatings
from grassvine.peers.fit.tasks import MemberTasks
from grassvine.peers.plan.group_plan import GroupPlan

MemberData: TypeAlias = MemberRatings | MemberEvents | MemberTasks | MemberSamples
N_NAMED = 5  # unknown items that an error names
_NOTHING_LEFT = "the plan's hold-out leaves nothing to learn from; use a larger table."


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a member's table: the options of :func:`grassvine.datasets.read_ratings`.

    The columns of users, items and ratings, and ``duplicates`` and ``missing``, are for ratings
    only, and ``count`` is for events; tasks and components have the columns of the plan.
    """

    separator: str | None = None
    skip_rows: int = 0
    encoding: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    count: str | None = None
    duplicates: Duplicates = "error"
    missing: Missing = "error"


@dataclass(frozen=True, slots=True, eq=False)
class OwnTable:
    """A member's data as a part of the run, a hash of them, and what was assumed about the file."""

    data: MemberData
    data_hash: str
    assumed: tuple[str, ...]
    counts: dict[str, int]


def read_member_data(plan: GroupPlan, path: str, reading: Reading | None = None) -> OwnTable:
    """Read a member's own table for a plan."""
    how = reading or Reading()
    readers = {"ratings": _ratings, "events": _events, "tasks": _tasks, "pca": _samples}
    return readers[plan.learning.kind](plan, path, how)


def read_catalogue(path: str, reading: Reading | None = None) -> tuple[Catalogue, tuple[str, ...]]:
    """Return the distinct ids of the items in a table, and what was assumed about the file.

    The table has a column of items among others, such as one of ratings, or one id per line.
    """
    how = reading or Reading()
    table = _catalogue_table(path, how)
    names = table.frame.columns
    chosen = how.item
    if chosen is None and len(names) == 1 and names[0].startswith("column "):
        chosen = names[0]  # a file without a header
    if chosen is None and len(names) == 1 and "item" not in columns_by_role(names):
        raise DataError(
            f"it is not clear whether {names[0]!r} in {path} is an item or a header; write 'item' "
            "in the first line, or use ",
            Option("item"),
            " with the name of the column.",
        )
    column = table.frame[guess_columns(names, {"item": chosen})[0]["item"]]
    ids, _ = Ids.number(column, "item")
    kind = ids.series.dtype
    if not (kind == pl.String or kind.is_integer()):
        raise DataError(f"the item ids are of type {kind}; convert them to text.")
    return tuple(in_order(tuple(ids.series.to_list()))), table.assumed


def _catalogue_table(path: str, how: Reading) -> Table:
    """Read a table of items, which may have a single column and so no separator to be found."""
    options: dict[str, Any] = {"skip_rows": how.skip_rows, "encoding": how.encoding}
    try:
        return read_table(path, separator=how.separator, **options)
    except DataError:
        if how.separator is not None or path == "-":
            raise
        try:
            table = read_table(path, separator=",", **options)
        except DataError:
            table = None
        if table is None or len(table.frame.columns) != 1:
            raise
        return table


def _ratings(plan: GroupPlan, path: str, how: Reading) -> OwnTable:
    table = read_ratings(
        path,
        separator=how.separator,
        skip_rows=how.skip_rows,
        encoding=how.encoding,
        user=how.user,
        item=how.item,
        rating=how.rating,
        duplicates=how.duplicates,
        missing=how.missing,
        scale=plan.learning.scale,
    )
    items, ratings = _in_catalogue(plan, table, "ratings")
    train, held = hold_out_ratings(ratings, plan.learning.holdout, seed=plan.seed)
    if not train.n_values:
        raise DataError(_NOTHING_LEFT)
    data = MemberRatings(plan.learning, len(plan.members), items, table.users, train, held)
    counts = {"users": table.n_users, "items": len(table.items), "ratings": table.n_ratings}
    return OwnTable(data, table.digest(), table.assumed, counts)


def _events(plan: GroupPlan, path: str, how: Reading) -> OwnTable:
    table = read_events(
        path,
        columns=EventColumns(how.user, how.item, how.count),
        missing=how.missing,
        separator=how.separator,
        skip_rows=how.skip_rows,
        encoding=how.encoding,
    )
    items, events = _in_catalogue(plan, table, "events")
    fit, held = np.ones(events.n_values, dtype=bool), np.zeros(events.n_values, dtype=bool)
    share = plan.learning.holdout
    if share and (np.diff(events.starts) >= 2).any():
        with contextlib.suppress(DataError):  # too few events to hold any out
            fit, _, held = masks_of_split(events, "random", share, plan.seed)
    data = MemberEvents(
        plan.learning, items, table.users, events.take_values(fit), events.take_values(held)
    )
    counts = {"users": table.n_users, "items": len(table.items), "events": table.n_ratings}
    return OwnTable(data, table.digest(), table.assumed, counts)


def _in_catalogue(plan: GroupPlan, table: RatingTable, what: str) -> tuple[Ids, Ratings]:
    """Return the items of the plan, and the entries of a table with their numbers."""
    items = Ids(pl.Series(plan.learning.catalogue))
    numbers = items.numbers(as_known(table.items.series, items, "item"), "item")
    unknown = np.flatnonzero(numbers == UNKNOWN)
    if len(unknown):
        few = ", ".join(map(repr, table.items.at(unknown[:N_NAMED])))
        raise DataError(
            f"{len(unknown)} of {len(numbers)} items are not in the plan's catalogue ({few}"
            f"{', …' if len(unknown) > N_NAMED else ''}); leave their {what} out, or draft a plan "
            "with a larger catalogue."
        )
    # Ids of both are in ascending order, so the entries stay in order.
    places = numbers.astype(np.int32)[table.ratings.items]
    return items, replace(table.ratings, n_items=len(items), items=places)


def _tasks(plan: GroupPlan, path: str, how: Reading) -> OwnTable:
    learning = plan.learning
    assert learning.target is not None and learning.task is not None
    read = read_table(path, separator=how.separator, skip_rows=how.skip_rows, encoding=how.encoding)
    table = tasks_from_frame(
        read, target=learning.target, task=learning.task, features=_columns(learning.catalogue)
    )
    tasks, held = hold_out_samples(table.tasks, learning.holdout, seed=plan.seed)
    if not tasks.n_values:
        raise DataError(_NOTHING_LEFT)
    counts = {"tasks": table.tasks.n_tasks, "samples": table.tasks.n_values}
    return OwnTable(
        MemberTasks(learning, table.ids, tasks, held), table.digest(), table.assumed, counts
    )


def _samples(plan: GroupPlan, path: str, how: Reading) -> OwnTable:
    read = read_table(path, separator=how.separator, skip_rows=how.skip_rows, encoding=how.encoding)
    table = samples_from_frame(read, _columns(plan.learning.catalogue))
    data = MemberSamples(plan.learning, table.samples)
    return OwnTable(data, table.digest(), table.assumed, {"samples": len(table.samples)})


def _columns(catalogue: Catalogue) -> list[str]:
    return [str(name) for name in catalogue]
