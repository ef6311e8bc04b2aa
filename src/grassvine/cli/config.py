"""``--config``: options from a TOML file. What the command line says goes before the file."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from grassvine.foundations.errors import PlanError, unknown


def _take_options(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a file the defaults of the command."""
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
        callback=_take_options,
        help="A TOML file with options, named as here without --; what is said here goes first.",
    ),
]


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise PlanError(f"{path} cannot be read ({cause.strerror}); give a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise PlanError(f"{path} is no TOML file: {cause}.") from None


def _check(path: Path, key: str, value: object, parameter: Any, context: typer.Context) -> None:
    """Refuse a value that the option cannot take, and name the file."""
    if isinstance(value, bool) != parameter.is_flag or isinstance(value, dict | list):
        wanted = "true or false" if parameter.is_flag else "text or a number"
        raise PlanError(f"{path}: {key} is {value!r}; give {wanted}.")
    try:
        parameter.process_value(context, value)
    except typer.BadParameter as cause:
        raise PlanError(f"{path}: {key} is {value!r}: {cause.message}") from None
