import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.commands import Command, rating_lines, write_ratings


@pytest.fixture
def grassvine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    return write_ratings(tmp_path / "ratings.csv", rating_lines())


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would show of progress bars."""
    shown = io.StringIO()
    monkeypatch.setattr(
        "grassvine.report.progress.Console",
        lambda stderr: Console(file=shown, force_terminal=stderr, width=80),
    )
    return shown
