"""Clocks for benchmarks."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """Seconds of the wall and of the processor."""

    wall: float
    cpu: float


def timed(action: Callable[[], Any]) -> tuple[Any, Timing]:
    """Return what an action returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, Timing(time.perf_counter() - wall, time.process_time() - cpu)


def best(action: Callable[[], Any], repeats: int) -> Timing:
    """Return the shortest of several timings: machines are shared, and noise only adds."""
    timings = [timed(action)[1] for _ in range(repeats)]
    return min(timings)
