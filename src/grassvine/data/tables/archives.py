"""Zip archives that contain exactly one table."""

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import PurePosixPath

from grassvine.data.tables.text import EXCEL
from grassvine.foundations.errors import DataError

ZIP = b"PK\x03\x04"
OPEN_DOCUMENT = "is an OpenDocument file; open it and export the sheet as CSV"
MAX_EXPANSION = 200  # as for gzip
CHUNK = 2**20
NOT_TABLES = ("readme", "license", "licence", "changelog")
INVALID = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted, or an unknown compression
    ValueError,
    OverflowError,
)


def extract_table(data: bytes, name: str) -> tuple[bytes, str]:
    """Return the content and the name of the only table in a zip archive."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {member.filename: member for member in archive.infolist()}
    except INVALID as cause:
        raise DataError(
            f"{name} is truncated or corrupt ({cause}); download or create it again."
        ) from None
    if "[Content_Types].xml" in members:
        raise DataError(f"{name} {EXCEL}.")
    if {"mimetype", "content.xml"} <= set(members):
        raise DataError(f"{name} {OPEN_DOCUMENT}.")
    tables = [one for one in members if _may_be_table(one)]
    if len(tables) != 1:
        shown = ", ".join(tables[:5]) + (", …" if len(tables) > 5 else "")
        found = f"contains {len(tables)} files ({shown})" if tables else "contains no table"
        raise DataError(f"{name} {found}; extract the table and use it.")
    whole = bytearray()
    try:
        with archive.open(members[tables[0]]) as file:
            while chunk := file.read(CHUNK):
                whole += chunk
                if len(whole) > MAX_EXPANSION * len(data) + CHUNK:
                    break
    except INVALID as cause:
        raise DataError(
            f"{tables[0]} in {name} cannot be extracted ({cause}); extract it yourself, or create "
            "it again."
        ) from None
    if len(whole) > MAX_EXPANSION * len(data) + CHUNK:
        raise DataError(
            f"{name} expands to more than {MAX_EXPANSION} times its size; extract it yourself if "
            "you trust it."
        )
    return bytes(whole), tables[0]


def _may_be_table(member: str) -> bool:
    """Return whether a member is a file other than hidden ones and accompanying texts."""
    path = PurePosixPath(member)
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return not (member.endswith("/") or hidden or path.stem.lower() in NOT_TABLES)
