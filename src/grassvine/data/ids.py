"""Ids of users, items and tasks.

Ids may be of any ordered type and are kept as given. Inside the library, users and items are
indices from 0; ids are converted only where data enter or leave it. They are looked up, never used
as indices, so an id of 10¹⁸ costs no more than one of 7. Text never equals a number: "7" is not 7.

Where users of different owners have the same id, they are separate users: their ids are pairs of id
and owner. An id alone then stands for its only user; one that has several is refused.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grassvine.data.passes import AT_ONCE
from grassvine.data.places import places
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, Option

if TYPE_CHECKING:
    import hashlib

    import polars as pl

UNKNOWN = -1  # index of an id that is not known
FEW = 16  # ids that are looked up one by one, which is faster
EXACT_FLOATS = 2.0**53  # below, each integer has a float of its own


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """Distinct ids in ascending order; index k stands for the k-th.

    With ``owners``, the pairs of id and owner are distinct and in ascending order; an owner that is
    not known is null and stands for all owners that have no user of this id.
    """

    series: "pl.Series"
    owners: "pl.Series | None" = None

    @classmethod
    def number(cls, given: object, what: str) -> tuple["Ids", NDArray[np.int32]]:
        """Return the distinct ids, and the index of each given id as int32.

        Parameters
        ----------
        given : list, array or series
            Integers, text, dates or other ordered values, all of one type.
        what : str
            What the ids identify, for error messages: ``"user"``.
        """
        column = as_column(given, what, narrow=True)
        if _is_dense(column):
            return _number_by_table(column)
        ids = cls(as_column(column.unique().sort(), what))
        found = np.empty(len(column), dtype=np.int32)
        at_once = max(AT_ONCE, len(ids))
        for part in _parts(len(column), at_once):
            found[part] = ids.numbers(column[part], what)
        return ids, found

    def numbers(self, given: object, what: str, owners: object = None) -> Indices:
        """Return the index of each id, or ``UNKNOWN`` for unknown ids.

        Parameters
        ----------
        given : list, array or series
        what : str
            What the ids identify, for error messages.
        owners : list, array or series, optional
            The owner of each id; ignored if these ids have no owners.
        """
        column = _alike(as_column(given, what), self.series, what)
        if self.owners is None:
            found = _few_places(column, self.series) if len(column) <= FEW else None
            return _places([column], [self.series]) if found is None else found
        if owners is None:
            self._refuse_ambiguous(column, what)
            return _places([column], [self.series])
        names = as_column(owners, "owner")
        if len(names) != len(column):
            raise DataError(
                f"got {len(column)} {what}s and {len(names)} owners; pass one owner per {what}."
            )
        names = _alike(names, self.owners, "owner")
        found = _places([column, names], [self.series, self.owners])
        nobodys = names.clear(len(names))
        of_all = _places([column, nobodys], [self.series, self.owners])
        return np.where(found == UNKNOWN, of_all, found)

    def _refuse_ambiguous(self, asked: "pl.Series", what: str) -> None:
        """Raise an error if an id has several owners."""
        repeated = self.series.filter(self.series.is_duplicated())
        ambiguous = asked.filter(asked.is_in(repeated.unique().implode()))
        if len(ambiguous) and self.owners is not None:
            first = ambiguous[0]
            owners = self.owners.filter(self.series == first).to_list()
            raise DataError(
                f"{len(owners)} owners have {what} {first!r} "
                f"({', '.join(map(repr, owners[:3]))}{', …' if len(owners) > 3 else ''}); name the "
                f"owner of each {what} with ",
                Option("owners"),
                ".",
            )

    def merged(self, others: "Ids") -> tuple["Ids", Indices]:
        """Return these ids and others, all distinct, and the index of each."""
        import polars as pl

        columns = {"id": [self.series, others.series.cast(self.series.dtype)]}
        kinds = [ids.owners.dtype for ids in (self, others) if ids.owners is not None]
        if kinds:
            columns["owner"] = [
                pl.Series([None] * len(ids), dtype=kinds[0])
                if ids.owners is None
                else ids.owners.cast(kinds[0])
                for ids in (self, others)
            ]
        table = pl.DataFrame({name: pl.concat(column) for name, column in columns.items()})
        order = table.select(pl.arg_sort_by(table.columns)).to_series().to_numpy()
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        ordered = table[order]
        owners = ordered["owner"].alias("") if "owner" in table.columns else None
        return Ids(ordered["id"].alias(""), owners), place

    def take(self, numbers: NDArray[Any]) -> "Ids":
        """Return the ids at the given ascending indices, with their owners."""
        owners = None if self.owners is None else self.owners.gather(numbers)
        return Ids(self.series.gather(numbers), owners)

    def at(self, numbers: NDArray[Any]) -> "pl.Series":
        """Return the ids at the given indices, null for ``UNKNOWN``."""
        return ids_at(self.series, numbers)

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.series)


def ids_at(series: "pl.Series", numbers: NDArray[Any]) -> "pl.Series":
    """Return the ids at indices, null for ``UNKNOWN``."""
    import polars as pl

    unknown = numbers == UNKNOWN
    if not unknown.any():
        if len(numbers) <= FEW and series.dtype in (pl.Int64, pl.String):
            few = [series[number] for number in numbers.tolist()]
            return pl.Series("", few, series.dtype)
        return series[numbers]  # faster than gathering
    places = pl.Series(numbers)
    return series.gather(places.set(pl.Series(unknown), None))


def _few_places(asked: "pl.Series", known: "pl.Series") -> Indices | None:
    """Return the rows of a few ids by bisection, or None if not all are found."""
    found = np.empty(len(asked), dtype=np.int64)
    for number, one in enumerate(asked.to_list()):  # faster than iterating
        place = bisect_left(known, one)
        if place == len(known) or known[place] != one:
            return None
        found[number] = place
    return found


def _places(asked: "list[pl.Series]", known: "list[pl.Series]") -> Indices:
    """Return the row of the known columns that equals each row of the columns asked."""
    import polars as pl

    names = [str(number) for number in range(len(known))]
    table = pl.DataFrame(dict(zip(names, known, strict=True))).with_row_index("row")
    wanted = pl.DataFrame(dict(zip(names, asked, strict=True)))
    found = wanted.join(
        table.unique(names, keep="none") if len(names) == 1 else table,
        on=names,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )
    return found["row"].cast(pl.Int64).fill_null(UNKNOWN).to_numpy().astype(np.int64)


def _alike(column: "pl.Series", known: "pl.Series", what: str) -> "pl.Series":
    """Return ids with the type of the known ones; raise an error if they are of another kind."""
    if column.dtype == known.dtype:
        return column
    if len(column) and len(known) and kind_of(column) != kind_of(known):
        raise DataError(
            f"the {what} ids are {kind_of(column)} (such as {column[0]!r}), but the known ones "
            f"are {kind_of(known)} (such as {known[0]!r}); convert them to the same type."
        )
    return column.cast(known.dtype)


def as_column(
    given: object, what: str, lines: Sequence[int] | None = None, *, narrow: bool = False
) -> "pl.Series":
    """Return ids as an unnamed series; integers become Int64, text becomes String.

    ``lines`` are the lines of the ids in a file, for error messages. With ``narrow``, Int32 stays
    as it is.
    """
    import polars as pl

    column = _series(given, what).alias("")
    if (
        column.dtype in ((pl.Int64, pl.Int32) if narrow else (pl.Int64,))
        and not column.null_count()
    ):
        return column
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
    low: Any = column.min()
    high: Any = column.max()
    return bool(low >= 0 and high < len(column))


def _number_by_table(column: "pl.Series") -> tuple[Ids, NDArray[np.int32]]:
    """Index ids without sorting, which takes a minute and gigabytes for 100 million rows."""
    import polars as pl

    most: Any = column.max()
    occurs = np.zeros(most + 1, dtype=np.bool_)
    for part in _parts(len(column), AT_ONCE):
        occurs[column[part].to_numpy()] = True
    numbers = np.cumsum(occurs, dtype=np.int32) - 1
    found = np.empty(len(column), dtype=np.int32)
    first = int(np.argmax(occurs))
    without_gap = occurs[first:].all()
    for part in _parts(len(column), AT_ONCE):
        given = column[part].to_numpy()
        found[part] = given - first if without_gap else numbers[given]
    return Ids(pl.Series(np.flatnonzero(occurs))), found


def _parts(count: int, at_once: int) -> Iterator[slice]:
    """Yield slices of rows; a column in chunks is copied when it becomes an array."""
    return (slice(first, first + at_once) for first in range(0, count, at_once))


def _series(given: object, what: str) -> "pl.Series":
    import polars as pl

    if not isinstance(given, (pl.Series, np.ndarray, list, tuple)):
        import narwhals

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
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
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
    """Add ids and their owners to a digest, each preceded by its length: no two lists collide."""
    for column in (ids.series,) if ids.owners is None else (ids.series, ids.owners):
        _add_column(digest, column)


def _add_column(digest: "hashlib._Hash", column: "pl.Series") -> None:
    import polars as pl

    digest.update(f"{len(column)} {kind_of(column)}\n".encode())
    if column.dtype.is_integer():
        digest.update(column.to_numpy().astype("<i8").tobytes())
        return
    binary = column.dtype == pl.Binary
    for one in column if binary else column.cast(pl.String):
        content = one if binary else one.encode()
        digest.update(len(content).to_bytes(8, "little") + content)


def _missing(one: object) -> bool:
    """Return whether an id is None, NaN, NA or NaT."""
    return one is None or one != one or type(one).__name__ in ("NAType", "NaTType")
