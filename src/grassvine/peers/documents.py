"""Checks of TOML that others wrote: sizes, keys and types, with one sentence that names the key."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grassvine.foundations.documents import parse_toml
from grassvine.foundations.errors import PlanError, unknown
from grassvine.foundations.memory import require_memory

IN_WORDS = {
    bool: "true or false",
    dict: "a table",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "text",
}
Types = Mapping[str, tuple[type, ...]]
COPIES = 30  # of a text in memory while it is parsed; 24 measured with empty tables, 7 with ids


def read_text(path: str | os.PathLike[str], max_bytes: int, what: str) -> str:
    """Return the text of a file of at most so many bytes."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise PlanError(f"{path} has more than {max_bytes} bytes, so it is not {what}.")
        require_memory(COPIES * len(data), str(path), PlanError)
        return data.decode()
    except OSError as cause:
        raise PlanError(
            f"{path} cannot be read ({cause.strerror}); give the file of {what}."
        ) from None
    except UnicodeDecodeError:
        raise PlanError(f"{path} is not text in UTF-8, so it is not {what}.") from None


def parsed(text: str, what: str) -> dict[str, Any]:
    """Return a TOML document."""
    try:
        return parse_toml(text)
    except ValueError as cause:
        reason = " ".join(str(cause).split())
        raise PlanError(
            f"{what} is not valid TOML ({reason}); use it as grassvine wrote it."
        ) from None


def check_keys(table: object, where: str, required: Types, optional: Types) -> dict[str, Any]:
    """Return a table that has the required keys, no unknown ones, and values of these types.

    ``where`` is empty or ends with a dot, and precedes the key in messages.
    """
    if not isinstance(table, dict):
        raise PlanError(
            f"{where.rstrip('.')} must be a table, not {_short(table)}; correct it there."
        )
    for key, value in table.items():
        kinds = required.get(key) or optional.get(key)
        if kinds is None:
            raise PlanError(f"{where}{key}: {unknown('key', key, (*required, *optional))}")
        if type(value) not in kinds:
            wanted = " or ".join(IN_WORDS[kind] for kind in kinds)
            raise PlanError(
                f"{where}{key} must be {wanted}, not {_short(value)}; correct it there."
            )
    if missing := sorted(required.keys() - table.keys()):
        raise PlanError(f"{where}{missing[0]} is missing; add it.")
    return dict(table)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
