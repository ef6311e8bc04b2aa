"""Progress bars with the remaining time, on a terminal or in a notebook.

Nothing is shown if standard error is a file or a pipe.
"""

import math
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from grassvine.protocol.report import StepReport
from grassvine.report.remaining import RemainingTime, in_words


class ProgressBar:
    """A progress bar with the elapsed and the remaining time.

    It is a context manager, and an observer of runs, which report their progress. Other operations
    call :meth:`update`. Until the progress is known, the bar is animated only.

    Parameters
    ----------
    title : str
        What is being done.
    passing : bool, default=False
        Whether to remove the bar at the end, for example if it shows one of many operations.
    """

    only_watches = True

    def __init__(self, title: str, *, passing: bool = False):
        self._screen = _screen(title, passing)
        self._remaining = RemainingTime()
        self._is_known = False

    def __call__(self, report: StepReport) -> None:
        """Show the progress of a run."""
        if report.neighbour != -1:
            self.update(report.share)

    def update(self, share: float, title: str | None = None) -> None:
        """Show the completed fraction, between 0 and 1, and optionally another title."""
        if not math.isnan(share):
            self._is_known = True
            self._screen.show(share, in_words(self._remaining.update(share)), title)

    def __enter__(self) -> "ProgressBar":
        """Show the bar."""
        self._screen.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the bar; without an error, everything is done."""
        if kind is None and self._is_known:
            self.update(1.0)
        self._screen.stop()


class Screen(Protocol):
    """Where a bar is shown."""

    def start(self) -> None:
        """Begin."""
        ...

    def show(self, share: float, left: str, title: str | None) -> None:
        """Show a share, the expected time in words, and a new title if there is one."""
        ...

    def stop(self) -> None:
        """End."""
        ...


def _screen(title: str, passing: bool) -> Screen:
    console = Console(stderr=True)
    return Notebook(title) if console.is_jupyter else Terminal(title, console, passing)


class Terminal:
    """A bar on standard error; hidden unless that is a terminal."""

    def __init__(self, title: str, console: Console, passing: bool):
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[share]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
            transient=passing,
        )
        self._task = self._bar.add_task(title, total=None, share="", left="")

    def start(self) -> None:
        """Show the bar."""
        self._bar.start()

    def show(self, share: float, left: str, title: str | None) -> None:
        """Show a share."""
        changed: dict[str, Any] = {} if title is None else {"description": title}
        percent = f"{share:.0%}"
        self._bar.update(
            self._task, total=1.0, completed=share, share=percent, left=left, **changed
        )

    def stop(self) -> None:
        """Stop the bar."""
        self._bar.stop()


class Notebook:
    """A line of text in the output of a notebook cell, replaced whenever the percentage changes."""

    def __init__(self, title: str):
        self._title, self._shown = title, ""
        self._handle: Any = None

    def start(self) -> None:
        """Show the title."""
        self._write(self._title)

    def show(self, share: float, left: str, title: str | None) -> None:
        """Show a share."""
        self._title = self._title if title is None else title
        shown = f"{self._title}: {share:.0%}"
        if shown != self._shown or share == 1.0:
            self._shown = shown
            self._write(f"{shown}, {left}" if left else shown)

    def stop(self) -> None:
        """Leave the last line."""

    def _write(self, line: str) -> None:
        content = {"text/plain": line}
        if self._handle is None:
            display = import_module("IPython.display").display  # there is one in every notebook
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
