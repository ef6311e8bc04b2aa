"""Wait for what another process says."""

import subprocess
import time
from pathlib import Path


def await_text(process: subprocess.Popen[str], log: Path, text: str, seconds: float) -> None:
    """Wait until a process has written something into its log; fail where it ends or is late."""
    deadline = time.monotonic() + seconds
    while text not in log.read_text():
        if process.poll() is not None and text not in log.read_text():
            raise AssertionError(f"ended before it said {text!r}: {log.read_text()[-2000:]}")
        if time.monotonic() > deadline:
            raise AssertionError(f"no {text!r} in {seconds:g} s: {log.read_text()[-2000:]}")
        time.sleep(0.02)
