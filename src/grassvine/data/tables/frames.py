"""Data frames of any library, read column by column and never modified."""

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import narwhals


def open_frame(frame: Any) -> "narwhals.DataFrame[Any]":
    """Return a frame of pandas, polars, pyarrow or another library behind one face."""
    import narwhals
    from narwhals.exceptions import DuplicateError

    try:
        opened: Any = narwhals.from_native(frame)
        whole = opened.collect() if isinstance(opened, narwhals.LazyFrame) else opened
        names = whole.columns
    except DuplicateError as cause:
        twice = " ".join(str(cause).split())
        raise DataError(
            f"the table has several columns of one name ({twice}); give every column a name of its "
            "own."
        ) from None
    except TypeError:
        raise DataError(
            f"a {type(frame).__name__} is no table; give a data frame of pandas, polars or pyarrow "
            "(arrays and matrices have functions of their own)."
        ) from None
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise DataError(f"a column is named {odd[0]!r}, which is no text; rename it.")
    if not len(whole):
        raise DataError(f"the table is empty: it has {len(names)} columns and no row.")
    return whole


def numbers_in(column: "narwhals.Series[Any]", what: str) -> Array:
    """Return a column of numbers as floats, NaN where one is missing.

    Parameters
    ----------
    column : series
        Of numbers; text, dates and truth values are refused, also where they look like numbers.
    what : str
        What they are, for messages: ``"ratings"``.
    """
    import narwhals

    if column.dtype.is_numeric():
        return column.cast(narwhals.Float64).to_numpy().astype(np.float64)
    given = column.to_list()
    odd = [one for one in given if not _is_missing(one) and not _is_number(one)]
    if odd or column.dtype.is_temporal():
        _refuse(odd or given, what)
    return np.array([np.nan if _is_missing(one) else float(one) for one in given])


def _refuse(odd: Sequence[object], what: str) -> None:
    different = list(dict.fromkeys(map(repr, odd)))
    examples = ", ".join(different[:3]) + (", …" if len(different) > 3 else "")
    comma = any(isinstance(one, str) and _is_numeral(one.replace(",", ".")) for one in odd)
    text_of_numbers = all(isinstance(one, str) and _is_numeral(one) for one in odd)
    if text_of_numbers:
        mend = "turn the text into numbers."
    elif comma:
        mend = "write a decimal point, not a comma, and give numbers."
    else:
        mend = "give numbers."
    raise DataError(f"{len(odd)} {what} are no numbers, such as {examples}; {mend}")


def _is_number(one: object) -> bool:
    return isinstance(one, numbers.Real | Decimal) and not isinstance(one, bool | np.bool_)


def _is_missing(one: object) -> bool:
    return one is None or type(one).__name__ in ("NAType", "NaTType")


def _is_numeral(one: str) -> bool:
    try:
        float(one)
    except ValueError:
        return False
    return True
