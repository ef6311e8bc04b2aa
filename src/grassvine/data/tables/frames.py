"""Read access to data frames of any library."""

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import narwhals


def open_frame(frame: Any, *, any_names: bool = False) -> "narwhals.DataFrame[Any]":
    """Wrap a frame of pandas, polars, pyarrow or another library with narwhals.

    Parameters
    ----------
    any_names : bool, default=False
        Whether to accept column names that are not text.
    """
    import narwhals
    from narwhals.exceptions import DuplicateError

    try:
        opened: Any = narwhals.from_native(frame)
        whole = opened.collect() if isinstance(opened, narwhals.LazyFrame) else opened
        names = whole.columns
    except DuplicateError as cause:
        reason = " ".join(str(cause).split())
        raise DataError(
            f"the table has several columns of the same name ({reason}); give each column a unique "
            "name."
        ) from None
    except TypeError:
        raise DataError(
            f"got an object of type {type(frame).__name__}; pass a data frame of pandas, polars or "
            "pyarrow (other functions take arrays and matrices)."
        ) from None
    invalid = [name for name in names if not isinstance(name, str)]
    if invalid and not any_names:
        raise DataError(f"the column name {invalid[0]!r} is not text; rename the column.")
    if not len(whole):
        raise DataError(
            f"the table has {len(names)} columns but no rows; use a table with at least one row."
        )
    return whole


def numbers_in(column: "narwhals.Series[Any]", what: str) -> Array:
    """Return a column of numbers as floats, with NaN for missing values.

    Parameters
    ----------
    column : series
        Numbers. Text, dates and booleans are rejected, even text that looks like numbers.
    what : str
        What the numbers are, for error messages: ``"ratings"``.
    """
    import narwhals

    if column.dtype.is_numeric():
        return column.cast(narwhals.Float64).to_numpy().astype(np.float64)
    given = column.to_list()
    invalid = [one for one in given if not _is_missing(one) and not _is_number(one)]
    if invalid or column.dtype.is_temporal():
        _refuse(invalid or given, len(given), what)
    return np.array([np.nan if _is_missing(one) else float(one) for one in given])


def _refuse(invalid: Sequence[object], total: int, what: str) -> None:
    distinct = list(dict.fromkeys(map(repr, invalid)))
    examples = ", ".join(distinct[:3]) + (", …" if len(distinct) > 3 else "")
    comma = any(isinstance(one, str) and _is_numeral(one.replace(",", ".")) for one in invalid)
    numeric_text = all(isinstance(one, str) and _is_numeral(one) for one in invalid)
    if numeric_text:
        fix = "convert the text to numbers."
    elif comma:
        fix = "use numbers with a decimal point, not a comma."
    else:
        fix = "use numbers."
    raise DataError(f"{len(invalid)} of {total} {what} are not numbers, such as {examples}; {fix}")


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
