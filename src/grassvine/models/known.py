"""Users and items that a model knows, by id: those with ratings or events."""

from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from grassvine.data.ids import UNKNOWN, Ids, ids_at
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError
from grassvine.models.fold_in import Catalogue
from grassvine.models.unknown import OnUnknown, check_known

if TYPE_CHECKING:
    import polars as pl


class Users(Protocol):
    """A private part: users, and what each has rated or chosen."""

    @property
    def users(self) -> Ids:
        """The ids of the users."""
        ...

    @property
    def seen(self) -> Ratings:
        """The ratings or events of the users."""
        ...


Private = TypeVar("Private", bound=Users)


def user_numbers(
    private: Users | None, asked: "pl.Series", on_unknown: OnUnknown, owners: object, why: str
) -> Indices:
    """Return indices of users, ``UNKNOWN`` for unknown ones; ``why`` is why a user is unknown."""
    if private is None:
        numbers, why = np.full(len(asked), UNKNOWN), "it was fitted or loaded without users"
    else:
        numbers = private.users.numbers(asked, "user", owners)
        numbers = np.where(private.seen.counts_of(numbers) > 0, numbers, UNKNOWN)
    if on_unknown == "raise":
        check_known("user", asked, numbers != UNKNOWN, why)
    return numbers


def item_numbers(
    shared: Catalogue, asked: "pl.Series", why: str, on_unknown: OnUnknown = "raise"
) -> Indices:
    """Return indices of items, ``UNKNOWN`` for unknown ones; ``why`` is why an item is unknown."""
    numbers = shared.items.numbers(asked, "item")
    numbers = np.where(shared.counts[numbers] > 0, numbers, UNKNOWN)
    if on_unknown == "raise":
        check_known("item", asked, numbers != UNKNOWN, why)
    return numbers


def owner_column(private: Users | None, user: Indices) -> "dict[str, pl.Series]":
    """Return a column of the owners of users, if users are identified by id and owner."""
    if private is None or private.users.owners is None:
        return {}
    return {"owner": ids_at(private.users.owners, user)}


def required_private(private: Private | None, wanted_for: str) -> Private:
    """Return the private part, which the model must have."""
    if private is None:
        raise DataError(
            f"{wanted_for} needs users, but this model was fitted or loaded without them; "
            "fold users in, or load its private part."
        )
    return private
