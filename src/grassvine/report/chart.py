"""The contents of a figure as plain data: panels of curves, bars and levels."""

from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line; curves of the same method share a style, those of the same agent a marker."""

    label: str
    x: Array
    y: Array
    style: int = 0
    marker: int = 0

    def __post_init__(self) -> None:
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.y):
            raise InputError(
                f"curve {self.label!r} has x of shape {np.shape(self.x)} and y of shape "
                f"{np.shape(self.y)}; pass two vectors of the same length."
            )


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line, such as the result of a batch method."""

    label: str
    y: float


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Curves and levels that share their axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    log_y: bool = True
    log_x: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BarGroup:
    """One bar per category, with optional error bars."""

    label: str
    heights: Array
    errors: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BarPanel:
    """Groups of bars, side by side at each category."""

    title: str
    x_label: str
    y_label: str
    categories: tuple[str, ...]
    groups: tuple[BarGroup, ...]
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.categories),)
        for group in self.groups:
            errors = group.heights if group.errors is None else group.errors
            if np.shape(group.heights) != shape or np.shape(errors) != shape:
                raise InputError(
                    f"bars {group.label!r} do not match {shape[0]} categories; "
                    "pass one height and, if any, one error per category."
                )
            if group.errors is not None and np.any(np.asarray(group.errors) < 0):
                raise InputError(
                    f"bars {group.label!r} have a negative error; pass its absolute value."
                )
