"""Errors in the words of the command line: options as flags of the command that was called."""

import shlex
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperGroup

from grassvine.cli.output import print_messages
from grassvine.foundations.errors import (
    AgentError,
    GrassvineError,
    MissingExtra,
    Option,
    OutputError,
    PeerError,
    Worded,
)

WRONG_INPUT = 3
EXIT_CODES: dict[type[GrassvineError], int] = {
    AgentError: 1,
    MissingExtra: 2,
    PeerError: 5,
    OutputError: 7,
}

# Parameters of the library that have another name on the command line.
ALIASES = {
    "checkpoint_dir": "checkpoints",
    "n_agents": "agents",
    "n_components": "components",
    "n_splits": "splits",
    "owners": "owner",
    "random_state": "seed",
    "return_interval": "interval",
    "share": "holdout",
    "unknown_items": "drop_unknown",
}


def flag_writer(parameters: Iterable[Any]) -> Callable[[Option], str]:
    """Return a function that writes an option as a flag, given the parameters of a command.

    An option that the command does not have is written as in Python.
    """
    known = {one.name: one for one in parameters if one.opts[0].startswith("-")}

    def write(option: Option) -> str:
        parameter = known.get(ALIASES.get(option.name, option.name))
        if parameter is None:
            return str(option)
        if option.value is ... or parameter.is_flag:
            return flag(parameter)
        return f"{flag(parameter)} {shlex.quote(str(option.value))}"

    return write


def flag(parameter: Any) -> str:
    """Return the long form of an option of a command."""
    return max(parameter.opts, key=len)


class Commands(TyperGroup):
    """A group of commands whose errors and warnings are printed as messages that name flags."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was called."""

        def report(worded: object) -> None:
            called = self.commands.get(ctx.invoked_subcommand or "")
            write = flag_writer(() if called is None else called.params)
            text = worded.render(write) if isinstance(worded, Worded) else str(worded)
            print_messages([f"grassvine: {text}"])

        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: report(message)
            try:
                return super().invoke(ctx)
            except GrassvineError as error:
                print_messages(getattr(error, "__notes__", ()))
                report(error)
                raise typer.Exit(EXIT_CODES.get(type(error), WRONG_INPUT)) from None
            except MemoryError:
                report("there is not enough memory; use less data, or more memory.")
                raise typer.Exit(WRONG_INPUT) from None
