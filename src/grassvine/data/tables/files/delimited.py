"""Reader for CSV and other delimited text, which detects and reports separator and header."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from grassvine.data.tables.columns import columns_by_role
from grassvine.data.tables.files.numerals import is_missing, is_number, numbers_of
from grassvine.foundations.errors import DataError, Option, noting
from grassvine.foundations.memory import require_memory
from grassvine.foundations.watch import Watch, part_of

if TYPE_CHECKING:
    import polars as pl

# In order of preference if several split the lines equally well.
SEPARATORS = {"::": "'::'", "\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
SAMPLE_BYTES = 2**16
MAX_RECORDS = 50
FIELD_BYTES = 48  # peak memory per field while text becomes numbers and ids; measured with ratings
# Shares of the steps of reading: fields as text, then the lines of the rows, then the columns.
# Measured with seven million rows of four columns.
PARSED, NUMBERED = 0.25, 0.35
SUBSTITUTE = "\x1f"  # for '::', because polars supports only one-byte separators

Record = list[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Separator and header of a text, and notes on what was assumed."""

    separator: str
    header: bool
    assumed: tuple[str, ...]


def read_delimited(
    data: bytes,
    name: str,
    separator: str | None,
    header: bool | None,
    first_line: int = 1,
    watch: Watch | None = None,
) -> "tuple[pl.DataFrame, tuple[str, ...], Sequence[int]]":
    """Read text into a frame; return it, notes on what was assumed, and the line of each row."""
    text = head_of(data, name, first_line)
    dialect = sniff(text, name, separator, header)
    with noting(dialect.assumed):
        return _read(data, text, name, dialect, first_line, part_of(watch, 0.0, 1.0))


def _read(
    data: bytes, text: str, name: str, dialect: Dialect, first_line: int, watch: Watch
) -> "tuple[pl.DataFrame, tuple[str, ...], Sequence[int]]":
    import polars as pl

    separator = dialect.separator
    names = column_names(records(text, separator)[0], dialect.header, name)
    require_memory(FIELD_BYTES * len(names) * (1 + data.count(b"\n")), name, DataError)
    one_byte = len(separator.encode()) == 1
    try:
        frame = pl.read_csv(
            data if one_byte else data.replace(separator.encode(), SUBSTITUTE.encode()),
            has_header=dialect.header,
            new_columns=names,
            separator=separator if one_byte else SUBSTITUTE,
            quote_char='"' if one_byte else None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        _refuse(data, name, separator, len(names), first_line)
    watch(PARSED)
    assumed = dialect.assumed
    lines = _lines(data, frame, dialect.header, first_line)
    watch(NUMBERED)
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if blank.any():
        lines = np.asarray(lines)[~blank.to_numpy()].tolist()
        frame = frame.filter(~blank)
        assumed += (f"{blank.sum()} blank lines in {name} were skipped.",)
    if not len(frame):
        raise DataError(f"{name} has a header but no rows; use a table with at least one row.")
    columns = []
    for column in frame:
        columns.append(numbers_of(column))
        watch(NUMBERED + (1.0 - NUMBERED) * len(columns) / frame.width)
    return pl.DataFrame(columns), assumed, lines


def _lines(data: bytes, frame: "pl.DataFrame", header: bool, first_line: int) -> Sequence[int]:
    """Return the line on which each record begins; fields in quotes may contain line breaks."""
    import polars as pl

    start = first_line + header
    plain = range(start, start + len(frame))
    if data.rstrip(b"\r\n").count(b"\n") + 1 == len(frame) + header:
        return plain
    breaks = pl.sum_horizontal(pl.all().str.count_matches("\n").fill_null(0))
    earlier = frame.select(breaks.cum_sum().shift(1, fill_value=0)).to_series().to_numpy()
    return (np.asarray(plain) + earlier).tolist()


def records(text: str, separator: str) -> list[Record]:
    """Split text into records, skipping blank lines; return none if the quotes are invalid."""
    if len(separator) > 1:
        return [line.split(separator) for line in text.splitlines() if line.strip()]
    try:
        return [record for record in _reader(text, separator) if record]
    except csv.Error:
        return []


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def head_of(data: bytes, name: str, first_line: int) -> str:
    """Return the first lines, decoded."""
    head = data[:SAMPLE_BYTES]
    if b"\0" in head:
        raise DataError(
            f"{name} is not a table in a supported format; use CSV, TSV, Parquet, Feather or JSON, "
            "or, if it is text in UTF-16, ",
            Option("encoding", "utf-16-le"),
            ".",
        )
    if len(data) > SAMPLE_BYTES and b"\n" in head:
        head = head[: head.rindex(b"\n")]
    try:
        return head.decode()
    except UnicodeDecodeError as cause:
        _refuse_encoding(data, name, cause.start, first_line)


def sniff(text: str, name: str, separator: str | None, header: bool | None) -> Dialect:
    """Return separator and header as given or as detected."""
    assumed = []
    if separator is None:
        separator = _separator(text, name)
        assumed.append(f"{name} is separated by {SEPARATORS[separator]}.")
    elif not separator or set(separator) & set('"\r\n'):
        raise DataError(
            f"the separator {separator!r} is invalid; use one such as ',', ';', '|', '::' or a tab."
        )
    sample = records(text, separator)[:MAX_RECORDS]
    if not sample:
        _refuse_quotes(name)
    if header is None:
        header, n_columns = _has_header(sample), len(sample[0])
        assumed.append(
            f"{name} has a header."
            if header
            else f"{name} has no header; its columns are named column 1 … column {n_columns}."
        )
    return Dialect(separator, header, tuple(assumed))


def _separator(text: str, name: str) -> str:
    """Return the separator that splits most lines like the first; among equals, into most fields.

    A few lines may be invalid or truncated; reading the table rejects them.
    """
    scores = {}
    for separator in SEPARATORS:
        sample = records(text, separator)[:MAX_RECORDS]
        n_alike = sum(len(record) == len(sample[0]) for record in sample)
        if sample and len(sample[0]) > 1 and 2 * n_alike > len(sample):
            scores[separator] = (n_alike / len(sample), len(sample[0]))
    if not scores:
        first = text.splitlines()[0][:60]
        raise DataError(
            f"neither tabs, commas, semicolons, bars nor '::' split the lines of {name} into the "
            f"same number of columns (the first line is {first!r}); use ",
            Option("separator"),
            ", skip lines before the table with ",
            Option("skip_rows"),
            ", or fix the lines.",
        )
    return max(scores, key=lambda one: scores[one])


def _has_header(sample: list[Record]) -> bool:
    """Return whether the first record names the columns.

    It does if it contains recognised names of several roles, or text above a column of numbers. If
    no column consists of numbers, or there is no other record, it does if it contains no number.
    """
    import polars as pl

    first, *others = sample
    if len(columns_by_role(first)) > 1:
        return True
    of_numbers = [
        name
        for name, *fields in zip(first, *others, strict=False)
        if numbers_of(pl.Series(fields, dtype=pl.String)).dtype.is_numeric()
    ]
    if of_numbers:
        return any(not is_number(name) and not is_missing(name) for name in of_numbers)
    return not any(is_number(name) for name in first)


def column_names(first: Record, header: bool, name: str) -> list[str]:
    """Return the names of the columns, from the first record if it is a header."""
    if not header:
        return [f"column {k}" for k in range(1, len(first) + 1)]
    names = [field.strip() for field in first]
    repeated = sorted({one for one in names if names.count(one) > 1})
    if repeated:
        raise DataError(
            f"{name} has several columns named {repeated[0]!r}; give each column a unique name."
        )
    return names


def _refuse_encoding(data: bytes, name: str, position: int, first_line: int) -> NoReturn:
    line = data[:position].count(b"\n") + first_line
    raise DataError(
        f"line {line} of {name} is not valid UTF-8; save the file as UTF-8, or use ",
        Option("encoding", "latin-1"),
        " or the encoding that it has.",
    )


def _refuse(data: bytes, name: str, separator: str, n_fields: int, first_line: int) -> NoReturn:
    """Raise an error that names the first line that polars cannot parse."""
    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        _refuse_encoding(data, name, cause.start, first_line)
    try:
        too_long = next((at for at in _sizes(text, separator) if at[1] > n_fields), None)
    except csv.Error:
        too_long = None
    if too_long is None:
        _refuse_quotes(name)
    raise DataError(
        f"line {too_long[0] + first_line - 1} of {name} has {too_long[1]} fields, but the first "
        f"line has {n_fields}; fix that line, or put quotation marks around fields that contain "
        "the separator."
    )


def _refuse_quotes(name: str) -> NoReturn:
    raise DataError(
        f"{name} has an unclosed or misplaced quotation mark; enclose such fields in quotation "
        "marks, and double those inside a field."
    )


def _sizes(text: str, separator: str) -> Iterator[tuple[int, int]]:
    """Yield the line number at which each record ends, and its number of fields."""
    if len(separator) > 1:
        for number, line in enumerate(text.splitlines(), 1):
            yield number, len(line.split(separator))
        return
    reader = _reader(text, separator)
    for record in reader:
        yield reader.line_num, len(record)
