"""An observer that shows a progress bar."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grassvine.protocol.report import StepReport


class ProgressBar:
    """Progress bar of completed slots on standard error, shown only on a terminal.

    A ``passing`` bar is cleared at the end, for example if it shows one of many runs.
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
        """Advance to the slot of a report."""
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
        """Stop the bar."""
        self._bar.stop()
