"""Validation of numeric options."""

import math
import numbers
from collections.abc import Iterable

from grassvine.foundations.errors import InputError, Option, PlanError, nearest, unknown


def whole_number(
    name: str,
    value: object,
    *,
    least: int,
    most: int | None = None,
    why: str = "",
    error: type[InputError] = PlanError,
) -> int:
    """Return ``value`` as an int within [least, most]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise error(Option(name), f" must be an integer, not {value!r}; pass an int.")
    number = int(value)
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    if number < least or (most is not None and number > most):
        reason = why and f", but {why}"
        raise error(Option(name), f" is {number}{reason}; choose a number {bounds}.")
    return number


def real_number(
    name: str,
    value: object,
    *,
    least: float = -math.inf,
    below: float = math.inf,
    error: type[InputError] = PlanError,
) -> float:
    """Return ``value`` as a finite float within [least, below)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise error(Option(name), f" must be a number, not {value!r}; pass a float.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not least <= number < below:
        lower = "" if math.isinf(least) else f" of at least {least:g}"
        upper = "" if math.isinf(below) else f"{lower and ' and'} below {below:g}"
        raise error(Option(name), f" is {number:g}; choose a finite number{lower}{upper}.")
    return number


def rank_within(rank: object, n_items: int, *, error: type[InputError] = PlanError) -> int:
    """Return ``rank`` as an int from 1 to the number of items."""
    why = f"a subspace of {n_items} items has between 1 and {n_items} dimensions"
    return whole_number("rank", rank, least=1, most=n_items, why=why, error=error)


def one_of(what: str, given: object, known: Iterable[str]) -> str:
    """Return a name that is among the known ones."""
    names = tuple(known)
    if not isinstance(given, str) or given not in names:
        raise PlanError(unknown(what, given, names))
    return given


def choice(
    name: str, given: object, known: Iterable[str], *, error: type[InputError] = PlanError
) -> str:
    """Return the value of an option that is among the known ones."""
    names = tuple(known)
    if not isinstance(given, str) or given not in names:
        raise error(Option(name), f" is {given!r}; {nearest(given, names)}")
    return given
