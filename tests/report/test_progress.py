import io

import pytest
from rich.console import Console

from grassvine.protocol import StepReport
from grassvine.report.progress import ProgressBar


def test_it_counts_slots_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        "grassvine.report.progress.Console",
        lambda stderr: Console(file=screen, force_terminal=stderr, width=80),
    )
    with ProgressBar(20, "gossip") as bar:
        bar(StepReport(0, 6, 0, 0.0, 0.0, 0.0, messages=1))
    assert "gossip" in screen.getvalue() and " 7/20" in screen.getvalue()


def test_it_shows_nothing_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(20, "gossip") as bar:
        bar(StepReport(0, 6, 0, 0.0, 0.0, 0.0, messages=1))
    assert capfd.readouterr() == ("", "")
