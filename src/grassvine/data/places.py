"""Where in a table something is: its line in a text file, or its row."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

MAX_SHOWN = 3


def places(rows: "Sequence[int] | NDArray[Any]", lines: Sequence[int] | None = None) -> str:
    """Return the first few rows in words, as lines of the file if those are known."""
    shown = [int(row) if lines is None else int(lines[int(row)]) for row in rows[:MAX_SHOWN]]
    what = "row" if lines is None else "line"
    more = ", …" if len(rows) > MAX_SHOWN else ""
    listed = f"{what}{'s' if len(rows) > 1 else ''} {', '.join(map(str, shown))}{more}"
    return listed if lines is not None else f"{listed}, counting from 0"
