"""Model cards: metadata saved with the shared part of a model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from grassvine.foundations.errors import ModelError

HEX = frozenset("0123456789abcdef")
INT64_END = 2**63


@dataclass(frozen=True, slots=True)
class Card:
    """Metadata of a model: title, parameters, metrics and data hash.

    Parameters
    ----------
    title : str, optional
    parameters : mapping of str to str, int, float, bool or None
        How the model was fitted.
    metrics : mapping of str to float
        Finite quality measures, such as errors.
    data_hash : str, optional
        SHA-256 of the data, in hexadecimal digits.

    Examples
    --------
    >>> from grassvine.models import Card
    >>> card = Card(title="Films of three shops", metrics={"test RMSE": 0.86})
    >>> card.metrics["test RMSE"]
    0.86
    """

    title: str | None = None
    parameters: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    data_hash: str | None = None

    def __post_init__(self) -> None:
        """Check that the card can be saved."""
        if not (self.title is None or isinstance(self.title, str)):
            raise ModelError(f"the title is {self.title!r}; pass a string.")
        for what in ("parameters", "metrics"):
            object.__setattr__(self, what, _plain(what, getattr(self, what)))
        for name, value in self.parameters.items():
            if not (value is None or isinstance(value, str) or _is_number(value)):
                raise ModelError(
                    f"the parameter {name!r} is {value!r}; pass a string or a finite number."
                )
        for name, value in self.metrics.items():
            if not _is_number(value):
                raise ModelError(f"the metric {name!r} is {value!r}; pass a finite number.")
        given: object = self.data_hash
        is_hash = isinstance(given, str) and len(given) == 64 and set(given) <= HEX
        if given is not None and not is_hash:
            raise ModelError(
                f"the data hash is {given!r}; pass the 64 hexadecimal digits of a SHA-256."
            )


def _plain(what: str, given: object) -> dict[str, object]:
    """Return a copy with NumPy scalars converted to Python numbers."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ModelError(f"{what} are {given!r}; pass a mapping from names to values.")
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        return -INT64_END <= value < INT64_END
    return isinstance(value, float) and math.isfinite(value)
