"""Ids of users, items and tasks: of any type that has an order, kept as given.

Inside the library users and items are numbers from 0. Ids are met at the doors only, and a number
is looked up, never computed: an id of 10¹⁸ costs no more than one of 7. Text and numbers are never
taken for each other: "7" is not 7.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import hashlib

    import polars as pl

UNKNOWN = -1  # the number of an id that is not among the known ones


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """Different ids in ascending order; number k stands for the k-th."""

    series: "pl.Series"

    @classmethod
    def number(cls, given: object, what: str) -> tuple["Ids", Indices]:
        """Number the ids that occur: the ids, and the number of each that was given.

        Parameters
        ----------
        given : list, array or series
            Whole numbers, text, dates or others that have an order; all of one type.
        what : str
            What they are ids of, for messages: ``"user"``.
        """
        column = as_column(given, what)
        if _is_dense(column):
            return _number_by_table(column.to_numpy())
        ids = cls(column.unique().sort())
        return ids, ids.numbers(column, what)

    def numbers(self, given: object, what: str) -> Indices:
        """Return the number of each id, ``UNKNOWN`` for those that are not here."""
        column = as_column(given, what)
        here, there = kind_of(self.series), kind_of(column)
        if len(column) and len(self) and here != there:
            raise DataError(
                f"the {what} ids are {there} (such as {column[0]!r}), but those known are {here} "
                f"(such as {self.series[0]!r}); give them in the same type."
            )
        import polars as pl

        places = pl.DataFrame({"id": self.series, "number": np.arange(len(self))})
        asked = pl.DataFrame({"id": column.cast(self.series.dtype)})
        found = asked.join(places, on="id", how="left", maintain_order="left")
        return found["number"].fill_null(UNKNOWN).to_numpy().astype(np.int64)

    def at(self, numbers: NDArray[Any]) -> "pl.Series":
        """Return the ids of numbers."""
        return self.series.gather(numbers)

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self.series)


def as_column(given: object, what: str) -> "pl.Series":
    """Return ids as a column without a name; whole numbers as Int64, text as String."""
    import polars as pl

    column = _series(given, what).alias("")
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Object or column.dtype.is_nested():
        raise DataError(
            f"the {what} ids are neither text, numbers nor dates (such as {column[0]!r}); "
            "turn them into text."
        )
    if column.null_count():
        rows = column.is_null().arg_true().to_list()
        raise DataError(
            f"{len(rows)} {what} ids are missing (at rows {_few(rows)}); leave those rows out."
        )
    if column.dtype.is_float() and column.is_nan().any():
        rows = column.is_nan().arg_true().to_list()
        raise DataError(
            f"{len(rows)} {what} ids are NaN (at rows {_few(rows)}); leave those rows out."
        )
    if not column.dtype.is_integer():
        return column
    try:
        return column.cast(pl.Int64)
    except pl.exceptions.PolarsError:
        raise DataError(f"a {what} id is 2⁶³ or more; give the {what} ids as text.") from None


def as_known(given: object, known: Ids, what: str) -> "pl.Series":
    """Return ids from a file or a command in the type of the known ones where nothing is lost.

    There 007 is text and 123 a whole number only because other lines, or none, were beside it. So
    whole numbers become text where the known ids are text; all else stays as it is.
    """
    import polars as pl

    column = as_column(given, what)
    text = known.series.dtype == pl.String and column.dtype.is_integer()
    return column.cast(pl.String) if text else column


def kind_of(column: "pl.Series") -> str:
    """Return what ids are, in words; ids of different kinds are never equal."""
    import polars as pl

    kind = column.dtype
    if kind.is_integer():
        return "whole numbers"
    if kind.is_float():
        return "numbers with a fraction"
    return "text" if kind == pl.String else f"of type {kind}"


def _is_dense(column: "pl.Series") -> bool:
    """Tell whether ids are small whole numbers, not many more than there are rows."""
    if not (len(column) and column.dtype.is_integer()):
        return False
    numbers = column.to_numpy()
    return bool(numbers.min() >= 0 and numbers.max() < len(numbers))


def _number_by_table(column: NDArray[np.int64]) -> tuple[Ids, Indices]:
    """Number ids without sorting, which for 100 million rows takes a minute and gigabytes."""
    import polars as pl

    occurs = np.zeros(int(column.max()) + 1, dtype=np.bool_)
    occurs[column] = True
    numbers = np.cumsum(occurs, dtype=np.int64) - 1
    return Ids(pl.Series(np.flatnonzero(occurs))), numbers[column]


def _series(given: object, what: str) -> "pl.Series":
    import narwhals
    import polars as pl

    native = narwhals.from_native(given, series_only=True, pass_through=True)
    if isinstance(native, narwhals.Series):
        given = native.to_native()
        if not isinstance(given, pl.Series):
            given = native.to_numpy()
    if isinstance(given, pl.Series):
        return given
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise DataError(f"the {what} ids have {given.ndim} axes; give a list of them.")
        if given.dtype.kind in "iufbM":
            return pl.Series(given.astype(given.dtype.newbyteorder("=")))
        given = given.tolist()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DataError(f"the {what} ids are {given!r}; give a list of them.")
    ids = [None if _missing(one) else one for one in given]
    kinds = {type(one).__name__: one for one in ids if one is not None}
    if len(kinds) > 1:
        examples = " and ".join(f"{one!r} ({name})" for name, one in list(kinds.items())[:2])
        raise DataError(f"the {what} ids are of different types: {examples}; give them in one.")
    try:
        return pl.Series(ids)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as cause:
        raise DataError(f"the {what} ids cannot be used ({cause}); turn them into text.") from None


def add_ids(digest: "hashlib._Hash", ids: Ids) -> None:
    """Add ids to a digest, each preceded by its length, so that no two lists collide."""
    import polars as pl

    digest.update(f"{len(ids)} {kind_of(ids.series)}\n".encode())
    if ids.series.dtype.is_integer():
        digest.update(ids.series.to_numpy().astype("<i8").tobytes())
        return
    binary = ids.series.dtype == pl.Binary
    for one in ids.series if binary else ids.series.cast(pl.String):
        content = one if binary else one.encode()
        digest.update(len(content).to_bytes(8, "little") + content)


def _missing(one: object) -> bool:
    """Tell whether an id is pandas' or Python's way to say that there is none."""
    return one is None or one != one or type(one).__name__ in ("NAType", "NaTType")


def _few(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:3])) + (", …" if len(rows) > 3 else "")
