"""A folder of a few files with fixed names: written whole or not at all, read with distrust."""

import os
import shutil
import stat
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path

from grassvine.foundations.errors import ModelError, OutputError

OWN_EYES = 0o600
ALL_EYES = 0o644


def size_of(folder: Path, name: str) -> int:
    """Return the size of a file that is really in the folder."""
    path = folder / name
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ModelError(
            f"{folder} holds no {name}; give the whole folder of a saved model."
        ) from None
    except OSError as cause:
        raise ModelError(f"{path} cannot be read ({cause.strerror}).") from None
    if stat.S_ISLNK(status.st_mode):
        raise ModelError(
            f"{path} is a link and may lead out of the folder; put the file itself there."
        )
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{path} is no ordinary file; give the folder of a saved model.")
    return status.st_size


def read(folder: Path, name: str, *, most: int | None = None) -> bytes:
    """Read a file of the folder, or its first bytes."""
    size_of(folder, name)
    # Should a link take the place of the file just now, it is not followed.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(folder / name, flags), "rb") as file:
            return file.read() if most is None else file.read(most)
    except OSError as cause:
        raise ModelError(f"{folder / name} cannot be read ({cause.strerror}).") from None


def write_folder(
    target: Path, files: Mapping[str, bytes], private: Collection[str], *, replace: bool
) -> None:
    """Write a folder beside its place and move it there; a failure leaves what was there before.

    Parameters
    ----------
    private : names
        Files that only their owner may read.
    replace : bool
        Whether there is something at the place that may go once the new folder is there.
    """
    mark = uuid.uuid4().hex
    partial = target.with_name(f".{target.name}.{mark}.partial")
    aside = target.with_name(f".{target.name}.{mark}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        for name, data in files.items():
            _write(partial / name, data, OWN_EYES if name in private else ALL_EYES)
        _flush(partial)
        if replace:
            target.rename(aside)
        try:
            partial.rename(target)
        except OSError:
            if replace:
                aside.rename(target)
            raise
        _flush(target.parent)
    except OSError as cause:
        raise OutputError(
            f"{target} cannot be written ({cause.strerror or cause}); what was there before is "
            "untouched. Choose another place, or make room."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Make the names in a folder last, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
