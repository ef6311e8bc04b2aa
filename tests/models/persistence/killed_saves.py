"""Replace a folder again and again, killed before each file operation in turn.

Run as ``python killed_saves.py FOLDER exchange|rename``. FOLDER contains the folders ``old`` and
``new``; the folder ``model`` in ``FOLDER/000``, ``FOLDER/001``, … is ``old``, which a process that
was killed before its operation number 0, 1, … was about to replace with ``new``. Processes are
forked, so nothing here may start a thread.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from grassvine.foundations import folders

OPERATIONS = ("mkdir", "open", "fdopen", "fsync", "rename", "scandir", "unlink", "rmdir", "close")


def replace_killed(target: Path, files: dict[str, bytes], operation: int) -> None:
    numbers = count()

    def killed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(numbers) == operation:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in OPERATIONS:
        setattr(os, name, killed(getattr(os, name)))
    folders._exchange = killed(folders._exchange)
    folders.write_folder(target, files, (), lambda: True)


def main(folder: Path, way: str) -> None:
    if way == "rename":
        folders._exchange = lambda *_: False
    files = {path.name: path.read_bytes() for path in (folder / "new").iterdir()}
    for operation in count():
        target = folder / f"{operation:03}" / "model"
        shutil.copytree(folder / "old", target)
        if not (child := os.fork()):
            replace_killed(target, files, operation)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
