"""Ids of users, items and tasks.

Ids may be of any ordered type and are kept as given. Inside the library, users and items are
indices from 0; ids are translated only where data enter or leave it. They are looked up, never used
as indices, so an id of 10¹⁸ costs no more than one of 7. Text never equals a number: "7" is not 7.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.places import places
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import hashlib

    import polars as pl

UNKNOWN = -1  # index of an id that is not known
EXACT_FLOATS = 2.0**53  # below, each integer has a float of its own


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """Distinct ids in ascending order; index k stands for the k-th."""

    series: "pl.Series"

    @classmethod
    def number(cls, given: object, what: str) -> tuple["Ids", Indices]:
        """Return the distinct ids, and the index of each given id.

        Parameters
        ----------
        given : list, array or series
            Integers, text, dates or other ordered values, all of one type.
        what : str
            What the ids identify, for error messages: ``"user"``.
        """
        column = as_column(given, what)
        if _is_dense(column):
            return _number_by_table(column.to_numpy())
        ids = cls(column.unique().sort())
        return ids, ids.numbers(column, what)

    def numbers(self, given: object, what: str) -> Indices:
        """Return the index of each id, or ``UNKNOWN`` for unknown ids."""
        column = as_column(given, what)
        known_kind, given_kind = kind_of(self.series), kind_of(column)
        if len(column) and len(self) and given_kind != known_kind:
            raise DataError(
                f"the {what} ids are {given_kind} (such as {column[0]!r}), but the known ones "
                f"are {known_kind} (such as {self.series[0]!r}); convert them to the same type."
            )
        import polars as pl

        known = pl.DataFrame({"id": self.series, "number": np.arange(len(self))})
        wanted = pl.DataFrame({"id": column.cast(self.series.dtype)})
        found = wanted.join(known, on="id", how="left", maintain_order="left")
        return found["number"].fill_null(UNKNOWN).to_numpy().astype(np.int64)

    def at(self, numbers: NDArray[Any]) -> "pl.Series":
        """Return the ids at the given indices."""
        return self.series.gather(numbers)

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.series)


def as_column(given: object, what: str, lines: Sequence[int] | None = None) -> "pl.Series":
    """Return ids as an unnamed series; integers become Int64, text becomes String.

    ``lines`` are the lines of the ids in a file, for error messages.
    """
    import polars as pl

    column = _series(given, what).alias("")
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Object or column.dtype.is_nested():
        raise DataError(
            f"the {what} ids are not text, numbers or dates (such as {column[0]!r}); "
            "convert them to text."
        )
    if column.null_count():
        rows = column.is_null().arg_true().to_list()
        raise DataError(
            f"{len(rows)} of {len(column)} {what} ids are missing ({places(rows, lines)}); remove "
            "those rows."
        )
    if column.dtype.is_float() and column.is_nan().any():
        rows = column.is_nan().arg_true().to_list()
        raise DataError(
            f"{len(rows)} of {len(column)} {what} ids are NaN ({places(rows, lines)}); remove "
            "those rows."
        )
    if column.dtype.is_float() and (column.abs() >= EXACT_FLOATS).any():
        rows = (column.abs() >= EXACT_FLOATS).arg_true().to_list()
        raise DataError(
            f"{len(rows)} of {len(column)} {what} ids are floats of 2⁵³ or more, where different "
            f"integers become the same float ({places(rows, lines)}); convert the {what} ids to "
            "integers or text."
        )
    if not column.dtype.is_integer():
        return column
    try:
        return column.cast(pl.Int64)
    except pl.exceptions.PolarsError:
        raise DataError(f"a {what} id is 2⁶³ or larger; convert the {what} ids to text.") from None


def as_known(given: object, known: Ids, what: str) -> "pl.Series":
    """Return ids from a file or command, as text if they are integers and the known ids are text.

    The type of a column in a text file depends on all its lines: 123 alone is an integer, but text
    next to 007. Ids of other types are returned unchanged.
    """
    import polars as pl

    column = as_column(given, what)
    text = known.series.dtype == pl.String and column.dtype.is_integer()
    return column.cast(pl.String) if text else column


def kind_of(column: "pl.Series") -> str:
    """Return the kind of ids in words; ids of different kinds are never equal."""
    import polars as pl

    kind = column.dtype
    if kind.is_integer():
        return "whole numbers"
    if kind.is_float():
        return "numbers with a fraction"
    return "text" if kind == pl.String else f"of type {kind}"


def _is_dense(column: "pl.Series") -> bool:
    """Return whether all ids are integers from 0 to the number of rows, exclusive."""
    if not (len(column) and column.dtype.is_integer()):
        return False
    numbers = column.to_numpy()
    return bool(numbers.min() >= 0 and numbers.max() < len(numbers))


def _number_by_table(column: NDArray[np.int64]) -> tuple[Ids, Indices]:
    """Index ids without sorting, which takes a minute and gigabytes for 100 million rows."""
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
            raise DataError(
                f"the {what} ids have {given.ndim} dimensions; pass a list or 1-d array."
            )
        if given.dtype.kind in "iufbM":
            return pl.Series(given.astype(given.dtype.newbyteorder("=")))
        given = given.tolist()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DataError(f"the {what} ids are {given!r}; pass a list or 1-d array of ids.")
    ids = [None if _missing(one) else one for one in given]
    kinds = {type(one).__name__: one for one in ids if one is not None}
    if len(kinds) > 1:
        examples = " and ".join(f"{one!r} ({name})" for name, one in list(kinds.items())[:2])
        raise DataError(
            f"the {what} ids have different types: {examples}; convert them to one type."
        )
    try:
        return pl.Series(ids)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as cause:
        raise DataError(f"the {what} ids cannot be used ({cause}); convert them to text.") from None


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
    """Return whether an id is None, NaN, NA or NaT."""
    return one is None or one != one or type(one).__name__ in ("NAType", "NaTType")
