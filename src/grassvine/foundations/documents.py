"""Parsers for untrusted JSON and TOML; whatever is wrong is a ValueError."""

import json
import math
import tomllib
from typing import Any


class RepeatedKey(ValueError):
    """An object has two values for one key."""

    def __init__(self, key: str):
        super().__init__(f"the key {key[:40]!r} occurs twice in one object")
        self.key = key


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; repeated keys, deep nesting, lone surrogates and too large numbers are errors.

    NaN and Infinity, which Python writes, are read; 1e999 is not, because it would become infinity.
    """
    # json.loads would decode bytes leniently.
    decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    try:
        document = json.loads(decoded, parse_float=_finite, object_pairs_hook=_unique)
    except (RecursionError, ValueError) as cause:
        raise _explained(cause) from None
    if "\\u" in decoded:  # only an escape such as \\ud800 yields half a surrogate pair
        _refuse_surrogates(document)
    return document


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; nesting too deep is an error, and tomllib refuses surrogates itself."""
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as cause:
        raise _explained(cause) from None


def _explained(cause: Exception) -> Exception:
    """Return an error in words about the document, not about Python."""
    if isinstance(cause, RecursionError):
        return ValueError("it is nested too deeply")
    if "set_int_max_str_digits" in str(cause):
        return ValueError("an integer has thousands of digits")
    return cause


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKey(key)
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a float")
    return number


def _refuse_surrogates(value: object) -> None:
    """Raise ValueError if a text has half a surrogate pair: it cannot be shown or saved."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            pending += one
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{one[:40]!a} contains half a surrogate pair") from None
