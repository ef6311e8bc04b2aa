"""Reader for JSON: one object per line, or a list of objects, whose keys are the columns."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from grassvine.foundations.documents import RepeatedKey, parse_json
from grassvine.foundations.errors import DataError
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

INTEGERS = range(-(2**63), 2**64)  # int64 and uint64
ROWS_AT_ONCE = 2**16  # between two calls of a watching function
PARSED = 0.8  # the share of parsing the lines, of which columns are then made


def is_json_lines(data: bytes) -> bool:
    """Return whether the first line is a JSON object."""
    if not data.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(data.split(b"\n", 1)[0]), dict)
    except ValueError:
        return False
    except RecursionError:  # the reader reports the line
        return True


def is_json_list(data: bytes) -> bool:
    """Return whether the content begins like a JSON list of objects."""
    return re.match(rb"\s*\[\s*[{\]]", data) is not None


def read_json_lines(
    data: bytes, name: str, first_line: int = 1, watch: Watch | None = None
) -> "tuple[pl.DataFrame, Sequence[int]]":
    """Read a table and the line of each row; keys that an object lacks are missing values."""
    texts = data.splitlines()
    lines = [k + first_line for k, text in enumerate(texts) if text.strip()]
    parsing = part_of(watch, 0.0, PARSED)

    def rows() -> Iterator[Any]:
        for row, k in enumerate(lines):
            if row % ROWS_AT_ONCE == 0:
                parsing(row / len(lines))
            yield _load(texts[k - first_line], f"line {k} of {name}")

    return _table(rows(), lambda row: f"line {lines[row]} of {name}", name), lines


def read_json_list(data: bytes, name: str) -> "pl.DataFrame":
    """Read a table from a list of objects."""
    return _table(_load(data, name), lambda row: f"object {row + 1} of {name}", name)


def _load(text: bytes, place: str) -> Any:
    try:
        return parse_json(text)
    except RepeatedKey as cause:
        raise DataError(f"{place} contains the key {cause.key!r} twice; keep one.") from None
    except ValueError as cause:
        raise DataError(
            f"{place} is not valid JSON ({cause}); write one object per line, or a list of objects."
        ) from None


def _table(rows: Iterable[Any], place: Callable[[int], str], name: str) -> "pl.DataFrame":
    """Return the table of some objects.

    A column that mixes 7 and "7" is an error; polars would turn both into the same text.
    """
    import polars as pl

    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for row in rows:
        if not isinstance(row, dict):
            raise DataError(f"{place(n_rows)} is not a JSON object; write one object per row.")
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
