import io
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import grassvine as gv
from grassvine.foundations.seeds import stream
from grassvine.protocol import StepReport
from grassvine.report.progress import Notebook, ProgressBar


def report(share: float) -> StepReport:
    return StepReport(0, 6, 0, 0.0, 0.0, 0.0, neighbour=1, messages=1, share=share)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would show."""
    shown = io.StringIO()
    monkeypatch.setattr(
        "grassvine.report.progress.Console",
        lambda stderr: Console(file=shown, force_terminal=stderr, width=80),
    )
    return shown


def test_it_shows_share_and_expected_time_on_standard_error(screen: io.StringIO) -> None:
    with suppress(KeyboardInterrupt), ProgressBar("gossip") as bar:
        bar(report(0.0))
        bar(report(0.35))
        raise KeyboardInterrupt
    assert "gossip" in screen.getvalue() and "35%" in screen.getvalue()
    assert "s left" in screen.getvalue()


def test_a_task_with_steps_reports_its_share_and_title(screen: io.StringIO) -> None:
    with suppress(KeyboardInterrupt), ProgressBar("comparing") as bar:
        bar.update(0.5, "exact, split 2 of 2")
        raise KeyboardInterrupt
    assert "exact, split 2 of 2" in screen.getvalue() and "50%" in screen.getvalue()


def test_it_shows_nothing_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("gossip") as bar:
        bar(report(0.35))
    assert capfd.readouterr() == ("", "")


def test_a_notebook_shows_one_line_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            assert raw
            lines.append(content["text/plain"])

    def display(content: dict[str, str], **_: Any) -> Handle:
        lines.append(content["text/plain"])
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    line = Notebook("fit")
    line.start()
    for share, title in ((0.1, None), (0.101, None), (0.2, "exact, split 2"), (0.201, None)):
        line.show(share, "about 3 s left", title)
    assert lines == ["fit", "fit: 10%, about 3 s left", "exact, split 2: 20%, about 3 s left"]


def test_a_bar_ends_at_all_unless_there_was_an_error(screen: io.StringIO) -> None:
    with ProgressBar("gossip") as bar:
        bar(report(0.99))
    assert "100%" in screen.getvalue()
    with suppress(KeyboardInterrupt), ProgressBar("fails") as bar:
        bar(report(0.4))
        raise KeyboardInterrupt
    assert "100%" not in screen.getvalue().partition("fails")[2]
    screen.truncate(0)
    with ProgressBar("reading"):
        pass
    assert "reading" in screen.getvalue() and "%" not in screen.getvalue()


@pytest.mark.parametrize("method", [gv.Exact(), gv.Gossip(max_iter=40)], ids=["exact", "gossip"])
def test_every_run_reports_its_share(method: Any) -> None:
    shares: list[float] = []

    def watch(report: StepReport) -> None:
        if report.neighbour != -1:
            shares.append(report.share)

    # Enough features that the components take several sums.
    wide = stream(0, "data", "wide samples").standard_normal((60, 60))
    plan = gv.Plan(60, 2, gv.networks.path(3), method)
    parts = np.array_split(wide, 3)
    gv.run(plan, [gv.PCAProblem(part) for part in parts], observers=[watch])
    assert np.all(np.diff(shares) >= 0.0) and shares[0] < 0.5 and shares[-1] == 1.0
