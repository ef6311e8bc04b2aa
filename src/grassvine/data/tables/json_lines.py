"""Reader for JSON lines: one object per line, whose keys are the columns."""

import json
from typing import TYPE_CHECKING, Any

from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

INTEGERS = range(-(2**63), 2**64)  # int64 and uint64


def is_json_lines(data: bytes) -> bool:
    """Return whether the first line is a JSON object."""
    if not data.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(data.split(b"\n", 1)[0]), dict)
    except ValueError:
        return False
    except RecursionError:  # the reader tells the line
        return True


def read_json_lines(data: bytes, name: str) -> "pl.DataFrame":
    """Read a table; keys that an object lacks are missing values.

    A column that mixes 7 and "7" is an error; polars would turn both into the same text.
    """
    import polars as pl

    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as cause:
            raise DataError(
                f"line {number} of {name} is not valid JSON ({cause}); write one object per line."
            ) from None
        if not isinstance(row, dict):
            raise DataError(
                f"line {number} of {name} is not a JSON object; write one object per line."
            )
        for key in row:
            if key not in columns:
                columns[key] = [None] * n_rows
        for key, values in columns.items():
            values.append(row.get(key))
        n_rows += 1
    if not n_rows or not columns:
        raise DataError(f"{name} has no rows; use a table with at least one row.")
    return pl.DataFrame([_column(key, values, name) for key, values in columns.items()])


def _column(key: str, values: list[Any], name: str) -> "pl.Series":
    import polars as pl

    kinds = {type(value): value for value in values if value is not None}
    if kinds.keys() & {list, dict}:
        raise DataError(
            f"the column {key!r} of {name} contains lists or objects; remove it, or save it as "
            "numbers, text or dates."
        )
    if int in kinds and (far := [v for v in values if type(v) is int and v not in INTEGERS]):
        raise DataError(
            f"the column {key!r} of {name} contains {str(far[0])[:40]}, which is not a 64-bit "
            "integer; save it as text."
        )
    if set(kinds) == {int, float}:
        return pl.Series(key, values, dtype=pl.Float64, strict=False)
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise DataError(
            f"the column {key!r} of {name} contains values of different types, such as {one!r} "
            f"and {other!r}; use one type."
        )
    try:
        return pl.Series(key, values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as cause:
        raise DataError(
            f"the column {key!r} of {name} cannot be used ({cause}); save it as text."
        ) from None
