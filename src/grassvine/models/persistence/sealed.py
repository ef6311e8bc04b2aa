"""JSON documents that end with the SHA-256 of all other entries.

Each document has one canonical encoding. A document that is read is encoded again and compared, so
a change of any byte is detected.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from grassvine.foundations.errors import ModelError, unknown

MAX_BYTES = 1 << 20
CHECKSUM = "sha256"


def digest(document: object) -> str:
    """Return the SHA-256 of a document."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def seal(document: Mapping[str, Any]) -> bytes:
    """Encode a document with its checksum."""
    whole = {**document, CHECKSUM: digest(document)}
    return (json.dumps(whole, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def unseal(name: str, data: bytes, *, form: str, version: int) -> dict[str, Any]:
    """Decode a document of a format, up to the given version, and verify its checksum."""
    document = _parsed(name, data)
    if not isinstance(document, dict) or document.get("format") != form:
        raise ModelError(f"{name} was not written by grassvine; pass the folder of a saved model.")
    written = document.get("version")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise ModelError(f"{name} has no valid format version; save the model again.")
    if written > version:
        raise ModelError(
            f"{name} was written by a newer grassvine (format {written}, this version reads up "
            f"to {version}); upgrade grassvine."
        )
    document.pop(CHECKSUM, None)
    if not _intact(document, data):
        raise ModelError(
            f"{name} was modified after it was saved: its checksum differs; save the model again."
        )
    return document


def check_keys(where: str, given: object, wanted: set[str]) -> dict[str, Any]:
    """Return a mapping after checking that it has exactly the wanted keys."""
    if not isinstance(given, dict):
        raise ModelError(f"{where} is not a JSON object; save the model again.")
    for key in given:
        if key not in wanted:
            raise ModelError(f"in {where}: {unknown('entry', key, wanted)}")
    if missing := sorted(wanted - given.keys()):
        raise ModelError(f"{where} is missing {', '.join(missing)}; save the model again.")
    return given


def _intact(document: Mapping[str, Any], data: bytes) -> bool:
    try:
        return seal(document) == data
    except (ValueError, RecursionError):  # numbers or nesting that ``seal`` never writes
        return False


def _parsed(name: str, data: bytes) -> object:
    try:
        return json.loads(data.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as cause:
        raise ModelError(f"{name} is not valid JSON ({cause}); save the model again.") from None


def _reject_constant(constant: str) -> object:
    raise ValueError(f"it contains {constant}")
