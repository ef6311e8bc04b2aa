"""Entry point of the ``grassvine`` command: signals and standard streams.

This module imports nothing heavy, so that Ctrl-C is answered while the rest is imported.
"""

import atexit
import gc
import os
import signal
import sys
from typing import Any

from grassvine.cli.streams import CANNOT_WRITE, WatchedStream, watched_streams

CLOSED_PIPE = 1
INTERRUPTED = 128 + signal.SIGINT


def main() -> None:
    """Run the command; end with a documented exit code and without a traceback."""
    # Imports create 300,000 objects that stay. To look for garbage among them every 700 new ones,
    # and once more at the end, takes a third of a short command.
    gc.set_threshold(500_000, 20, 20)
    atexit.register(gc.freeze)
    # Fits and rankings limit BLAS to one thread anyway. More of them would start with each library,
    # and wait for work actively, which takes a tenth of a short command.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    def ignored(unraisable: Any) -> None:
        # Ctrl-C in a callback, for instance of an import lock, would otherwise be ignored.
        if interrupted:
            os._exit(INTERRUPTED)
        sys.__unraisablehook__(unraisable)

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a job in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, interrupt)
    # Clean up on SIGTERM as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.unraisablehook = ignored
    try:
        with watched_streams() as (output, messages):
            sys.exit(_exit_code(output, messages))
    except BaseException:
        if interrupted:  # an import may turn the interruption into an error of its own
            sys.exit(INTERRUPTED)
        raise
    finally:
        sys.unraisablehook = sys.__unraisablehook__
        signal.signal(signal.SIGINT, before)


def _exit_code(output: WatchedStream, messages: WatchedStream) -> Any:
    """Run the command and return its exit code."""
    code: Any = None
    try:
        from grassvine.cli.app import app

        app()
    except SystemExit as end:
        code = end.code
    except OSError:
        if output.lost is None:
            raise
    output.try_flush()
    if isinstance(output.lost, BrokenPipeError):
        return CLOSED_PIPE
    if output.lost is not None:
        messages.write(
            f"grassvine: standard output cannot be written ({output.lost.strerror}); free disk "
            "space, or redirect it.\n"
        )
        return CANNOT_WRITE
    return code
