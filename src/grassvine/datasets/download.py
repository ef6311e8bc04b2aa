"""Download one file and unpack one member of it, with a bound on every size."""

import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes received so far and their total number, where the server tells it."""

CHUNK = 2**20
SECONDS_OF_SILENCE = 30
# Ratings shrink to about a quarter; what grows more than this is no table of ratings.
LARGEST_GROWTH = 10


def download(
    address: str,
    target: Path,
    *,
    checksum: str,
    largest: int,
    progress: Progress | None = None,
    scheme: str = "https",
) -> None:
    """Download a file whose checksum is known; where that fails, there is no file.

    No redirection leaves ``scheme``, and no more than ``largest`` bytes are taken.
    """
    pooch = load_extra("pooch", "downloading data sets", "data")
    requests = load_extra("requests", "downloading data sets", "data")

    def stream(url: str, output: str, _: Any) -> None:
        with requests.Session() as session:
            session.adapters = {f"{scheme}://": requests.adapters.HTTPAdapter()}
            headers = {"Accept-Encoding": "identity"}
            with session.get(
                url, stream=True, timeout=SECONDS_OF_SILENCE, headers=headers
            ) as answer:
                answer.raise_for_status()
                _receive(answer, Path(output), largest, progress)

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            address, known_hash=checksum, fname=target.name, path=target.parent, downloader=stream
        )
    except DataError:
        raise
    except requests.exceptions.InvalidSchema as cause:
        raise DataError(f"the address leads away from {scheme} ({cause})") from None
    except requests.exceptions.RequestException as cause:
        raise DataError(f"{address} could not be downloaded ({cause})") from None
    except ValueError as cause:
        found = re.search(r"but got (\w+)", str(cause))
        raise DataError(
            f"the checksum of {address} is {found[1] if found else cause}, not {checksum}"
        ) from None


def _receive(answer: Any, output: Path, largest: int, progress: Progress | None) -> None:
    declared = answer.headers.get("Content-Length", "")
    total = int(declared) if declared.isdigit() else None
    too_large = f"{answer.url} is larger than the {largest:,} bytes permitted"
    if total is not None and total > largest:
        raise DataError(too_large)
    received = 0
    with output.open("wb") as file:
        for chunk in answer.iter_content(CHUNK):
            if received == 0 and chunk.lstrip().startswith(b"<"):
                raise DataError(f"{answer.url} is a web page, not the data set")
            received += len(chunk)
            if received > largest:
                raise DataError(too_large)
            file.write(chunk)
            if progress is not None:
                progress(received, total)


def unpack(archive: Path, member: str, target: Path) -> None:
    """Unpack the one member whose full name is known; no other name is ever used as a path."""
    largest = LARGEST_GROWTH * archive.stat().st_size
    try:
        with (
            zipfile.ZipFile(archive) as zipped,
            zipped.open(member) as inside,
            target.open("wb") as file,
        ):
            while chunk := inside.read(CHUNK):
                if file.tell() + len(chunk) > largest:
                    raise DataError(
                        f"{member} grows to more than {LARGEST_GROWTH} times the size of its "
                        "archive"
                    )
                file.write(chunk)
    except KeyError:
        raise DataError(f"the archive holds no {member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as cause:
        raise DataError(f"the archive is broken ({cause})") from None
