"""A sum between four organisations far apart: ``python -m benchmarks.cluster peers``.

They are the four of ``tests/cluster/organisations.py``, with the real command line: two listen, one
only dials, one has a proxy. It needs root, and MovieLens-100K in GRASSVINE_DATA.

A sum needs 2·height trips from host to host, one after the other, and takes no less than these:
its bound. What it takes without delay, over the same switch, is called the pass: computing, the
journal, TLS. The ratio is that of what the delay adds to the bound.

Means are over all sums but the first, so the start of TCP connections is in them; medians show a
sum in the middle of a run. Each row is the quickest of three runs, taken in turn with the others,
since a machine may have more to do. A run before them compiles and fills caches.
"""

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.cluster.hosts import why_no_hosts
from tests.cluster.organisations import NAMES, Organisations, organisations

from grassvine.datasets import locate
from grassvine.foundations.errors import DataError
from grassvine.peers.plan.group_plan import read_plan

DELAY = 0.02  # seconds one way
MOST = 1.3  # times the bound
REPEATS = 3
LONGEST = 900.0  # seconds of a run
MODELS = {"bayes": (), "map": ("--method", "map", "--regularization", 10)}
# Linux calls cubic its default, and must stay within the bound. BBR spreads a message in time.
ROWS = (
    ("map", 0.0, "cubic"),
    ("map", DELAY, "cubic"),
    ("bayes", 0.0, "cubic"),
    ("bayes", DELAY, "cubic"),
    ("map", 0.0, "bbr"),
    ("map", DELAY, "bbr"),
)


@dataclass(frozen=True)
class Timed:
    """A run: seconds from the first total to the last, those of each sum, and bytes by member."""

    model: str
    delay: float
    congestion: str
    height: int
    total: float
    sums: NDArray[np.float64]
    sent: tuple[int, ...]

    @property
    def bound(self) -> float:
        """The seconds of the trips of a sum."""
        return 2 * self.height * self.delay


def measure() -> list[Timed]:
    if reason := why_no_hosts():
        sys.exit(reason)
    try:
        ratings = locate("ml-100k") / "u.data"
    except DataError as absent:
        sys.exit(str(absent))
    run(ratings, "map", 0.0, "cubic")
    found = [[run(ratings, *row) for row in ROWS] for _ in range(REPEATS)]
    return [min(runs, key=lambda one: one.total) for runs in zip(*found, strict=True)]


def run(ratings: Path, model: str, delay: float, congestion: str) -> Timed:
    """Let the organisations learn once."""
    with tempfile.TemporaryDirectory() as name:
        with organisations(Path(name), delay, congestion) as four:
            four.divide(ratings)
            # Sums alone: masks add rounds in which scales are found, which are sums as well.
            plan = four.draft("--rank", 10, *MODELS[model], "--secrecy", "none")
            _join(four, plan["words"])
        drafted = read_plan(four.houses[0].folder / "plan.toml")
        height = drafted.network.tree.height
        slots, seconds = np.load(four.houses[0].folder / "times.npy").T
        totals = seconds[slots % (2 * height) == slots[0] % (2 * height)]
        sent = tuple(house.bytes_sent for house in four.houses)
        shared = {(Path(name) / one / "model/shared.safetensors").read_bytes() for one in NAMES}
        assert len(shared) == 1
    return Timed(
        model, delay, congestion, height, float(totals[-1] - totals[0]), np.diff(totals), sent
    )


def _join(four: Organisations, words: str) -> None:
    with ExitStack() as stack:
        processes = []
        for house in four.houses:
            notes = str(house.folder / "times.npy")
            timed = [sys.executable, "-m", "tests.cluster.timed_member", notes]
            processes.append(stack.enter_context(house.joining(words, timed)))
        for house, process in zip(four.houses, processes, strict=True):
            process.wait(LONGEST)
            if process.returncode:
                sys.exit((house.folder / "join.log").read_text())


def show(rows: list[Timed]) -> None:
    print(
        "milliseconds a sum; kB that each member sends a sum\n"
        "model  TCP    delay  sums  seconds    mean  median   bound  ratio: mean median"
        f"{''.join(f'{name:>7}' for name in NAMES)}"
    )
    above = []
    for undelayed, row in zip(rows[::2], rows[1::2], strict=True):
        added = [at(row.sums) - at(undelayed.sums) for at in (np.mean, np.median)]
        ratios = [one / row.bound for one in added]
        print(f"{_line(undelayed)}           -      -{_sent(undelayed)}")
        print(f"{_line(row)}{ratios[0]:12.2f} {ratios[1]:6.2f}{_sent(row)}", flush=True)
        if max(ratios) > MOST:
            above.append(row)
    for row in above:
        print(f"{row.model} with {row.congestion}: more than {MOST} times the bound")
    if any(row.congestion == "cubic" for row in above):
        sys.exit(1)


def _line(row: Timed) -> str:
    mean, median = 1e3 * row.sums.mean(), 1e3 * np.median(row.sums)
    return (
        f"{row.model:5}  {row.congestion:5}  {1e3 * row.delay:5.0f}  {1 + len(row.sums):4d}  "
        f"{row.total:7.1f}  {mean:6.1f}  {median:6.1f}  {1e3 * row.bound:6.0f}"
    )


def _sent(row: Timed) -> str:
    return "".join(f"{one / 1e3 / (1 + len(row.sums)):7.0f}" for one in row.sent)
