"""Folders of a few named files, read without following links while others may replace them."""

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from grassvine.foundations.errors import ModelError
from grassvine.foundations.folders import located

# A folder is opened again only if it was replaced in the meantime.
MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class OpenFolder:
    """The open files of a folder, all written by the same save."""

    path: Path
    files: Mapping[str, BufferedReader]

    def size_of(self, name: str) -> int:
        """Return the size of a file."""
        return os.fstat(self._file(name).fileno()).st_size

    def read(self, name: str, *, max_bytes: int = -1) -> bytes:
        """Read a file, or at most its first ``max_bytes`` bytes."""
        file = self._file(name)
        try:
            file.seek(0)
            return file.read(max_bytes)
        except OSError as cause:
            raise ModelError(f"{self.path / name} cannot be read ({cause.strerror}).") from None

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, which is read in pieces."""
        file = self._file(name)
        try:
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as cause:
            raise ModelError(f"{self.path / name} cannot be read ({cause.strerror}).") from None

    def _file(self, name: str) -> BufferedReader:
        if name not in self.files:
            raise ModelError(
                f"{self.path} contains no {name}; pass the complete folder of a saved model."
            )
        return self.files[name]


@contextmanager
def open_folder(path: Path, names: Collection[str]) -> Iterator[OpenFolder]:
    """Open those files of a folder that exist.

    Files that are open stay as they are when the folder is replaced. If it is replaced while they
    are being opened, they are opened again.
    """
    for _ in range(MAX_ATTEMPTS):
        folder = located(path)
        with ExitStack() as stack:
            try:
                descriptor = _open_directory(folder, stack)
                files = {name: _open(folder, descriptor, name, stack) for name in names}
            except FileNotFoundError:
                continue
            found = {name: file for name, file in files.items() if file is not None}
            if len(found) == len(files) or not _was_replaced(path, descriptor):
                yield OpenFolder(folder, found)
                return
    raise ModelError(f"there is no folder {path}; pass the folder of a saved model.")


def _open_directory(folder: Path, stack: ExitStack) -> int | None:
    """Return a descriptor of the folder, or None where the system has none."""
    if not folder.is_dir():
        raise FileNotFoundError
    if os.open not in os.supports_dir_fd:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError as cause:
        raise ModelError(f"{folder} cannot be read ({cause.strerror}).") from None
    stack.callback(os.close, descriptor)
    return descriptor


def _open(
    folder: Path, descriptor: int | None, name: str, stack: ExitStack
) -> BufferedReader | None:
    """Open a regular file; return None if there is no such file."""
    path, relative = folder / name, folder / name if descriptor is None else name
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # the file may become a link or a pipe
        flags |= getattr(os, flag, 0)
    try:
        _check_type(path, os.stat(relative, dir_fd=descriptor, follow_symlinks=False).st_mode)
        file = os.fdopen(os.open(relative, flags, dir_fd=descriptor), "rb")
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise ModelError(f"{path} cannot be read ({cause.strerror}).") from None
    stack.enter_context(file)
    _check_type(path, os.fstat(file.fileno()).st_mode)
    return file


def _check_type(path: Path, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise ModelError(
            f"{path} is a link and may point outside the folder; replace it with the file itself."
        )
    if not stat.S_ISREG(mode):
        raise ModelError(f"{path} is not a regular file; pass the folder of a saved model.")


def _was_replaced(path: Path, descriptor: int | None) -> bool:
    """Return whether another folder is at the path now; an open one keeps its identity."""
    if descriptor is None:
        return False
    try:
        return not os.path.samestat(os.fstat(descriptor), located(path).stat())
    except FileNotFoundError:
        return True
