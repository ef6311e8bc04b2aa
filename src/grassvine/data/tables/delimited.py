"""Text with a separator: CSV and its kin. What the file does not say is sniffed, and told."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from grassvine.data.tables.columns import telling
from grassvine.data.tables.numerals import is_missing, is_number, numbers_of
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

# In this order where several cut the lines equally well.
SEPARATORS = {"::": "'::'", "\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
LOOKED_AT = 2**16  # bytes
MOST_RECORDS = 50
STAND_IN = "\x1f"  # for '::', as polars separates by one byte only

Record = list[str]


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is cut into columns."""

    separator: str
    header: bool
    assumed: tuple[str, ...]


def read_delimited(
    data: bytes, name: str, separator: str | None, header: bool | None
) -> "tuple[pl.DataFrame, tuple[str, ...]]":
    """Read text into a frame, and say what was assumed."""
    import polars as pl

    text = _head(data, name)
    form = _sniff(text, name, separator, header)
    names = _names(records(text, form.separator)[0], form.header, name)
    plain = len(form.separator.encode()) == 1
    try:
        frame = pl.read_csv(
            data if plain else data.replace(form.separator.encode(), STAND_IN.encode()),
            has_header=form.header,
            new_columns=names,
            separator=form.separator if plain else STAND_IN,
            quote_char='"' if plain else None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        _refuse(data, name, form, len(names))
    assumed = form.assumed
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if blank.any():
        frame = frame.filter(~blank)
        assumed += (f"{blank.sum()} blank lines of {name} were skipped.",)
    if not len(frame):
        raise DataError(f"{name} holds a header and no row; give a table with rows.")
    return frame.select(numbers_of(column) for column in frame), assumed


def records(text: str, separator: str) -> list[Record]:
    """Cut text into records of fields; blank lines are none, and nor is text with faulty quotes."""
    if len(separator) > 1:
        return [line.split(separator) for line in text.splitlines() if line.strip()]
    try:
        return [record for record in _reader(text, separator) if record]
    except csv.Error:
        return []


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _head(data: bytes, name: str) -> str:
    """The first lines, decoded."""
    head = data[:LOOKED_AT]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name} is encoded in UTF-16; save it as UTF-8.")
    if b"\0" in head:
        raise DataError(
            f"{name} is no table in a form that is read; give CSV, TSV, Parquet, Feather or JSON "
            "lines."
        )
    if len(data) > LOOKED_AT and b"\n" in head:
        head = head[: head.rindex(b"\n")]
    try:
        return head.decode()
    except UnicodeDecodeError as cause:
        _refuse_encoding(data, name, cause.start)


def _sniff(text: str, name: str, separator: str | None, header: bool | None) -> Form:
    assumed = []
    if separator is None:
        separator = _separator(text, name)
        assumed.append(f"{name} is separated by {SEPARATORS[separator]}.")
    elif not separator or set(separator) & set('"\r\n'):
        raise DataError(
            f"the separator is {separator!r}; give one such as ',', ';', '|', '::' or a tab."
        )
    sample = records(text, separator)[:MOST_RECORDS]
    if not sample:
        _refuse_quotes(name)
    if header is None:
        header, n_columns = _has_header(sample), len(sample[0])
        assumed.append(
            f"{name} has a header."
            if header
            else f"{name} has no header; its columns are called column 1 … column {n_columns}."
        )
    return Form(separator, header, tuple(assumed))


def _separator(text: str, name: str) -> str:
    """The separator that cuts most lines like the first, and among such into most fields.

    A few lines may be faulty, the last cut off: those are refused when the table is read.
    """
    merits = {}
    for separator in SEPARATORS:
        sample = records(text, separator)[:MOST_RECORDS]
        n_alike = sum(len(record) == len(sample[0]) for record in sample)
        if sample and len(sample[0]) > 1 and 2 * n_alike > len(sample):
            merits[separator] = (n_alike / len(sample), len(sample[0]))
    if not merits:
        first = text.splitlines()[0][:60]
        raise DataError(
            f"neither tabs, commas, semicolons, bars nor '::' cut the lines of {name} into the "
            f"same number of columns (the first is {first!r}); name the separator, or mend the "
            "lines."
        )
    return max(merits, key=lambda one: merits[one])


def _has_header(sample: list[Record]) -> bool:
    """Tell whether the first record names the columns.

    It does where it has no number in a column that otherwise consists of numbers. Where no column
    does, or there is no other record, it does unless there is a number in it; telling names decide
    in any case.
    """
    import polars as pl

    first, *others = sample
    if len(telling(first)) > 1:
        return True
    of_numbers = [
        name
        for name, *fields in zip(first, *others, strict=False)
        if numbers_of(pl.Series(fields, dtype=pl.String)).dtype.is_numeric()
    ]
    if of_numbers:
        return any(not is_number(name) and not is_missing(name) for name in of_numbers)
    return not any(is_number(name) for name in first)


def _names(first: Record, header: bool, name: str) -> list[str]:
    if not header:
        return [f"column {k}" for k in range(1, len(first) + 1)]
    names = [field.strip() for field in first]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise DataError(
            f"{name} has several columns named {twice[0]!r}; give every column a name of its own."
        )
    return names


def _refuse_encoding(data: bytes, name: str, place: int) -> NoReturn:
    line = data[:place].count(b"\n") + 1
    raise DataError(f"line {line} of {name} is not encoded in UTF-8; save the file as UTF-8.")


def _refuse(data: bytes, name: str, form: Form, n_fields: int) -> NoReturn:
    """Name the first line that polars could not take."""
    try:
        text = data.decode()
    except UnicodeDecodeError as fault:
        _refuse_encoding(data, name, fault.start)
    try:
        too_long = next((at for at in _sizes(text, form.separator) if at[1] > n_fields), None)
    except csv.Error:
        too_long = None
    if too_long is None:
        _refuse_quotes(name)
    raise DataError(
        f"line {too_long[0]} of {name} has {too_long[1]} fields, but the first line has "
        f"{n_fields}; mend that line, or put quotation marks around a field that holds the "
        "separator."
    )


def _refuse_quotes(name: str) -> NoReturn:
    raise DataError(
        f"{name} has a quotation mark that is not closed, or one within a field; double quotation "
        "marks within a field, and put one at either end of it."
    )


def _sizes(text: str, separator: str) -> Iterator[tuple[int, int]]:
    """The line at which each record ends, and its number of fields."""
    if len(separator) > 1:
        for number, line in enumerate(text.splitlines(), 1):
            yield number, len(line.split(separator))
        return
    reader = _reader(text, separator)
    for record in reader:
        yield reader.line_num, len(record)
