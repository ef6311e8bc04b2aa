"""Print how many files and package changes a traced ``grassvine complete`` goes through.

    python tools/trace_complete.py [--calls]

The command is ``complete ratings.csv --rank 3 --agents 5 --holdout .2 -o model`` on a small table,
with the default method, and with ``--method map --no-learn-choices``, which fits a single model. It
runs once before it is traced, so that kernels are compiled and modules imported. Functions are
listed in the order of their first call; comprehensions belong to their function. ``foundations``
(validation, errors, random streams), which every package calls, is left out. A file counts if one
of its functions is called. A change is a function whose top-level package differs from that of the
function before it in the list.
"""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import grassvine
from grassvine.cli.app import app

ROOT = f"{Path(grassvine.__file__).parent}/"
LEFT_OUT = "foundations"


def write_table(path: Path) -> None:
    """Write ratings of 60 users and 40 items."""
    rng = np.random.default_rng(0)
    known = np.argwhere(rng.random((60, 40)) < 0.5)
    rows = [f"u{user},i{item},{rng.integers(1, 6)}" for user, item in known]
    path.write_text("\n".join(["user,item,rating", *rows]) + "\n")


class Trace:
    """Records the package's functions in the order of their first call."""

    def __init__(self) -> None:
        self.functions: dict[CodeType, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record a call; this is a function for ``sys.setprofile``."""
        code = frame.f_code
        if event != "call" or code in self.functions or not code.co_filename.startswith(ROOT):
            return
        file = code.co_filename.removeprefix(ROOT)
        if package(file) != LEFT_OUT and not code.co_name.startswith("<"):
            self.functions[code] = file


def package(file: str) -> str:
    """Return the top-level package of a file."""
    return file.split("/")[0]


def traced(options: str) -> Trace:
    """Return the trace of the second run of a command on a small table."""
    trace = Trace()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "ratings.csv"
        write_table(table)
        for number, profile in enumerate((None, trace)):
            command = f"complete {table} {options} -o {folder}/{number}"
            sys.setprofile(profile)
            try:
                app(command.split(), standalone_mode=False)
            finally:
                sys.setprofile(None)
    return trace


def main() -> None:
    """Trace the command with two methods and print the counts."""
    for method in ("--method bayes", "--method map --no-learn-choices"):
        trace = traced(f"--rank 3 --agents 5 --holdout .2 {method}")
        files = list(trace.functions.values())
        changes = sum(package(one) != package(other) for one, other in pairwise(files))
        if "--calls" in sys.argv:
            last = ""
            for code, file in trace.functions.items():
                print("" if package(file) == last else "\n", f"{file}:{code.co_qualname}", sep="")
                last = package(file)
        print(f"{method}: {len(set(files))} files, {changes} changes of package")


if __name__ == "__main__":
    main()
