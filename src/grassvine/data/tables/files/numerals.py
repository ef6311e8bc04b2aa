"""Conversion of text columns to numbers.

A text file does not declare types. A column becomes integers only if formatting them yields the
same text again, so that nothing is lost: 007, +49170 and integers of twenty digits are ids and stay
text. The whole column decides, not its first rows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# At most 15 digits before the decimal point: a float64 cannot represent more exactly.
NUMBER = r"^-?(?:0|[1-9][0-9]{0,14})?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$|^-?inf(?:inity)?$"
MISSING = ["", "-", "?", "na", "n/a", "nan", "null", "none"]


def is_number(field: str) -> bool:
    """Return whether a single field is a number."""
    import polars as pl

    return numbers_of(pl.Series([field])).dtype != pl.String


def is_missing(field: str) -> bool:
    """Return whether a field stands for a missing number."""
    return field.strip().lower() in MISSING


def words_in(column: "pl.Series") -> "pl.Series":
    """Return which fields of a column of text are neither numbers nor missing."""
    import polars as pl

    bare = column.str.strip_chars()
    missing = bare.str.to_lowercase().is_in(MISSING) | bare.is_null()
    whole = bare.cast(pl.Int64, strict=False).cast(pl.String) == bare
    real = bare.str.contains(NUMBER) & bare.cast(pl.Float64, strict=False).is_not_null()
    return ~(missing | whole.fill_null(value=False) | real)


def numbers_of(column: "pl.Series") -> "pl.Series":
    """Convert a column of text to Int64 or Float64 if all fields are numbers, else return it as is.

    Among numbers, fields such as ``NA`` are missing, and spaces around a field are ignored.
    """
    import polars as pl

    whole = integers_of(column)
    if whole is not None:
        return whole
    bare = column.str.strip_chars()
    fields = pl.select(pl.when(bare.str.to_lowercase().is_in(MISSING)).then(None).otherwise(bare))
    number = fields.to_series().alias(column.name)
    if not number.str.contains(NUMBER).all() or number.null_count() == len(number):
        return column
    whole = integers_of(number)
    if whole is not None:
        return whole
    real = number.cast(pl.Float64, strict=False)
    return column if real.null_count() > number.null_count() else real


def integers_of(column: "pl.Series") -> "pl.Series | None":
    """Convert a column of text to Int64 if all fields are integers in their usual notation."""
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    same = whole.null_count() < len(whole) and whole.cast(pl.String).eq_missing(column).all()
    return whole if same else None
