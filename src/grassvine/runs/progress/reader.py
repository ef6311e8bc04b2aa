"""Follow the events of a run that goes on in another process, or ended."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grassvine.runs.progress.events import decode
from grassvine.runs.progress.state import Progress

BLOCK = 2**20
MAX_LINE = 2**22
MAX_FILE = 2**26  # what a ProgressLog writes is far smaller


class ProgressReader:
    """Follows the events of a file, which may not be there yet, and may be written anew.

    Lines that are not events are counted and passed over.

    Attributes
    ----------
    progress : Progress
        What is known so far.
    n_unreadable : int
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = Path(path)
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._partial = b""
        self.progress = Progress()
        self.n_unreadable = 0

    def poll(self) -> bool:
        """Read what is new; return whether there was anything."""
        try:
            # Not a link, and not something that blocks: the folder may come from somebody else.
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            file = os.open(self._path, flags | getattr(os, "O_BINARY", 0))
        except OSError:
            return False
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                return False
            identity = found.st_dev, found.st_ino
            if identity != self._identity or found.st_size < self._offset:
                self._identity, self._offset, self._partial = identity, 0, b""
                self.progress, self.n_unreadable = Progress(), 0
            if found.st_size == self._offset or found.st_size > MAX_FILE:
                return False
            os.lseek(file, self._offset, os.SEEK_SET)
            for line in self._lines(file):
                try:
                    self.progress.apply(decode(line))
                except ValueError:
                    self.n_unreadable += 1
        finally:
            os.close(file)
        return True

    def _lines(self, file: int) -> Iterator[bytes]:
        """Yield the complete lines; the rest of the last one is kept for the next time."""
        while block := os.read(file, BLOCK):
            self._offset += len(block)
            *lines, self._partial = (self._partial + block).split(b"\n")
            yield from lines
            if len(self._partial) > MAX_LINE:
                self._partial = b""
                self.n_unreadable += 1
