"""What people want to know of a model besides the model; all of it travels with the shared part."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from grassvine.foundations.errors import ModelError

HEX = frozenset("0123456789abcdef")
LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Card:
    """A title, how the model was made, how good it is, and from which data.

    Parameters
    ----------
    title : str, optional
    parameters : mapping
        How it was made: names and plain values.
    metrics : mapping
        How good it is: names and finite numbers.
    data_hash : str, optional
        The sha256 of the data, in hexadecimal digits.
    """

    title: str | None = None
    parameters: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    data_hash: str | None = None

    def __post_init__(self) -> None:
        """Check that it can be written down."""
        if not (self.title is None or isinstance(self.title, str)):
            raise ModelError(f"the title is {self.title!r}; give text.")
        for what in ("parameters", "metrics"):
            object.__setattr__(self, what, _plain(what, getattr(self, what)))
        for name, value in self.parameters.items():
            if not (value is None or isinstance(value, str) or _is_number(value)):
                raise ModelError(
                    f"the parameter {name!r} is {value!r}; give text or a finite number."
                )
        for name, value in self.metrics.items():
            if not _is_number(value):
                raise ModelError(f"the metric {name!r} is {value!r}; give a finite number.")
        given: object = self.data_hash
        is_hash = isinstance(given, str) and len(given) == 64 and set(given) <= HEX
        if given is not None and not is_hash:
            raise ModelError(f"the data hash is {given!r}; give the 64 digits of a sha256.")


def _plain(what: str, given: object) -> dict[str, object]:
    """Return a copy in Python's own numbers."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ModelError(f"{what} are {given!r}; give names and values.")
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        return -LARGEST <= value < LARGEST
    return isinstance(value, float) and math.isfinite(value)
