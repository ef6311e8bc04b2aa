"""The processes of actors in the local cluster of this process: to be killed on purpose."""

import os
import signal
import threading
from pathlib import Path

from numpy.random import Generator

TITLE = b"ray::AgentActor"


def host_processes() -> list[int]:
    """Return the ids of the processes in which hosts of agents live, below this one."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text()
                title = (folder / "cmdline").read_bytes()
            except OSError:  # it has just ended
                continue
            fields = stat.rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(folder.name)] = (int(fields[1]), title)
    return [
        number
        for number, (_, title) in parents.items()
        if title.startswith(TITLE) and _is_below(number, os.getpid(), parents)
    ]


def kill_one(rng: Generator) -> bool:
    """Kill -9 a host chosen at random; tell whether there was one."""
    processes = sorted(host_processes())
    if processes:
        os.kill(processes[int(rng.integers(len(processes)))], signal.SIGKILL)
    return bool(processes)


class KillAfter:
    """Kills a host at some instant of a run; as a context, ``done`` tells whether it did."""

    def __init__(self, seconds: float, rng: Generator):
        self.done = False
        self._rng = rng
        self._timer = threading.Timer(seconds, self._kill)

    def __enter__(self) -> "KillAfter":
        """Start the clock."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock."""
        self._timer.cancel()
        self._timer.join()

    def _kill(self) -> None:
        self.done = kill_one(self._rng)


def _is_below(number: int, ancestor: int, parents: dict[int, tuple[int, bytes]]) -> bool:
    while number in parents:
        number = parents[number][0]
        if number == ancestor:
            return True
    return False
