"""Parallel map with threads; the order of the results does not depend on the threads."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="grassvine-kernel")


def map_in_order(
    function: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int
) -> list[Result]:
    """Return ``[function(piece) for piece in pieces]``, computed by ``threads`` threads."""
    return list(results_in_order(function, pieces, threads))


def results_in_order(
    function: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int
) -> Iterator[Result]:
    """Yield the results of ``map_in_order``, each as soon as it and those before are there."""
    if threads == 1 or len(pieces) == 1:
        return map(function, pieces)
    return _pool(threads).map(function, pieces)
