"""Options shared by several commands, parsers for their values, and ``--config``.

Options from a TOML file are defaults of a command; the command line takes precedence.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from grassvine.foundations.documents import parse_toml
from grassvine.foundations.errors import Option, PlanError, unknown

Rank = Annotated[
    str, typer.Option(metavar="INT|auto", help="Rank, or auto to choose it on held-out data.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Method: exact, gossip or another one (see docs/command-line.md)."
    ),
]
NumberOfAgents = Annotated[int, typer.Option(min=1, help="Number of agents.")]
NetworkName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Network: ring, path, star, grid, complete, exponential or random.",
    ),
]
Rho = Annotated[
    str, typer.Option(metavar="FLOAT|auto", help="Consensus weight ρ, or auto (gossip only).")
]
MaxIter = Annotated[
    int, typer.Option(help="Approximate number of updates per agent (ignored by exact methods).")
]
Holdout = Annotated[
    float, typer.Option(metavar="FRACTION", help="Fraction of the data to hold out for testing.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
EngineName = Annotated[
    str, typer.Option(metavar="NAME", help="Execution engine: local, threads or ray.")
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Address of the Ray cluster, or auto; starts a local cluster if omitted.",
    ),
]
AgentsPerActor = Annotated[int, typer.Option(min=1, help="Number of agents per Ray actor.")]
Checkpoints = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Checkpoint folder shared by all Ray nodes, to survive node failures.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Resume from the latest checkpoint, if any (Ray only)."),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Field separator of a text file; detected if omitted."),
]
SkipRows = Annotated[
    int, typer.Option(metavar="INT", help="Number of lines before the table in a text file.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Encoding of a text file, such as latin-1; UTF-8 or UTF-16 if omitted."
    ),
]
User = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with user ids; found by name if omitted."),
]
Item = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with item ids; found by name if omitted."),
]
Rating = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with ratings; found by name if omitted."),
]
Duplicates = Annotated[
    str,
    typer.Option(
        metavar="error|mean|last",
        help="How to handle repeated ratings of an item by a user; last keeps the latest by time.",
    ),
]
Missing = Annotated[
    str, typer.Option(metavar="error|drop", help="How to handle rows without a rating.")
]
OnUnknown = Annotated[
    str,
    typer.Option(
        metavar="raise|nan|fallback|warn",
        help="How to handle users, items or tasks unknown to the model.",
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Add the standard deviation of each value, and the ends of an interval that "
        "contains this share of all values, such as 0.9 (method bayes).",
        show_default=False,
    ),
]
ModelOut = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Save the model to this folder."),
]
SharedOnly = Annotated[
    bool,
    typer.Option(
        "--shared-only", help="Save the shared part of the model only, without users or tasks."
    ),
]
RunOut = Annotated[
    Path | None,
    typer.Option(
        "--run", metavar="FOLDER", help="Save the run to this folder, for plot and rerun."
    ),
]
TableOut = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Output file: .csv, .parquet, .feather or .jsonl."
    ),
]


def rank_of(text: str) -> int | str:
    """Return a rank: an integer or auto."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise PlanError(Option("rank"), f" is {text!r}; use an integer or auto.") from None


def number_or_auto(name: str, text: str) -> float | str:
    """Return a number, or auto."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise PlanError(Option(name), f" is {text!r}; use a number or auto.") from None


def agents_of(text: str) -> int | str:
    """Return the number of agents, or the column that names them."""
    try:
        return int(text)
    except ValueError:
        return text


def _read_options(context: typer.Context, path: Path | None) -> Path | None:
    """Use the values of a file as the defaults of the command."""
    if path is None:
        return None
    options = {
        name.removeprefix("--"): parameter
        for parameter in context.command.params
        for name in parameter.opts
        if name.startswith("--") and name not in ("--config", "--help")
    }
    values = dict(context.default_map or {})
    for key, value in _document(path).items():
        if key not in options:
            raise PlanError(f"{path}: {unknown('option', key, options)}")
        parameter = options[key]
        _check(path, key, value, parameter, context)
        values[str(parameter.name)] = value
    context.default_map = values
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=_read_options,
        metavar="FILE",
        help="TOML file with options (names without --); the command line takes precedence.",
    ),
]


def _document(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise PlanError(
            f"{path} cannot be read ({cause.strerror}); use an existing TOML file."
        ) from None
    except ValueError as cause:
        raise PlanError(f"{path} is not a valid TOML file: {cause}.") from None


def _check(path: Path, key: str, value: object, parameter: Any, context: typer.Context) -> None:
    """Reject a value that the option does not accept, with an error that names the file."""
    if isinstance(value, bool) != parameter.is_flag or isinstance(value, dict | list):
        wanted = "true or false" if parameter.is_flag else "text or a number"
        raise PlanError(f"{path}: {key} is {value!r}; use {wanted}.")
    try:
        parameter.process_value(context, value)
    except typer.BadParameter as cause:
        raise PlanError(f"{path}: {key} is {value!r}: {cause.message}") from None
