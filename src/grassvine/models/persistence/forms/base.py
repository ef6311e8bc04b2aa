"""What each stored form says, and ids, entries and names in parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import ModelError
from grassvine.models.persistence.tensors import Layout
from grassvine.models.ranking.model import RankingModel
from grassvine.models.ratings.model import RatingsModel
from grassvine.models.subspace import SubspaceModel
from grassvine.models.tasks.model import TasksModel

if TYPE_CHECKING:
    import polars as pl


Model: TypeAlias = RatingsModel | RankingModel | TasksModel | SubspaceModel


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The stored content of one part of a model."""

    numbers: Mapping[str, Any]
    arrays: Mapping[str, Any]
    ids: "pl.Series"


@dataclass(frozen=True, slots=True)
class Shape:
    """The layout of a part: its arrays, the axis labelled by its ids, whether ids are sorted."""

    layout: Layout
    axis: str
    ascending: bool


class Form(Protocol):
    """Conversion of one kind of model to its parts and back."""

    kind: str
    shared: Shape
    private: Shape | None

    def split(self, model: Any) -> tuple[Part, Part | None]:
        """Return the shared and the private part."""
        ...

    def combine(self, shared: Part, private: Part | None) -> Model:
        """Return the model; raise if the parts are not valid."""
        ...


def seen_ratings(private: Part, n_items: int) -> Ratings:
    """Return the entries of users, which are stored user by user."""
    counts, items = private.arrays["seen_counts"], private.arrays["seen_items"]
    # Bound each count first: the sum of malicious counts could overflow.
    if (counts < 0).any() or (counts > n_items).any() or counts.sum() != len(items):
        raise ModelError("the rating counts do not add up; save the model again.")
    users = np.repeat(np.arange(len(counts)), counts)
    if len(items) and not (items.min() >= 0 and items.max() < n_items):
        raise ModelError("a rating refers to a missing item; save the model again.")
    if (np.diff(users * n_items + items) <= 0).any():
        raise ModelError("the ratings of a user are not sorted by item; save the model again.")
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Ratings(n_items, starts, items, private.arrays["seen_values"])


def user_ids(users: Ids) -> "pl.Series":
    """Return user ids, as a struct with their owners if they have any."""
    import polars as pl

    if users.owners is None:
        return users.series
    return pl.DataFrame({"id": users.series, "owner": users.owners}).to_struct()


def user_ids_from(ids: "pl.Series") -> Ids:
    """Return user ids from what ``user_ids`` returned."""
    import polars as pl

    if not isinstance(ids.dtype, pl.Struct):
        return Ids(ids)
    return Ids(ids.struct.field("id").alias(""), ids.struct.field("owner").alias(""))


def feature_names(features: tuple[str, ...]) -> "pl.Series":
    """Return the names of features as ids."""
    import polars as pl

    return pl.Series(features, dtype=pl.String)


def feature_names_from(ids: "pl.Series") -> tuple[str, ...]:
    """Return the names of features; raise if they are not text."""
    import polars as pl

    if ids.dtype != pl.String:
        raise ModelError(
            f"the feature names are of type {ids.dtype}, not text; save the model again."
        )
    return tuple(ids.to_list())
