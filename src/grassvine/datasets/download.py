"""Downloading and unpacking of single files, with limits on all sizes."""

import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of bytes received and their total, or None if it is unknown."""

CHUNK = 2**20
READ_TIMEOUT = 30  # seconds
# Ratings compress to about a quarter; a larger expansion indicates a zip bomb.
MAX_EXPANSION = 10


def download(
    address: str,
    target: Path,
    *,
    checksum: str,
    largest: int,
    progress: Progress | None = None,
    scheme: str = "https",
) -> None:
    """Download a file and verify its checksum; on failure no file is left behind.

    Redirects to other schemes than ``scheme`` are refused, and so are more than ``largest`` bytes.
    """
    pooch = load_extra("pooch", "downloading data sets", "data")
    requests = load_extra("requests", "downloading data sets", "data")

    def stream(url: str, output: str, _: Any) -> None:
        with requests.Session() as session:
            session.adapters = {f"{scheme}://": requests.adapters.HTTPAdapter()}
            headers = {"Accept-Encoding": "identity"}
            with session.get(url, stream=True, timeout=READ_TIMEOUT, headers=headers) as response:
                response.raise_for_status()
                _receive(response, Path(output), largest, progress)

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            address, known_hash=checksum, fname=target.name, path=target.parent, downloader=stream
        )
    except DataError:
        raise
    except requests.exceptions.InvalidSchema as cause:
        raise DataError(
            f"the address redirects to a scheme other than {scheme} ({cause})"
        ) from None
    except requests.exceptions.RequestException as cause:
        raise DataError(f"could not download {address} ({cause})") from None
    except ValueError as cause:
        found = re.search(r"but got (\w+)", str(cause))
        raise DataError(
            f"the checksum of {address} is {found[1] if found else cause}, not {checksum}"
        ) from None


def _receive(response: Any, output: Path, largest: int, progress: Progress | None) -> None:
    declared = response.headers.get("Content-Length", "")
    total = int(declared) if declared.isdigit() else None
    too_large = f"{response.url} is larger than the allowed {largest:,} bytes"
    if total is not None and total > largest:
        raise DataError(too_large)
    received = 0
    with output.open("wb") as file:
        for chunk in response.iter_content(CHUNK):
            if received == 0 and chunk.lstrip().startswith(b"<"):
                raise DataError(f"{response.url} is a web page, not the data set")
            received += len(chunk)
            if received > largest:
                raise DataError(too_large)
            file.write(chunk)
            if progress is not None:
                progress(received, total)


def unpack(archive: Path, member: str, target: Path) -> None:
    """Unpack one member of a zip archive; names inside the archive are never used as paths."""
    largest = MAX_EXPANSION * archive.stat().st_size
    try:
        with (
            zipfile.ZipFile(archive) as zipped,
            zipped.open(member) as inside,
            target.open("wb") as file,
        ):
            while chunk := inside.read(CHUNK):
                if file.tell() + len(chunk) > largest:
                    raise DataError(
                        f"{member} is more than {MAX_EXPANSION} times larger than its archive"
                    )
                file.write(chunk)
    except KeyError:
        raise DataError(f"the archive does not contain {member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as cause:
        raise DataError(f"the archive is broken ({cause})") from None
