"""Read access to data frames of any library."""

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.compression import narrowed
from grassvine.data.passes import AT_ONCE, Values
from grassvine.data.places import MAX_SHOWN, places
from grassvine.data.tables.files.numerals import words_in
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


def numbers_in(
    column: "narwhals.Series[Any]", what: str, lines: Sequence[int] | None = None
) -> Array:
    """Return a column of numbers as floats, with NaN for missing values.

    Parameters
    ----------
    column : series
        Numbers. Text, dates and booleans are rejected, even text that looks like numbers.
    what : str
        What the numbers are, for error messages: ``"ratings"``.
    lines : sequence of int, optional
        The line of each row in a file, for error messages.
    """
    import narwhals

    if column.dtype.is_numeric():
        return column.cast(narwhals.Float64).to_numpy().astype(np.float64, copy=False)
    given = column.to_list()
    invalid = [k for k, one in enumerate(given) if not _is_missing(one) and not _is_number(one)]
    if invalid or column.dtype.is_temporal():
        _refuse(given, invalid or list(range(len(given))), what, lines)
    return np.array([np.nan if _is_missing(one) else float(one) for one in given])


def narrow_numbers_in(
    column: "narwhals.Series[Any]", what: str, lines: Sequence[int] | None = None
) -> Values:
    """Return a column as ``numbers_in`` does, but as float32 if all values survive."""
    import narwhals

    if not column.dtype.is_numeric():
        return narrowed(numbers_in(column, what, lines))
    if column.dtype == narwhals.Float32:
        return column.to_numpy().astype(np.float32, copy=False)
    narrow = np.empty(len(column), dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for first in range(0, len(column), AT_ONCE):
            some = column[first : first + AT_ONCE].cast(narwhals.Float64).to_numpy()
            narrow[first : first + AT_ONCE] = some
            if not np.array_equal(narrow[first : first + AT_ONCE], some):
                return numbers_in(column, what, lines)
    return narrow


def _refuse(
    given: Sequence[object], rows: Sequence[int], what: str, lines: Sequence[int] | None
) -> None:
    """Raise an error for values that are not numbers.

    A single word makes a whole column of a text file text; the error then names the words, not the
    numerals.
    """
    import polars as pl

    is_word = words_in(pl.Series([str(given[k]) for k in rows], dtype=pl.String))
    words = [
        k for k, word in zip(rows, is_word, strict=True) if word or not isinstance(given[k], str)
    ]
    rows = words or rows
    with_points = pl.Series([str(given[k]).replace(",", ".") for k in words], dtype=pl.String)
    distinct = list(dict.fromkeys(repr(given[k]) for k in rows))
    examples = ", ".join(distinct[:MAX_SHOWN]) + (", …" if len(distinct) > MAX_SHOWN else "")
    if not words:
        fix = "convert the text to numbers."
    elif any(isinstance(given[k], str) for k in words) and not words_in(with_points).all():
        fix = "use numbers with a decimal point, not a comma."
    else:
        fix = "use numbers."
    are = "is not a number" if len(rows) == 1 else "are not numbers"
    raise DataError(
        f"{len(rows)} of {len(given)} {what} {are}, {places(rows, lines)}: {examples}; {fix}"
    )


def _is_number(one: object) -> bool:
    return isinstance(one, numbers.Real | Decimal) and not isinstance(one, bool | np.bool_)


def _is_missing(one: object) -> bool:
    return one is None or type(one).__name__ in ("NAType", "NaTType")
