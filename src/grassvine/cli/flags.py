"""Errors in the words of the command line: options as flags of the command that was called."""

import shlex
from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperGroup

from grassvine.foundations.errors import (
    NO_VALUE,
    AgentError,
    GrassvineError,
    MissingExtra,
    Option,
    OutputError,
)

WRONG_INPUT = 3
CANNOT_WRITE = 7
EXIT_CODES: dict[type[GrassvineError], int] = {
    AgentError: 1,
    MissingExtra: 2,
    OutputError: CANNOT_WRITE,
}

# Parameters of the library that the command line calls otherwise.
ALIASES = {
    "checkpoint_dir": "checkpoints",
    "n_agents": "agents",
    "n_components": "components",
    "n_splits": "splits",
    "random_state": "seed",
    "share": "holdout",
    "unknown_items": "leave_out",
}


def flag_writer(parameters: Iterable[Any]) -> Callable[[Option], str]:
    """Return a function that writes an option as a flag, given the parameters of a command.

    An option that the command does not have is written as in Python.
    """
    known = {parameter.name: parameter for parameter in parameters}

    def write(option: Option) -> str:
        parameter = known.get(ALIASES.get(option.name, option.name))
        flags = [] if parameter is None else [one for one in parameter.opts if one[:2] == "--"]
        if not flags:
            return str(option)
        if option.value is NO_VALUE or parameter.is_flag:
            return flags[0]
        return f"{flags[0]} {shlex.quote(str(option.value))}"

    return write


def print_failure(error: GrassvineError, parameters: Iterable[Any]) -> None:
    """Print what was assumed before an error, and the error."""
    for note in getattr(error, "__notes__", ()):
        typer.echo(note, err=True)
    typer.echo(f"grassvine: {error.render(flag_writer(parameters))}", err=True)


class Commands(TyperGroup):
    """Commands that print expected errors as messages instead of tracebacks."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except GrassvineError as error:
            called = self.commands.get(ctx.invoked_subcommand or "")
            print_failure(error, () if called is None else called.params)
            code = next((EXIT_CODES[kind] for kind in type(error).mro() if kind in EXIT_CODES), WRONG_INPUT)
            raise typer.Exit(code) from None
