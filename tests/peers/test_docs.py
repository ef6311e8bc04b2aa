"""docs/organisations.md: its commands exist, with the options that it uses."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from grassvine.cli.peer import peer_app

DOCS = Path(__file__).parents[2] / "docs" / "organisations.md"
COMMANDS = typer.main.get_group(peer_app).commands
LINES = re.findall(r"^grassvine peer .*$", DOCS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_commands_and_options_exist(line: str) -> None:
    command, *arguments = shlex.split(line, comments=True)[2:]
    if command == "join" and command not in COMMANDS:
        assert "not on the command line yet" in DOCS.read_text()
        return
    known = {option for parameter in COMMANDS[command].params for option in parameter.opts}
    assert {one for one in arguments if one.startswith("-")} <= known


def test_every_command_is_described() -> None:
    told = DOCS.read_text()
    assert len(LINES) >= 7
    assert all(f"peer {name}" in told for name in COMMANDS if name != "status")
