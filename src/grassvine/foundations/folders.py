"""Folders of files that are written and replaced as a whole.

A folder is written beside its target under a temporary name, and then exchanged with the target in
one step, so at every moment there is a complete folder at the path. Where the system cannot
exchange, two renames take its place; between them the former folder has a name of its own, under
which :func:`located` finds it.

::

    .NAME.TOKEN.partial   being written or removed
    .NAME.TOKEN.old       complete, while there is nothing at NAME

Writers in the same parent folder exclude each other by a lock, which ends with its process. So
whatever a writer finds under these names was left behind, and is removed.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from grassvine.foundations.errors import OutputError
from grassvine.foundations.files import flush_folder

OWNER_ONLY = 0o600
WORLD_READABLE = 0o644
RELATIVE_TO_CWD = -100  # AT_FDCWD of Linux
RENAME_EXCHANGE = 2
CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def located(target: Path) -> Path:
    """Return the target, or the former folder if its replacement was interrupted."""
    if os.path.lexists(target):
        return target
    return min(_left_over(target, "old"), default=target)


def write_folder(
    target: Path,
    files: Mapping[str, bytes],
    private: Collection[str],
    may_replace: Callable[[], bool],
) -> None:
    """Write a folder atomically; a failure changes nothing.

    Parameters
    ----------
    private : collection of str
        Names of files that only their owner may read.
    may_replace : callable
        Returns whether ``target`` exists; raises if it must not be replaced.
    """
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.parent) as locked:
            if (former := located(target)) != target:
                former.rename(target)
            if locked:
                _clear(target)
            replace = may_replace()
            try:
                partial.mkdir()
                for name, data in files.items():
                    _write(partial / name, data, OWNER_ONLY if name in private else WORLD_READABLE)
                flush_folder(partial)
                if not replace:
                    partial.rename(target)
                elif not _exchange(partial, target):
                    _swap(partial, target)
                flush_folder(target.parent)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OutputError:
        raise
    except OSError as cause:
        raise OutputError(
            f"{target} could not be written ({cause.strerror or cause}), and nothing was "
            "changed; choose another path, or free some space."
        ) from None


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False if the system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(one), os.fsencode(other)
    if rename(RELATIVE_TO_CWD, paths[0], RELATIVE_TO_CWD, paths[1], RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code))


def _swap(partial: Path, target: Path) -> None:
    """Exchange two folders by renames; in between, :func:`located` finds the former one."""
    former = partial.with_suffix(".old")
    target.rename(former)
    try:
        partial.rename(target)
    except BaseException:
        former.rename(target)
        raise
    with contextlib.suppress(OSError):
        former.rename(partial)


def _clear(target: Path) -> None:
    """Remove what was left behind."""
    for path in [*_left_over(target, "partial"), *_left_over(target, "old")]:
        shutil.rmtree(path, ignore_errors=True)


def _left_over(target: Path, suffix: str) -> list[Path]:
    """Return the temporary folders of a target."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{32}}\.{suffix}")
    try:
        with os.scandir(target.parent) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:  # no such folder, or one whose entries may not be listed
        return []


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Exclude other writers; yield False if the system has no locks for folders."""
    descriptor = _lock(folder)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


if sys.platform == "win32":

    def _lock(folder: Path) -> int | None:
        return None

else:
    import fcntl

    def _lock(folder: Path) -> int | None:
        """Wait for an exclusive lock, which ends when the descriptor is closed."""
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:  # one whose entries may not be listed
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # network file systems
            os.close(descriptor)
            return None
        except BaseException:  # interrupted
            os.close(descriptor)
            raise
        return descriptor


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
