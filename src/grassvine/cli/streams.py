"""Standard streams that cannot take a character or a byte."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CANNOT_WRITE = 7


class WatchedStream:
    """A text stream that remembers the first error of writing, and raises it if ``needed``.

    Characters that the stream cannot encode are written as escapes.
    """

    def __init__(self, stream: Any, *, needed: bool):
        stream.reconfigure(errors="backslashreplace")
        self._stream = stream
        self._needed = needed
        self.lost: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream itself."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return int(self._stream.write(text))
        except OSError as cause:
            self._lose(cause)
            return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self._stream.flush()
        except OSError as cause:
            self._lose(cause)

    def try_flush(self) -> None:
        """Write what is buffered; raise no error."""
        try:
            self._stream.flush()
        except OSError as cause:
            self.lost = self.lost or cause

    def close_lost(self) -> None:
        """Drop what could not be written, or the interpreter would fail to write it at its end."""
        self.try_flush()
        if self.lost is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def _lose(self, cause: OSError) -> None:
        self.lost = self.lost or cause
        if self._needed:
            raise cause


@contextmanager
def watched_streams() -> Iterator[tuple[WatchedStream, WatchedStream]]:
    """Watch standard output and standard error; messages that cannot be written are lost."""
    output, messages = sys.stdout, sys.stderr
    if messages is None:
        messages = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if output is None:
        messages.write("grassvine: standard output is closed; redirect it to a file or a pipe.\n")
        sys.exit(CANNOT_WRITE)
    watched = WatchedStream(output, needed=True), WatchedStream(messages, needed=False)
    sys.stdout, sys.stderr = watched
    try:
        yield watched
    finally:
        sys.stdout, sys.stderr = output, messages
        for stream in watched:
            stream.close_lost()
