"""JSON whose last entry is the sha256 of all before it: one altered byte, and it is refused.

There is one way to write a document, and a file must be written that way: what is read is written
anew and compared. So no byte is without meaning, and none can change unseen.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from grassvine.foundations.errors import ModelError, unknown

MOST_BYTES = 1 << 20
SEAL = "sha256"


def digest(document: object) -> str:
    """Return the sha256 of a document."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def seal(document: Mapping[str, Any]) -> bytes:
    """Write a document and its seal."""
    whole = {**document, SEAL: digest(document)}
    return (json.dumps(whole, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def unseal(name: str, data: bytes, *, form: str, version: int) -> dict[str, Any]:
    """Read a document of a form, of this version or an older one, and check its seal."""
    document = _parsed(name, data)
    if not isinstance(document, dict) or document.get("format") != form:
        raise ModelError(f"{name} was not written by grassvine; give the folder of a saved model.")
    written = document.get("version")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise ModelError(f"{name} names no version of its format; it was altered. Save it again.")
    if written > version:
        raise ModelError(
            f"{name} was written by a newer grassvine (format {written}, this one reads up to "
            f"{version}); install the newer one."
        )
    document.pop(SEAL, None)
    if not _intact(document, data):
        raise ModelError(
            f"{name} is not what was saved: its checksum differs, so it was altered. "
            "Save the model again."
        )
    return document


def check_keys(where: str, given: object, wanted: set[str]) -> dict[str, Any]:
    """Return a mapping that has these keys and no others."""
    if not isinstance(given, dict):
        raise ModelError(f"{where} is no table of names and values; save the model again.")
    for key in given:
        if key not in wanted:
            raise ModelError(f"in {where}: {unknown('entry', key, wanted)}")
    if missing := sorted(wanted - given.keys()):
        raise ModelError(f"{where} lacks {', '.join(missing)}; save the model again.")
    return given


def _intact(document: Mapping[str, Any], data: bytes) -> bool:
    try:
        return seal(document) == data
    except (ValueError, RecursionError):  # numbers or depths that we never write
        return False


def _parsed(name: str, data: bytes) -> object:
    try:
        return json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as cause:
        raise ModelError(
            f"{name} is no JSON ({cause}); it is truncated, altered or of another kind."
        ) from None


def _refuse(constant: str) -> object:
    raise ValueError(f"it holds {constant}")
