"""Text in encodings other than UTF-8, and lines before the table."""

from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import whole_number

BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


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
