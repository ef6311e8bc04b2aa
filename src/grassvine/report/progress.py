"""A progress bar as an observer: the solver itself prints nothing."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grassvine.protocol.report import StepReport


class ProgressBar:
    """Shows on standard error how many slots are done; shows nothing where that is no terminal.

    A ``passing`` bar is wiped away at the end: for one of many runs.
    """

    only_watches = True

    def __init__(self, n_slots: int, title: str, *, passing: bool = False):
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(title),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("slots"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=passing,
        )
        self._task = self._bar.add_task(title, total=n_slots)

    def __call__(self, report: StepReport) -> None:
        """Move on to the slot of a report."""
        self._bar.update(self._task, completed=report.slot + bool(report.messages))

    def __enter__(self) -> "ProgressBar":
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the terminal."""
        self._bar.stop()
