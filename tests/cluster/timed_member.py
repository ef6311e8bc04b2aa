"""The command line, which notes when each slot was reported: ``… timed_member NOTES ARGUMENT…``.

The notes are an array of slots and seconds.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from grassvine.cli import main
from grassvine.peers.joining import run
from grassvine.protocol import StepReport
from grassvine.protocol.agent import State


def timed(run_peer: Callable[..., State], notes: str) -> Callable[..., State]:
    """Return what runs a member and notes the times of its reports."""
    times: list[tuple[int, float]] = []

    def run_timed(*arguments: Any, observe: Callable[[StepReport], object]) -> State:
        def noted(report: StepReport) -> None:
            times.append((report.slot, time.perf_counter()))
            observe(report)

        state = run_peer(*arguments, observe=noted)
        np.save(notes, np.array(times))
        return state

    return run_timed


if __name__ == "__main__":
    run.run_peer = timed(run.run_peer, sys.argv[1])
    sys.argv = ["grassvine", *sys.argv[2:]]
    main()
