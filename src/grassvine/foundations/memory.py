"""Memory that is available, and the refusal of input that needs more.

Native libraries end the process when an allocation fails, and the system ends it when memory is
exhausted. So the need of an input is estimated from its metadata before it is read, and refused if
it exceeds :data:`SHARE` of what is available.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from grassvine.foundations.errors import InputError

SHARE = 0.8  # the largest part of the available memory that one input may take
# Address space that libraries reserve before any data are read, measured with two cores: code,
# stacks and allocator arenas. They use a small part of it.
RESERVED = 2 * 2**30
RESERVED_PER_CORE = 2**27


def require_memory(n_bytes: int, what: str, error: type[InputError] = InputError) -> None:
    """Raise an error if something needs more memory than is available.

    Parameters
    ----------
    what : str
        Name of what needs memory, for the message.
    """
    free = available_memory()
    if free is not None and n_bytes > SHARE * free:
        raise error(
            f"{what} needs about {_gigabytes(n_bytes)} of memory, more than {100 * SHARE:.0f}% of "
            f"the {_gigabytes(free)} available; use less data, or more memory."
        )


def require_address_space() -> None:
    """Raise an error if a limit (``ulimit -v``) leaves no room for the libraries."""
    limit = _address_space_limit()
    if limit is not None and limit < _reserved():
        raise InputError(
            f"the address space is limited to {_gigabytes(limit)}, but the libraries that "
            f"grassvine uses reserve about {_gigabytes(_reserved())}; raise the limit (ulimit -v)."
        )


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes can be allocated now, or None if the system does not report it.

    This is the least of the memory that the system has available, what the control groups of this
    process leave, and what its limit on address space leaves.

    Parameters
    ----------
    root : path
        Where ``proc`` and ``sys`` are mounted.
    """
    found = [*_system(root), *_control_groups(root), *_address_space(root)]
    return max(min(found), 0) if found else None


def _system(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])


def _control_groups(root: Path) -> Iterator[int]:
    """Yield what each control group above this process leaves, in both versions of the interface.

    File contents in the page cache count as used but are given up when needed.
    """
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, limit, used, cached = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            mount, limit, used = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        base = root / "sys/fs/cgroup" / mount
        group = base / path.lstrip("/")
        for folder in [group, *group.parents]:
            if not folder.is_relative_to(base):
                break
            numbers = [*_lines(folder / limit)[:1], *_lines(folder / used)[:1]]
            if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
                stats = dict(line.split(" ", 1) for line in _lines(folder / "memory.stat"))
                yield int(numbers[0]) - int(numbers[1]) + int(stats.get(cached, 0))


def _address_space(root: Path) -> Iterator[int]:
    limit, sizes = _address_space_limit(), _lines(root / "proc/self/statm")
    if limit is not None and sizes:
        in_use = int(sizes[0].split()[0]) * os.sysconf("SC_PAGE_SIZE")
        yield limit - max(in_use, _reserved())


def _address_space_limit() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _reserved() -> int:
    return RESERVED + RESERVED_PER_CORE * (os.cpu_count() or 1)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
