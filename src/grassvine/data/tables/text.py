"""Published text files: how they are found, looked at, and read in blocks of lines.

A block is parsed at once by polars, so memory is bounded whatever the size of the file. Only where
a block is faulty are its lines looked at one by one, to name the line.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import polars as pl

BLOCK = 2**25  # bytes
LONGEST_LINE = 4096
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # spreadsheets put it before the first line

EXCEL = "is an Excel sheet; open it and export the sheet as CSV"
FOREIGN: dict[bytes, str] = {
    b"\x1f\x8b": "is packed with gzip; unpack it and give the file inside",
    b"PK": "is a zip archive; unpack it and give the file inside",
    b"\xd0\xcf\x11\xe0": EXCEL,
    b"<": "is a web page, perhaps of a failed download; get the data file itself",
}


def find_files(path: str | os.PathLike[str], patterns: Sequence[str]) -> list[Path]:
    """The file itself, or all files of these names that a folder holds, directly or one deeper."""
    place = Path(path)
    if not place.is_dir():
        return [place] if place.is_file() else []
    for level in ("", "*/"):
        found = [file for pattern in patterns for file in sorted(place.glob(level + pattern))]
        if found:
            return found
    return []


def some_files(path: str | os.PathLike[str], patterns: Sequence[str], what: str) -> list[Path]:
    """The files that are found, or the reason why there is none."""
    files = find_files(path, patterns)
    if not files:
        names = " or ".join(patterns)
        reason = f"holds no {names}" if Path(path).is_dir() else "does not exist"
        raise DataError(f"{path} {reason}; give {names} of {what}, or the folder that holds it.")
    return files


def one_file(path: str | os.PathLike[str], patterns: Sequence[str], what: str) -> Path:
    """The one file that is found."""
    files = some_files(path, patterns, what)
    if len(files) > 1:
        raise DataError(f"{path} holds {files[0]} and {files[1]}; give one of them.")
    return files[0]


def first_line(path: Path) -> bytes:
    """The first line, once the file has been seen to be text."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK)
    except OSError as cause:
        raise DataError(
            f"{path} cannot be read ({cause.strerror}); give a file that you may read."
        ) from None
    refuse_foreign(head, str(path))
    if b"\0" in head:
        raise DataError(f"{path} is no text file; give the published text file.")
    return head.splitlines()[0]


def refuse_foreign(head: bytes, name: str) -> None:
    """Refuse what is empty or of a kind that is often given by mistake."""
    if not head.strip():
        raise DataError(f"{name} is empty; get the file anew.")
    if head.startswith(b"PK") and b"[Content_Types].xml" in head:
        raise DataError(f"{name} {EXCEL}.")
    for magic, reason in FOREIGN.items():
        if head.lstrip().startswith(magic):
            raise DataError(f"{name} {reason}.")


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file; the first of them has the number ``line``, counted from 1."""

    path: Path
    line: int
    data: bytes

    def refuse(self, fault: Callable[[bytes], str | None]) -> NoReturn:
        """Name the first line that has a fault."""
        for number, text in enumerate(self.data.splitlines(), self.line):
            reason = fault(text) if text else "is empty"
            if reason:
                refuse_line(self.path, number, text, reason)
        last = self.line + self.data.count(b"\n")
        raise DataError(
            f"lines {self.line} … {last} of {self.path} cannot be read; get the file anew."
        )


def refuse_line(path: Path, number: int, text: bytes, reason: str) -> NoReturn:
    """Refuse a line."""
    shown = text[:60].decode("latin-1") + ("…" if len(text) > 60 else "")
    raise DataError(
        f"line {number} of {path} {reason}: {shown!r}; the file is cut off, altered or another "
        "one. Get it anew, or mend that line."
    )


def blocks(path: Path, skip: int = 0) -> Iterator[Block]:
    """Cut a file into blocks of whole lines, without its first ``skip`` lines."""
    with path.open("rb") as file:
        for _ in range(skip):
            file.readline()
        line = 1 + skip
        while data := file.read(BLOCK) + file.readline():
            lines = data.rstrip(b"\r\n")  # blank lines at the end are no fault
            if line == 1:
                lines = lines.removeprefix(BYTE_ORDER_MARK)
            if lines:
                yield Block(path, line, lines)
            line += data.count(b"\n")


def parse(data: bytes, schema: Mapping[str, Any], separator: str) -> "pl.DataFrame | None":
    """Parse lines; a field that is missing or of another type is null, too many fields are None."""
    import polars as pl

    try:
        return pl.read_csv(
            data,
            has_header=False,
            schema=dict(schema),
            separator=separator,
            quote_char=None,
            ignore_errors=True,
        )
    except pl.exceptions.PolarsError:
        return None


def complete(frame: "pl.DataFrame | None") -> "pl.DataFrame | None":
    """The frame, or None where a field is null."""
    if frame is None or any(column.null_count() for column in frame):
        return None
    return frame


def is_whole(field: bytes) -> bool:
    """Whether a field is a whole number that fits every column."""
    return field.isdigit() and len(field) <= 9


def as_real(field: bytes) -> float:
    """The number in a field; NaN where it is none."""
    try:
        return float(field)
    except ValueError:
        return float("nan")
