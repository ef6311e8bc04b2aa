"""What a figure shows, as plain data: curves, bars and levels in panels."""

from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line; curves of one method share the style, curves of one agent the marker."""

    label: str
    x: Array
    y: Array
    style: int = 0
    marker: int = 0

    def __post_init__(self) -> None:
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.y):
            raise InputError(
                f"curve {self.label!r} has x of shape {np.shape(self.x)} and y of shape "
                f"{np.shape(self.y)}; give two vectors of one length."
            )


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line, such as the result of a batch method."""

    label: str
    y: float


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Curves and levels over a common axis."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    log_y: bool = True
    log_x: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BarGroup:
    """One bar a category, with an error bar where errors are given."""

    label: str
    heights: Array
    errors: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BarPanel:
    """Groups of bars side by side at common categories."""

    title: str
    x_label: str
    y_label: str
    categories: tuple[str, ...]
    groups: tuple[BarGroup, ...]
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        wanted = (len(self.categories),)
        for group in self.groups:
            errors = group.heights if group.errors is None else group.errors
            if np.shape(group.heights) != wanted or np.shape(errors) != wanted:
                raise InputError(
                    f"bars {group.label!r} do not fit {wanted[0]} categories; "
                    "give one height, and one error if any, a category."
                )
            if group.errors is not None and np.any(np.asarray(group.errors) < 0):
                raise InputError(f"bars {group.label!r} have a negative error; give its size.")
