"""The content of a table's file: unzipped, decompressed, as UTF-8 text, without lines before it."""

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from pathlib import PurePosixPath

from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.memory import require_memory
from grassvine.foundations.options import whole_number

LONGEST_LINE = 4096
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # written by spreadsheets before the first line
BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"

EXCEL = "is an Excel workbook; open it and export the sheet as CSV"
UNSUPPORTED: dict[bytes, str] = {
    b"\x1f\x8b": "is compressed with gzip; decompress it and use the file inside",
    b"PK\x03\x04": "is a zip archive; extract it and use the file inside",
    b"\xd0\xcf\x11\xe0": EXCEL,
    b"<": "is a web page, perhaps from a failed download; download the data file itself",
}
OPEN_DOCUMENT = "is an OpenDocument file; open it and export the sheet as CSV"
MAX_EXPANSION = 200  # of a compressed file; ratings expand to about ten times their size
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


def is_foreign(head: bytes) -> bool:
    """Return whether a file is empty, compressed or in an unsupported format that is common."""
    return not head.strip() or head.lstrip().startswith(tuple(UNSUPPORTED))


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise an error if the file is empty or in an unsupported format that is common."""
    if not head.strip():
        raise DataError(f"{name} is empty; download or create it again.")
    if head.startswith(b"PK") and b"[Content_Types].xml" in head:
        raise DataError(f"{name} {EXCEL}.")
    for magic, reason in UNSUPPORTED.items():
        if head.lstrip().startswith(magic):
            raise DataError(f"{name} {reason}.")


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


def decompressed(data: bytes, name: str) -> bytes:
    """Return the content, decompressed if it is gzip, without a byte order mark."""
    if data.startswith(GZIP):
        whole = bytearray()
        try:
            with gzip.open(io.BytesIO(data)) as file:
                while chunk := file.read(CHUNK):
                    whole += chunk
                    if len(whole) > MAX_EXPANSION * len(data) + CHUNK:
                        raise DataError(
                            f"{name} expands to more than {MAX_EXPANSION} times its size; "
                            "decompress it yourself if you trust it."
                        )
                require_memory(len(whole), name, DataError)
        except (gzip.BadGzipFile, EOFError, zlib.error) as cause:
            raise DataError(
                f"{name} is truncated or corrupt ({cause}); download or create it again."
            ) from None
        data = bytes(whole)
    return data.removeprefix(BYTE_ORDER_MARK)


def as_utf8(data: bytes, name: str, encoding: str | None) -> tuple[bytes, tuple[str, ...]]:
    """Return text as UTF-8, and notes on what was assumed.

    UTF-16 is recognised by its byte order mark; other encodings cannot be distinguished.
    """
    assumed: tuple[str, ...] = ()
    if encoding is None:
        if not data.startswith(BYTE_ORDER_MARKS):
            return data, assumed
        encoding = "utf-16"
        assumed = (f"{name} is encoded in UTF-16.",)
    try:
        return data.decode(encoding).encode(), assumed
    except UnicodeDecodeError as cause:
        line = data[: cause.start].decode(encoding, errors="replace").count("\n") + 1
        raise DataError(
            f"line {line} of {name} is not valid {encoding}; use ",
            Option("encoding"),
            " with its encoding, or save the file as UTF-8.",
        ) from None
    except (LookupError, ValueError):  # not an encoding, or lone surrogates
        raise DataError(
            Option("encoding"),
            f" is {encoding!r}, by which {name} cannot be decoded; use the name of an encoding "
            "such as 'latin-1', 'cp1252' or 'utf-16'.",
        ) from None


def without_rows(data: bytes, name: str, n_rows: int) -> bytes:
    """Return text without its first lines."""
    whole_number("skip_rows", n_rows, least=0, error=DataError)
    start = 0
    for number in range(n_rows):
        end = data.find(b"\n", start)
        if end < 0 or not data[end + 1 :].strip():
            raise DataError(
                Option("skip_rows"),
                f" is {n_rows}, but {name} has only {number + 1} lines; skip fewer.",
            )
        start = end + 1
    return data[start:]
