"""Rules for repeated pairs, missing ratings and ratings outside the scale."""

from dataclasses import dataclass

from grassvine.data.tables.rating_input import MISSING, Missing, Scale
from grassvine.data.tables.rating_table import (
    DUPLICATES,
    SHARED_USERS,
    Duplicates,
    SharedUsers,
    as_scale,
)
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import choice


@dataclass(frozen=True, slots=True)
class RatingRules:
    """How to treat repeated pairs, missing ratings and users with several owners; the scale.

    With ``events``, the values are counts, and those of repeated pairs are added up.
    """

    duplicates: Duplicates = "error"
    missing: Missing = "error"
    scale: Scale | None = None
    shared_users: SharedUsers = "separate"
    events: bool = False

    def __post_init__(self) -> None:
        """Check the choices."""
        choice("duplicates", self.duplicates, DUPLICATES, error=DataError)
        choice("missing", self.missing, MISSING, error=DataError)
        choice("shared_users", self.shared_users, SHARED_USERS, error=DataError)
        if self.scale is not None:
            object.__setattr__(self, "scale", as_scale(self.scale))
