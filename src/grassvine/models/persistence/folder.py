"""Folders of a few named files: written atomically, read without following links."""

import os
import shutil
import stat
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path

from grassvine.foundations.errors import ModelError, OutputError

OWNER_ONLY = 0o600
WORLD_READABLE = 0o644


def size_of(folder: Path, name: str) -> int:
    """Return the size of a regular file in the folder."""
    path = folder / name
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ModelError(
            f"{folder} contains no {name}; pass the complete folder of a saved model."
        ) from None
    except OSError as cause:
        raise ModelError(f"{path} cannot be read ({cause.strerror}).") from None
    if stat.S_ISLNK(status.st_mode):
        raise ModelError(
            f"{path} is a link and may point outside the folder; replace it with the file itself."
        )
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{path} is not a regular file; pass the folder of a saved model.")
    return status.st_size


def read(folder: Path, name: str, *, max_bytes: int | None = None) -> bytes:
    """Read a file of the folder, or at most its first ``max_bytes`` bytes."""
    size_of(folder, name)
    # A link may have replaced the file since the check above.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(folder / name, flags), "rb") as file:
            return file.read() if max_bytes is None else file.read(max_bytes)
    except OSError as cause:
        raise ModelError(f"{folder / name} cannot be read ({cause.strerror}).") from None


def write_folder(
    target: Path, files: Mapping[str, bytes], private: Collection[str], *, replace: bool
) -> None:
    """Write a temporary folder and rename it to ``target``; a failure changes nothing.

    Parameters
    ----------
    private : collection of str
        Names of files that only their owner may read.
    replace : bool
        Whether ``target`` exists and is to be replaced.
    """
    token = uuid.uuid4().hex
    partial = target.with_name(f".{target.name}.{token}.partial")
    backup = target.with_name(f".{target.name}.{token}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        for name, data in files.items():
            _write(partial / name, data, OWNER_ONLY if name in private else WORLD_READABLE)
        _flush(partial)
        if replace:
            target.rename(backup)
        try:
            partial.rename(target)
        except OSError:
            if replace:
                backup.rename(target)
            raise
        _flush(target.parent)
    except OSError as cause:
        raise OutputError(
            f"{target} could not be written ({cause.strerror or cause}), and nothing was "
            "changed; choose another path, or free some space."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(backup, ignore_errors=True)


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
