"""Handling of ids that a model does not know: an error, NaN or an explicit fallback."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import choice

if TYPE_CHECKING:
    import polars as pl

OnUnknown: TypeAlias = Literal["raise", "nan", "fallback"]


def check_on_unknown(on_unknown: object) -> None:
    """Check the value of ``on_unknown``."""
    choice("on_unknown", on_unknown, get_args(OnUnknown))


def check_known(what: str, asked: "pl.Series", known: NDArray[np.bool_], why: str) -> None:
    """Raise ``DataError`` if any id is unknown."""
    missing = asked.filter(~known).unique(maintain_order=True)
    if len(missing):
        few = ", ".join(repr(one) for one in missing[:3].to_list())
        raise DataError(
            f"the model does not know {len(missing)} of the {what}s ({few}"
            f"{', …' if len(missing) > 3 else ''}): {why}; drop them, fold them in, or use ",
            Option("on_unknown", "nan"),
            " or ",
            Option("on_unknown", "fallback"),
            ".",
        )
