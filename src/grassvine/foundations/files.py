"""Atomic file output."""

import contextlib
import os
import tempfile
import uuid
from pathlib import Path

from grassvine.foundations.errors import Option, OutputError


def exists(path: str | os.PathLike[str]) -> OutputError:
    """Return the error for output that exists and may not be replaced."""
    return OutputError(
        f"{path} already exists; choose another path, or use ", Option("overwrite", True), "."
    )


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder if needed, and check that files can be written to it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as cause:
        raise OutputError(
            f"{folder} cannot be written to ({cause.strerror}); choose another folder."
        ) from None


def write_whole(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file atomically; if that fails, an existing file is left unchanged."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        flush_folder(target.parent)
    except OSError as cause:
        raise OutputError(
            f"{target} cannot be written ({cause.strerror or cause}) and is left as it was; "
            "choose another path, or free disk space."
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return target


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
