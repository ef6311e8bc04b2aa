"""The file of events of a run: bounded, complete at any moment, and cheap to write.

Curves have at most 2,000 points: when there are as many, every other one is dropped, and
from then on points are as far apart as those that are left. The file is appended to, and written
anew when its curves were thinned or it has become long.
"""

import logging
import os
from pathlib import Path

from grassvine.foundations.errors import OutputError
from grassvine.foundations.files import write_whole
from grassvine.runs.progress.events import Event, encode
from grassvine.runs.progress.state import Progress

FILE = "progress.jsonl"
MAX_BYTES = 2**22

log = logging.getLogger("grassvine.progress")


class ProgressLog:
    """Writes the events of a run to a folder.

    A file that cannot be written ends the log with a warning, and not the run.

    Parameters
    ----------
    folder : path
        The run folder, which is created.
    progress : Progress, optional
        What the folder contains already, to go on with it; by default nothing.
    """

    def __init__(self, folder: str | os.PathLike[str], progress: Progress | None = None):
        self.path = Path(folder) / FILE
        self.progress = progress or Progress()
        self._pending: list[bytes] = []
        self._size = MAX_BYTES + 1  # so that the first flush writes the whole file
        self._broken = False

    @property
    def spacing(self) -> float:
        """The seconds between points."""
        return self.progress.spacing

    def add(self, event: Event) -> None:
        """Add an event, which is written by the next flush."""
        thinned = self.progress.apply(event)
        if thinned:
            self._size = MAX_BYTES + 1
        else:
            self._pending.append(encode(event))

    def flush(self) -> None:
        """Write what was added."""
        if self._broken:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        try:
            if self._size + len(data) > MAX_BYTES:
                self._write_anew()
            elif data:
                with self.path.open("ab") as file:
                    file.write(data)
                self._size += len(data)
        except OSError as cause:
            self._broken = True
            log.warning("the progress is no longer written to %s: %s", self.path, cause)

    def content(self) -> bytes:
        """Return the file as it is when it is written anew."""
        return b"".join(map(encode, self.progress.events()))

    def _write_anew(self) -> None:
        data = self.content()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, data)
        except OutputError as cause:
            raise OSError(str(cause)) from None
        self._size = len(data)
