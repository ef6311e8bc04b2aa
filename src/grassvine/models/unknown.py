"""Handling of ids that a model does not know.

``"raise"`` raises an error and ``"nan"`` returns NaN. ``"fallback"`` predicts from what is known,
and ``"warn"`` does the same with one warning that counts the unknown ids.
"""

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.callers import stack_level
from grassvine.foundations.errors import DataError, Option, UnknownIdWarning
from grassvine.foundations.options import choice

if TYPE_CHECKING:
    import polars as pl

OnUnknown: TypeAlias = Literal["warn", "fallback", "nan", "raise"]
WAYS = get_args(OnUnknown)
FALLBACK = ("warn", "fallback")


def check_on_unknown(on_unknown: object) -> None:
    """Check the value of ``on_unknown``."""
    choice("on_unknown", on_unknown, WAYS)


def check_known(what: str, asked: "pl.Series", known: NDArray[np.bool_], why: str) -> None:
    """Raise ``DataError`` if any id is unknown."""
    if not known.all():
        missing = asked.filter(~known).unique(maintain_order=True)
        few = ", ".join(repr(one) for one in missing[:3].to_list())
        raise DataError(
            f"the model does not know {len(missing)} of the {what}s ({few}"
            f"{', …' if len(missing) > 3 else ''}): {why}; drop them, fold them in, or use ",
            Option("on_unknown", "nan"),
            " or ",
            Option("on_unknown", "fallback"),
            ".",
        )


def warn_unknown(
    what: str, asked: "dict[str, tuple[pl.Series, NDArray[np.bool_]]]", instead: str
) -> None:
    """Warn once if any id is unknown, with the number of such predictions and an example.

    Parameters
    ----------
    what : str
        What is predicted: ``"pairs"``.
    asked : dict
        The ids of each kind, and whether they are known.
    instead : str
        What is predicted for unknown ids, as a clause.
    """
    known = np.logical_and.reduce([known for _, known in asked.values()])
    if known.all():
        return
    examples = (
        f"{kind} {ids.filter(~known)[0]!r}"
        for kind, (ids, known) in asked.items()
        if not known.all()
    )
    warnings.warn(
        UnknownIdWarning(
            f"{np.count_nonzero(~known)} of {len(known)} {what} are unknown to the model (such as "
            f"{' and '.join(examples)}); {instead}. Set ",
            Option("on_unknown", "fallback"),
            " to accept this, or 'nan' or 'raise'.",
        ),
        stacklevel=stack_level(),
    )
