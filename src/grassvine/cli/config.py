"""``--config``: options from a TOML file. The command line takes precedence."""

from pathlib import Path
from typing import Annotated, Any

import typer

from grassvine.foundations.documents import parse_toml
from grassvine.foundations.errors import PlanError, unknown


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
