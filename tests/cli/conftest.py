from pathlib import Path

import pytest
from tests.cli.commands import Command, rating_lines, write_ratings


@pytest.fixture
def grassvine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    return write_ratings(tmp_path / "ratings.csv", rating_lines())
