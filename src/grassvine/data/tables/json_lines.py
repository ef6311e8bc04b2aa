"""JSON lines: one object a line, whose keys are the columns."""

import json
from typing import TYPE_CHECKING, Any

from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def is_json_lines(data: bytes) -> bool:
    """Tell whether the first line is an object."""
    if not data.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(data.split(b"\n", 1)[0]), dict)
    except ValueError:
        return False


def read_json_lines(data: bytes, name: str) -> "pl.DataFrame":
    """Read a table; a key that an object lacks is missing there.

    Polars would turn 7 and "7" of one column into the same text; here they are told apart.
    """
    import polars as pl

    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as cause:
            raise DataError(
                f"line {number} of {name} is no JSON ({cause}); write one object a line."
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"line {number} of {name} is no object; write one object a line.")
        for key in row:
            if key not in columns:
                columns[key] = [None] * n_rows
        for key, values in columns.items():
            values.append(row.get(key))
        n_rows += 1
    if not n_rows or not columns:
        raise DataError(f"{name} holds no row; give a table with rows.")
    return pl.DataFrame([_column(key, values, name) for key, values in columns.items()])


def _column(key: str, values: list[Any], name: str) -> "pl.Series":
    import polars as pl

    kinds = {type(value): value for value in values if value is not None}
    if set(kinds) == {int, float}:
        return pl.Series(key, values, dtype=pl.Float64, strict=False)
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise DataError(
            f"the column {key!r} of {name} holds values of different types, such as {one!r} and "
            f"{other!r}; write all of them in one."
        )
    try:
        return pl.Series(key, values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as cause:
        raise DataError(
            f"the column {key!r} of {name} cannot be used ({cause}); write it as text."
        ) from None
