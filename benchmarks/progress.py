"""What progress events and the live page cost: ``python -m benchmarks.progress [writing page]``.

Writing: the CPU time within the writer as a share of that of a fit of MovieLens-1M at rank 10 with
ten agents; the difference of whole fits with and without it is printed too, but is mostly noise.
The page: a run of 300 agents and a million rows of history; the time until a browser has drawn it,
if there is one, and the CPU time of the server while a run goes on.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import grassvine as gv
from grassvine.datasets import load_ratings
from grassvine.live.summary import follow
from grassvine.live.view import Seen, View, encoded
from grassvine.protocol import StepReport
from grassvine.protocol.observers import RunStart
from grassvine.runs.progress import FILE, ProgressReader, ProgressWriter

N_AGENTS, N_ROWS = 300, 1_000_000
FOLLOW_SECONDS = 20.0


class TimedWriter(ProgressWriter):
    """A writer that knows the CPU seconds that it took."""

    seconds = 0.0

    def __call__(self, report: StepReport) -> None:
        before = time.thread_time()
        super().__call__(report)
        self.seconds += time.thread_time() - before

    def begin(self, start: RunStart) -> None:
        before = time.thread_time()
        super().begin(start)
        self.seconds += time.thread_time() - before

    def end(self, state: str, reason: str, report: Any = None) -> None:
        before = time.thread_time()
        super().end(state, reason, report)
        self.seconds += time.thread_time() - before


def writing(n_pairs: int = 3) -> None:
    table = load_ratings("ml-1m")
    for method, options in (("bayes", {}), ("gossip", {"regularization": 0.02, "max_iter": 100})):

        def fit(observers: Sequence[Any], method: str = method, options: Any = options) -> float:
            estimator = gv.MatrixCompleter(10, method=method, agents=10, **options)
            before = time.process_time()
            estimator.set_observers(*observers).fit(table)
            return time.process_time() - before

        fit([])  # loads kernels
        plain, told, within = [], [], []
        for _ in range(n_pairs):
            plain.append(fit([]))
            with TemporaryDirectory() as folder:
                writer = TimedWriter(folder)
                told.append(fit([writer]))
                within.append(writer.seconds / told[-1])
        print(
            f"{method}: within the writer {100 * median(within):.2f} % of the CPU time of a fit "
            f"({median(told):.2f} s); with and without it "
            f"{100 * (median(told) / median(plain) - 1):+.1f} %"
        )


def page() -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        seconds = _write_long_run(folder)
        size = (folder / FILE).stat().st_size
        print(f"{N_ROWS:,} reports: {1e6 * seconds / N_ROWS:.2f} µs each, a file of {size:,} bytes")
        _print_opening("from its events", folder)
        old = Path(temporary) / "old"
        _write_history(old)
        _print_opening("from its history", old)
        _follow(Path(temporary) / "going-on")


def _reports(n_rows: int) -> Any:
    """Reports of meetings around a ring."""
    for row in range(n_rows):
        slot, side = divmod(row, 2)
        one = slot % N_AGENTS
        pair = sorted((one, (one + 1) % N_AGENTS))
        agent, neighbour = pair[side], pair[1 - side]
        yield StepReport(
            agent, slot, slot // N_AGENTS, 1.0 / (1 + slot), 0.5, 0.1, neighbour, 0.1, 0.1, 1, 800
        )


def _start() -> RunStart:
    network = gv.networks.ring(N_AGENTS)
    meetings = [[network.edges[0]]] * 10
    table = gv.networks.Timetable.from_meetings(N_AGENTS, meetings)
    whole = table.rearranged(np.arange(N_ROWS // 2) % 10)
    return RunStart(network, whole, "Gossip", one_cost=False)


def _write_long_run(folder: Path) -> float:
    writer = ProgressWriter(folder)
    reports = [*_reports(N_ROWS)]
    writer.begin(_start())
    before = time.thread_time()
    for report in reports:
        writer(report)
    seconds = time.thread_time() - before
    writer.end("finished", "the timetable ended")
    return seconds


def _write_history(folder: Path) -> None:
    folder.mkdir()
    names = [name for name in StepReport._fields if name not in ("finished", "share", "held_out")]
    rows = [*_reports(N_ROWS)]
    columns = {name: np.array([getattr(row, name) for row in rows]) for name in names}
    gv.History(columns).save(folder / "history.safetensors")
    plan = gv.Plan(50, 2, gv.networks.ring(N_AGENTS), gv.Gossip(max_iter=10))
    (folder / "plan.toml").write_text(plan.to_toml())


def _print_opening(what: str, folder: Path) -> None:
    before = time.perf_counter()
    view = View(follow(folder), "run")
    view.refresh()
    message, _ = view.message(Seen())
    text = encoded(message)
    seconds = time.perf_counter() - before
    points = len(message["curves"]["slot"])
    print(f"opened {what}: {seconds:.2f} s to a message of {len(text):,} bytes, {points} points")
    if (drawn := _in_browser(folder)) is not None:
        print(f"  drawn by Chromium after {drawn:.2f} s")


def _in_browser(folder: Path) -> float | None:
    from tests.live.browser import Page, chromium
    from tests.live.pages import serving

    with ExitStack() as stack:
        profile = Path(stack.enter_context(TemporaryDirectory()))
        try:
            driver = stack.enter_context(chromium(profile))
        except BaseException as absent:  # pytest's outcomes are no exceptions
            print(f"  not drawn: {absent}")
            return None
        address = stack.enter_context(serving(folder))
        before = time.perf_counter()
        Page(driver, address).until_state("finished")
        return time.perf_counter() - before


def _follow(folder: Path) -> None:
    """Measure the server's CPU time while a run goes on and one page is open."""
    writer = ProgressWriter(folder)
    writer.begin(_start())
    program = [sys.executable, "-c", "from grassvine.cli import main; main()", "watch"]
    server = subprocess.Popen(
        [*program, str(folder), "--no-browser"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    address = server.stderr.readline().split()[-1]
    stream = subprocess.Popen(
        [sys.executable, "-c", _READ, f"{address}events"], stdout=subprocess.DEVNULL
    )
    reports = _reports(10**9)
    time.sleep(3.0)
    before, start = _cpu(server.pid), time.perf_counter()
    while time.perf_counter() < start + FOLLOW_SECONDS:
        for _ in range(1000):
            writer(next(reports))
        time.sleep(0.02)
    share = (_cpu(server.pid) - before) / (time.perf_counter() - start)
    for process in (stream, server):
        process.terminate()
        process.communicate()
    reader = ProgressReader(folder / FILE)
    reader.poll()
    print(f"following: {100 * share:.1f} % of a core, {len(reader.progress.points)} points so far")


_READ = "import sys, urllib.request\nfor line in urllib.request.urlopen(sys.argv[1]): pass"


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


PARTS: dict[str, Callable[[], None]] = {"writing": writing, "page": page}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or PARTS:
        PARTS[chosen]()
