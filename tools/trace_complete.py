"""Print the files and the changes of package that a traced ``grassvine complete`` passes.

    python tools/trace_complete.py [--files]

The command is ``complete ratings.csv --rank 3 --agents 5 --holdout .2 -o model`` on a small table.
A file counts where one of its functions is called, imports left out. A change is a call from a
function of one package (``grassvine.data.tables``) into one of another; a loop over the same calls
counts once, for every pair of caller and called function is counted once.
"""

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import grassvine
from grassvine.cli.app import app

ROOT = Path(grassvine.__file__).parent
MODULE_LEVEL = "<module>"


def write_table(path: Path) -> None:
    """Write ratings of 60 users and 40 items."""
    rng = np.random.default_rng(0)
    rows = [f"u{k // 20},i{rng.integers(40)}-{k % 20},{rng.integers(1, 6)}" for k in range(1200)]
    path.write_text("\n".join(["user,item,rating", *rows]) + "\n")


class Trace:
    """Notes the package's files in which functions are called, and calls between packages."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.changes: dict[tuple[str, str], None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take a call; it is given to ``sys.setprofile``."""
        if event != "call" or frame.f_code.co_name == MODULE_LEVEL:
            return
        here = _file(frame)
        if here is None or _in_import(frame):
            return
        self.files[here] = None
        caller = frame.f_back
        while caller is not None and _file(caller) is None:
            caller = caller.f_back
        if caller is None:
            return
        there = _file(caller)
        assert there is not None
        if Path(here).parent != Path(there).parent:
            names = f"{there}:{caller.f_code.co_name}", f"{here}:{frame.f_code.co_name}"
            self.changes[names] = None


def _file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def _in_import(frame: FrameType) -> bool:
    """Tell whether a module of the package is being imported further up."""
    up = frame.f_back
    while up is not None:
        if up.f_code.co_name == MODULE_LEVEL and _file(up) is not None:
            return True
        up = up.f_back
    return False


def main() -> None:
    """Trace the command and print what was passed."""
    trace = Trace()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "ratings.csv"
        write_table(table)
        words = f"complete {table} --rank 3 --agents 5 --holdout .2 -o {folder}/model --json"
        sys.setprofile(trace)
        try:
            app(words.split(), standalone_mode=False)
        finally:
            sys.setprofile(None)
    packages = {(str(Path(a).parent), str(Path(b).parent)) for a, b in trace.changes}
    if "--files" in sys.argv:
        print(*trace.files, sep="\n")
        print(*(" -> ".join(change) for change in trace.changes), sep="\n")
    print(
        f"{len(trace.files)} files, {len(packages)} pairs of packages, "
        f"{len(trace.changes)} calls between packages"
    )


if __name__ == "__main__":
    main()
