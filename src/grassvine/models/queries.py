"""Apply models to tables from files, converting ids to the types of the model where possible."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from grassvine.data.ids import Ids, as_column, as_known
from grassvine.data.tables.columns import columns_by_role, guess_columns, named_column
from grassvine.data.tables.event_input import EventColumns, event_columns, events_from_frame
from grassvine.data.tables.event_table import EventTable
from grassvine.data.tables.files import Table
from grassvine.data.tables.files.numerals import numbers_of
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.data.tables.rating_input import Missing, ratings_from_frame
from grassvine.data.tables.rating_table import Duplicates, RatingTable
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, ModelError
from grassvine.foundations.watch import Watch
from grassvine.models.intervals import normal_interval
from grassvine.models.persistence.files import load
from grassvine.models.ranking.model import RankingModel
from grassvine.models.ratings.model import RatingsModel
from grassvine.models.subspace import SubspaceModel
from grassvine.models.tasks.model import TasksModel
from grassvine.models.unknown import OnUnknown

if TYPE_CHECKING:
    import polars as pl

Recommender: TypeAlias = RatingsModel | RankingModel


def load_ratings_model(path: str | os.PathLike[str]) -> RatingsModel:
    """Load a ratings model; raise ``ModelError`` for other kinds."""
    model = load(path)
    if not isinstance(model, RatingsModel):
        raise ModelError(
            f"{os.fspath(path)} is a {type(model).__name__}, which has no users or items; "
            "use a model saved by 'grassvine complete'."
        )
    return model


def load_recommender(path: str | os.PathLike[str]) -> Recommender:
    """Load a model that recommends items to users; raise ``ModelError`` for other kinds."""
    model = load(path)
    if not isinstance(model, RatingsModel | RankingModel):
        raise ModelError(
            f"{os.fspath(path)} is a {type(model).__name__}, which has no users or items; "
            "use a model saved by 'grassvine complete' or 'grassvine implicit'."
        )
    return model


def predict_ratings(
    model: RatingsModel,
    table: Table,
    user: str | None,
    item: str | None,
    on_unknown: OnUnknown,
    owner: object = None,
    *,
    interval: float | None = None,
    watch: Watch | None = None,
) -> "pl.DataFrame":
    """Predict the rating of each pair of a table; the columns are user, item, rating and known.

    With an interval also std, lower and upper.

    Parameters
    ----------
    owner : object
        The column that named the owners in the fit, as the model's card has it.
    interval : float, optional
        The probability of a rating inside its interval.
    watch : callable, optional
        Called with the completed fraction as it grows.
    """
    import polars as pl

    owned = owner_column(model, table, owner)
    names = [name for name in table.frame.columns if name != owned]
    columns, _ = guess_columns(names, {"user": user, "item": item})
    users = _user_ids(model, table.frame[columns["user"]])
    items = as_known(table.frame[columns["item"]], model.shared.items, "item")
    owners = None if owned is None else owner_ids(model, table.frame[owned])
    found = model.predict(
        users,
        items,
        on_unknown,
        return_std=interval is not None,
        return_interval=interval,
        owners=owners,
        watch=watch,
    )
    predicted: dict[str, Any] = {"rating": found.ratings, "known": found.known, **found.spread}
    return pl.DataFrame({"user": users, "item": items, **predicted})


def predict_targets(
    model: TasksModel,
    table: Table,
    task: str,
    on_unknown: OnUnknown,
    interval: float | None = None,
) -> "pl.DataFrame":
    """Predict the target of each sample of a table; the columns are task, prediction and known.

    With ``interval``, a share such as 0.9, there are also columns lower and upper.
    """
    import polars as pl

    named_column(table.frame.columns, task, "task")
    asked = as_column(table.frame[task], "task")
    if model.private is not None:
        asked = as_known(asked, model.private.tasks, "task")
    samples = _samples(table, model.shared.features)
    found = model.predict(samples, asked, on_unknown, deviations=interval is not None)
    frame = pl.DataFrame({"task": asked, "prediction": found.targets, "known": found.known})
    if found.deviations is None:
        return frame
    lower, upper = normal_interval(found.targets, found.deviations, interval)
    return frame.with_columns(lower=lower, upper=upper)


def coordinates(model: SubspaceModel, table: Table) -> "pl.DataFrame":
    """Return the coordinates of each sample of a table in columns component0, component1, …"""
    import polars as pl

    found = model.transform(_samples(table, model.features, allow_missing=True))
    return pl.DataFrame({f"component{k}": column for k, column in enumerate(found.T)})


def owner_column(model: Recommender, table: Table, owner: object) -> str | None:
    """Return the column of owners, if the model identifies users by owner and the table has it.

    The parameters are those of :func:`predict_ratings`.
    """
    owned = model.private is not None and model.private.users.owners is not None
    return owner if owned and isinstance(owner, str) and owner in table.frame.columns else None


def owner_ids(model: Recommender, given: object) -> "pl.Series":
    """Return owners named in a file or command, with the type of the model's owners."""
    names = as_column(given, "owner")
    if model.private is None or model.private.users.owners is None:
        return names
    return as_known(names, Ids(model.private.users.owners.drop_nulls()), "owner")


def users_named(model: Recommender, names: Sequence[str]) -> "pl.Series":
    """Return users named on the command line, parsed like a column of a file."""
    import polars as pl

    return _user_ids(model, numbers_of(pl.Series(names, dtype=pl.String)))


def users_listed(
    model: Recommender, table: Table, owner: object = None
) -> "tuple[pl.Series, pl.Series | None]":
    """Return the distinct users of a table in order of first appearance, and perhaps their owners.

    The parameters are those of :func:`predict_ratings`.
    """
    owned = owner_column(model, table, owner)
    names = [name for name in table.frame.columns if name != owned]
    user = names[0] if len(names) == 1 else None
    columns, _ = guess_columns(names, {"user": user})
    wanted = [columns["user"], *([] if owned is None else [owned])]
    frame = table.frame.select(wanted).unique(maintain_order=True)
    owners = None if owned is None else owner_ids(model, frame[owned])
    return _user_ids(model, frame[columns["user"]]), owners


def new_ratings(
    model: RatingsModel,
    table: Table,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    owner: object = None,
    watch: Watch | None = None,
) -> RatingTable:
    """Return the ratings of a table for fold-in; ``owner`` is as in :func:`predict_ratings`."""
    frame = table.frame
    owned = owner_column(model, table, owner)
    names = [name for name in frame.columns if name != owned]
    columns, _ = guess_columns(names, {"user": user, "item": item, "rating": rating})
    users = _user_ids(model, frame[columns["user"]])
    items = as_known(frame[columns["item"]], model.shared.items, "item")
    converted = frame.with_columns(users.alias(columns["user"]), items.alias(columns["item"]))
    if owned is not None:
        converted = converted.with_columns(owner_ids(model, frame[owned]).alias(owned))
    return ratings_from_frame(
        replace(table, frame=converted),
        user=columns["user"],
        item=columns["item"],
        rating=columns["rating"],
        agent=owned,
        duplicates=duplicates,
        missing=missing,
        watch=watch,
    )


def items_named(model: Recommender, names: Sequence[str]) -> "pl.Series":
    """Return items named on the command line, parsed like a column of a file."""
    import polars as pl

    given = numbers_of(pl.Series(names, dtype=pl.String))
    return as_known(given, model.shared.items, "item")


def items_listed(model: Recommender, table: Table) -> "pl.Series":
    """Return the distinct items of a table, in the column named so or the only one."""
    names = table.frame.columns
    known = columns_by_role(names).get("item", [])
    if len(names) > 1 and len(known) != 1:
        raise DataError(
            f"the table of items has {len(names)} columns, and no name says which holds the items; "
            "rename that column to 'item'."
        )
    column = known[0] if known else names[0]
    return as_known(table.frame[column].unique(maintain_order=True), model.shared.items, "item")


def new_events(
    model: RankingModel,
    table: Table,
    *,
    user: str | None = None,
    item: str | None = None,
    count: str | None = None,
    missing: Missing = "error",
    owner: object = None,
    watch: Watch | None = None,
) -> EventTable:
    """Return the events of a table for fold-in; ``owner`` is as in :func:`predict_ratings`."""
    frame, owned = table.frame, owner_column(model, table, owner)
    found, _ = event_columns(open_frame(frame), EventColumns(user, item, count), owned)
    users = _user_ids(model, frame[found["user"]])
    items = as_known(frame[found["item"]], model.shared.items, "item")
    converted = frame.with_columns(users.alias(found["user"]), items.alias(found["item"]))
    if owned is not None:
        converted = converted.with_columns(owner_ids(model, frame[owned]).alias(owned))
    columns = EventColumns(found["user"], found["item"], found.get("count"), found.get("time"))
    read = replace(table, frame=converted)
    return events_from_frame(read, columns, owned, missing=missing, watch=watch)


def _user_ids(model: Recommender, given: "pl.Series") -> "pl.Series":
    if model.private is None:
        return as_column(given, "user")
    known: Ids = model.private.users
    return as_known(given, known, "user")


def _samples(table: Table, features: Sequence[str], *, allow_missing: bool = False) -> Array:
    frame = open_frame(table.frame)
    columns = [
        numbers_in(frame[named_column(frame.columns, name, "feature")], f"values of {name!r}")
        for name in features
    ]
    samples = np.column_stack(columns)
    bad = np.isinf(samples) if allow_missing else ~np.isfinite(samples)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        raise DataError(
            f"the feature {features[column]!r} is missing, NaN or infinite in row {row} "
            "(counting from 0); drop or impute such rows."
        )
    return samples
