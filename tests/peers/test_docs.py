"""docs/organisations.md: its commands exist, with the options that it uses."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from grassvine.cli.app import app

DOCS = Path(__file__).parents[2] / "docs" / "organisations.md"
COMMANDS = typer.main.get_command(app).commands["peer"].commands  # type: ignore[attr-defined]
LINES = re.findall(r"^grassvine peer .*$", DOCS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_commands_and_options_exist(line: str) -> None:
    command, *arguments = shlex.split(line, comments=True)[2:]
    known = {option for parameter in COMMANDS[command].params for option in parameter.opts}
    assert {one for one in arguments if one.startswith("-")} <= known


def test_every_command_is_described() -> None:
    told = DOCS.read_text()
    assert len(LINES) >= 7
    assert all(f"peer {name}" in told for name in COMMANDS)
