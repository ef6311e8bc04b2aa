"""A process that fits with one library, and what it takes of memory."""

import json
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.cluster.processes import TICKS, family
from benchmarks.libraries.environments import ROOT, Absent, interpreter

FITS = Path(__file__).with_name("fits.py")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


class Worker:
    """A process in a library's environment; a context manager."""

    def __init__(self, library: str, folder: Path):
        self.peak = 0.0  # megabytes, of the process and all below it
        self._ticks: dict[tuple[int, str], int] = {}  # of these processes, also of ended ones
        paths = {"PYTHONPATH": f"{ROOT}", "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [str(interpreter(library)), str(FITS), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD, **paths},
        )
        self._errors: list[str] = []
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._watch, self._read)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._over.set()
        for thread in self._threads:
            thread.join()

    def ask(self, *, of_all: bool = False, **request: Any) -> dict[str, float]:
        """Return the seconds of a fit, perhaps with the processor time of all processes.

        A process that ends is counted as it was seen last, a fifth of a second ago at most.
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        name = request["fit"]
        self._answer(name)
        before = self._cpu_seconds()
        took: dict[str, float] = self._answer(name)
        cpu = self._cpu_seconds() - before
        self._answer(name)
        return {**took, "cpu": cpu} if of_all else took

    def _answer(self, name: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._threads[1].join()
            raise Absent(f"{name} failed: {' '.join(self._errors[-1:]).strip()}")
        return json.loads(line)

    def _cpu_seconds(self) -> float:
        for number in family(self._process.pid):
            with suppress(OSError):
                fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
                self._ticks[number, fields[19]] = int(fields[11]) + int(fields[12])
        return sum(self._ticks.values()) / TICKS

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line]

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._cpu_seconds()
            self.peak = max(self.peak, sum(map(_megabytes, family(self._process.pid))))


def _megabytes(number: int) -> float:
    """Return the memory of a process, pages shared with others divided among them."""
    try:
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3
