"""Jobs read from a run folder: every option has the type that the job declares."""

import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from grassvine.foundations.errors import DataError, InputError, unknown

WRITTEN = "use a folder written by --run."
INT64 = range(-(2**63), 2**63)


def job_from(kind: type, options: Mapping[str, Any], where: str) -> Any:
    """Build a job from untrusted options; ``where`` names their file in errors."""
    wanted = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    for name, value in options.items():
        if name not in known:
            raise DataError(f"{where}: {unknown('option', name, known)}")
        if not _fits(value, wanted[name]):
            raise DataError(f"{where} was modified: {name} is {_shown(value)}; {WRITTEN}")
    try:
        return kind(**options)
    except InputError as cause:
        raise DataError(f"{where}: ", *cause.args) from None
    except TypeError as cause:  # an option is missing
        raise DataError(f"{where} was modified ({cause}); {WRITTEN}") from None


def is_plain_text(value: object) -> bool:
    """Return whether a value is text without control characters, which a terminal would obey."""
    return isinstance(value, str) and value.replace("\t", "").isprintable()


def _fits(value: object, wanted: Any) -> bool:
    """Return whether a value from JSON has a type of the options of jobs."""
    if get_origin(wanted) is Literal:
        return isinstance(value, str) and value in get_args(wanted)
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(wanted))
    if wanted is str:
        return is_plain_text(value)
    if wanted is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if wanted is int:
        return type(value) is int and value in INT64
    return wanted in (bool, NoneType) and type(value) is wanted


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
