"""Output of commands: results on standard output, messages on standard error."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grassvine.foundations.errors import Option, OutputError

if TYPE_CHECKING:
    import polars as pl

    from grassvine.report.progress import ProgressBar

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
ENCODED = 0.6  # the share of encoding a table, before it is written; measured with CSV
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite existing output.")]


def print_messages(messages: Iterable[str]) -> None:
    """Print messages on standard error, one per line."""
    for message in messages:
        typer.echo(printable(message), err=True)


def printable(text: str) -> str:
    """Escape control characters, which a terminal would obey; line breaks stay.

    Names and ids may come from others' files.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def print_object(content: Mapping[str, Any]) -> None:
    """Print one JSON object, with null for numbers that are not finite."""
    escape = not _encoding().startswith("utf")
    text = json.dumps(_plain(content), ensure_ascii=escape, allow_nan=False)
    if not text.isprintable():
        text = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
    typer.echo(text)


def print_rows(rows: Mapping[str, Any]) -> None:
    """Print a table of names and values; rows whose value is None are omitted."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None)
    for name, value in rows.items():
        if value is not None:  # as Text, because brackets in a str would be read as markup
            table.add_row(
                Text(printable(name)), Text(printable(_formatted(value)), overflow="fold")
            )
    Console().print(table)


def print_text_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table as plain text, with aligned columns; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        typer.echo("  ".join([name.ljust(widths[0]), *numbers]))


def progress(what: str) -> "ProgressBar":
    """Return a context manager that shows the progress of a task on a terminal."""
    from grassvine.report.progress import ProgressBar

    return ProgressBar(what, passing=True)


def check_table_path(out: Path | None, *, overwrite: bool) -> None:
    """Check that a table can be written to a path; called before the computation starts."""
    from grassvine.data.tables.export import SUFFIXES
    from grassvine.foundations.errors import DataError, unknown
    from grassvine.foundations.files import exists

    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise DataError(f"{out}: {unknown('table suffix', out.suffix, SUFFIXES)}")
    if out.exists() and not overwrite:
        raise exists(out)


def write_table(frame: "pl.DataFrame", name: str, out: Path | None, as_json: bool) -> None:
    """Write a table to a file, or print it as CSV or as one JSON object."""
    from grassvine.data.tables.export import encode_table
    from grassvine.foundations.files import write_whole

    if out is not None:
        with progress("writing") as bar:
            data = encode_table(frame, out.suffix.lower())
            bar.update(ENCODED)
            write_whole(out, data)
        print_messages([f"{len(frame)} rows: {out}"])
        if as_json:
            print_object({"path": str(out), "rows": len(frame)})
    elif as_json:
        print_object({name: frame.to_dicts()})
    else:
        text = encode_table(frame, ".csv").decode()
        if sys.stdout.isatty():
            text = printable(text)
        try:
            text.encode(_encoding())
        except UnicodeEncodeError as cause:
            raise OutputError(
                f"standard output ({cause.encoding}) cannot take {text[cause.start]!a}; use ",
                Option("as_json"),
                ", or set PYTHONIOENCODING=utf-8.",
            ) from None
        sys.stdout.write(text)
        sys.stdout.flush()


def _encoding() -> str:
    """Return the encoding of standard output."""
    return sys.stdout.encoding.lower()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)  # dates, for example


def _formatted(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_formatted(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.4f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
