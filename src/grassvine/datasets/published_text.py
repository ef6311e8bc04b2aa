"""Functions that find published text files and read them in blocks of lines.

Polars parses one block at a time, so memory use does not depend on the size of the file. Only if a
block is invalid are its lines examined one by one, to name the line.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grassvine.data.tables.files.content import BYTE_ORDER_MARK, LONGEST_LINE, refuse_foreign
from grassvine.foundations.errors import DataError
from grassvine.foundations.watch import Watch

if TYPE_CHECKING:
    import polars as pl

BLOCK = 2**25  # bytes


def find_files(path: str | os.PathLike[str], patterns: Sequence[str]) -> list[Path]:
    """Return the file itself, or the matching files in a folder, else in its direct subfolders."""
    root = Path(path)
    if not root.is_dir():
        return [root] if root.is_file() else []
    for level in ("", "*/"):
        found = [file for pattern in patterns for file in sorted(root.glob(level + pattern))]
        if found:
            return found
    return []


def some_files(path: str | os.PathLike[str], patterns: Sequence[str], what: str) -> list[Path]:
    """Return the files that are found; raise an error if there are none."""
    files = find_files(path, patterns)
    if not files:
        names = " or ".join(patterns)
        reason = f"contains no {names}" if Path(path).is_dir() else "does not exist"
        raise DataError(f"{path} {reason}; use {names} of {what}, or the folder that contains it.")
    return files


def one_file(path: str | os.PathLike[str], patterns: Sequence[str], what: str) -> Path:
    """Return the file that is found; raise an error unless there is exactly one."""
    files = some_files(path, patterns, what)
    if len(files) > 1:
        raise DataError(f"{path} contains {files[0]} and {files[1]}; choose one of them.")
    return files[0]


def first_line(path: Path) -> bytes:
    """Return the first line; raise an error if the file is not text."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK)
    except OSError as cause:
        raise DataError(
            f"{path} cannot be read ({cause.strerror}); check the path and its permissions."
        ) from None
    refuse_foreign(head, str(path))
    if b"\0" in head:
        raise DataError(f"{path} is not a text file; use the published text file.")
    return head.splitlines()[0]


@dataclass(frozen=True, slots=True)
class Block:
    """Complete lines of a file, starting at line number ``line``, counting from 1."""

    path: Path
    line: int
    data: bytes

    def refuse(self, fault: Callable[[bytes], str | None]) -> NoReturn:
        """Raise an error that names the first invalid line."""
        for number, text in enumerate(self.data.splitlines(), self.line):
            reason = fault(text) if text else "is empty"
            if reason:
                refuse_line(self.path, number, text, reason)
        last = self.line + self.data.count(b"\n")
        raise DataError(
            f"lines {self.line} … {last} of {self.path} cannot be read; download the file again."
        )


def refuse_line(path: Path, number: int, text: bytes, reason: str) -> NoReturn:
    """Raise an error about a line."""
    shown = text[:60].decode("latin-1") + ("…" if len(text) > 60 else "")
    raise DataError(
        f"line {number} of {path} {reason}: {shown!r}; fix that line, or download the file again "
        "if it is truncated or modified."
    )


def blocks(path: Path, skip: int = 0, watch: Watch | None = None) -> Iterator[Block]:
    """Yield a file in blocks of complete lines, without its first ``skip`` lines.

    ``watch`` is called with the fraction of the file before each further block.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(skip):
            file.readline()
        line = 1 + skip
        while data := file.read(BLOCK) + file.readline():
            lines = data.rstrip(b"\r\n")  # trailing blank lines are valid
            if line == 1:
                lines = lines.removeprefix(BYTE_ORDER_MARK)
            if lines:
                yield Block(path, line, lines)
            line += data.count(b"\n")
            if watch is not None:
                watch(min(file.tell() / size, 1.0))


def parse(data: bytes, schema: Mapping[str, Any], separator: str) -> "pl.DataFrame | None":
    """Parse lines; invalid or missing fields become null, and None means too many fields."""
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
    """Return the frame, or None if it is None or contains a null."""
    if frame is None or any(column.null_count() for column in frame):
        return None
    return frame


def is_whole(field: bytes) -> bool:
    """Return whether a field is a non-negative integer of at most nine digits."""
    return field.isdigit() and len(field) <= 9


def as_real(field: bytes) -> float:
    """Return a field as a float; NaN if it is not a number."""
    try:
        return float(field)
    except ValueError:
        return float("nan")
