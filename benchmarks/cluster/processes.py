"""What this process and all below it take: processor seconds, and memory at the most."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def family(first: int | None = None) -> list[int]:
    """Return the ids of a process, by default this one, and of all below it.

    With Ray, these are the whole local cluster.
    """
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found, waiting = [], [os.getpid() if first is None else first]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def cpu_seconds() -> float:
    """Return what the family has taken of processors so far, its ended children included."""
    ticks = 0
    for number in family():
        fields = _stat(number)
        ticks += sum(map(int, fields[11:15])) if fields else 0
    return ticks / TICKS


@contextmanager
def memory_watch(seconds: float = 0.25) -> Iterator[dict[str, float]]:
    """Keep in ``gigabytes`` by how much the snapshot of the machine in use grew at the most."""
    peak = {"gigabytes": 0.0}
    before = _available()
    over = threading.Event()

    def look() -> None:
        while not over.wait(seconds):
            peak["gigabytes"] = max(peak["gigabytes"], before - _available())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def own_peak_gigabytes() -> float:
    """Return the most memory that this process alone had."""
    return _gigabytes(os.getpid(), "VmHWM")


def actor_gigabytes() -> list[float]:
    """Return the snapshot of each actor now, without what it shares with others."""
    return [
        _gigabytes(number, "RssAnon")
        for number in family()
        if Path(f"/proc/{number}/cmdline").read_bytes().startswith(b"ray::AgentActor")
    ]


def _gigabytes(number: int, kind: str) -> float:
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(kind))
    return int(line.split()[1]) / 1e6


def _available() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("MemAvailable"))
    return int(line.split()[1]) / 1e6


def _stat(number: int) -> list[str]:
    """Return the fields after the name of a process; none where it has ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
