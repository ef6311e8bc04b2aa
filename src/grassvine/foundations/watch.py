"""Functions that are told how far an operation has come."""

from collections.abc import Callable
from typing import TypeAlias

Watch: TypeAlias = Callable[[float], None]  # is called with the completed fraction


def part_of(watch: Watch | None, start: float, end: float) -> Watch:
    """Return the function for a part of an operation, which lasts from one fraction to another."""
    if watch is None:
        return _ignore
    return lambda share: watch(start + (end - start) * share)


def _ignore(share: float) -> None:
    """Do nothing."""
