"""What to do with ids that a model does not know; never silently the mean."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.errors import DataError, PlanError, unknown

if TYPE_CHECKING:
    import polars as pl

OnUnknown: TypeAlias = Literal["raise", "nan", "fallback"]


def as_choice(on_unknown: object) -> None:
    """Refuse what is no choice."""
    if on_unknown not in get_args(OnUnknown):
        raise PlanError(unknown("on_unknown", on_unknown, get_args(OnUnknown)))


def refuse_unknown(what: str, asked: "pl.Series", known: NDArray[np.bool_], why: str) -> None:
    """Name ids that are not known, if there are any."""
    strange = asked.filter(~known).unique(maintain_order=True)
    if len(strange):
        few = ", ".join(repr(one) for one in strange[:3].to_list())
        raise DataError(
            f"{len(strange)} {what}s are not known to the model ({few}"
            f"{', …' if len(strange) > 3 else ''}): {why}; leave them out, fold them in, or choose "
            "on_unknown='nan' or 'fallback'."
        )
