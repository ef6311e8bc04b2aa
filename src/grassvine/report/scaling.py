"""Logarithmic axes, and thinning of curves with many points."""

from math import ceil, floor, log10
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array

MAX_POINTS = 400


def thin(y: Array, most: int = MAX_POINTS) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return indices that preserve the shape of a curve: its ends, local extrema and gaps."""
    if len(y) <= most:
        return np.arange(len(y))
    kept = {0, len(y) - 1}
    for section in np.array_split(np.arange(len(y)), most // 2):
        finite = np.isfinite(y[section])
        kept.update(section[~finite][:1].tolist())
        if finite.any():
            known = section[finite]
            kept.update((int(known[np.argmin(y[known])]), int(known[np.argmax(y[known])])))
    finite = np.flatnonzero(np.isfinite(y))
    kept.update(finite[:1].tolist() + finite[-1:].tolist())
    return np.array(sorted(kept))


def scale_by_decades(axis: Any, values: Array) -> None:
    """Make an axis logarithmic, with limits and ticks chosen for positive values."""
    limits, ticks, labels, minor = log_axis(values)
    axis.axes.set(
        **{f"{axis.axis_name}lim": limits}
    )  # before the scale, which would choose its own
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_ticks(ticks, labels)
    axis.set_ticks(minor, [""] * len(minor), minor=True)
    axis.grid(which="minor", color="#ececec", linewidth=0.4)


def log_axis(values: Array) -> tuple[tuple[float, float], Array, list[str], Array]:
    """Return limits, ticks, tick labels and minor ticks for positive values."""
    low, high = (log10(value) for value in (values.min(), values.max()))
    margin = max(0.04 * (high - low), (1 - (high - low)) / 2)
    low, high = max(low - margin, -307.0), min(high + margin, 308.0)
    decades = np.arange(floor(low), ceil(high) + 1)
    fine = np.outer(10.0 ** decades[:-1], np.arange(1, 10)).ravel()
    stride = ceil((high - low) / 8)
    if high - low <= 2:
        ticks, minor = np.outer(10.0 ** decades[:-1], (1, 2, 5)).ravel(), fine
        labels = [f"{tick:g}" for tick in ticks]
    else:
        powers = decades[decades % stride == 0]
        ticks, minor = 10.0**powers, fine if stride == 1 else 10.0**decades
        labels = [f"10{_superscript(int(power))}" for power in powers]
    limits = (10.0**low, 10.0**high)
    shown = (ticks >= limits[0]) & (ticks <= limits[1])
    labels = [label for label, inside in zip(labels, shown, strict=True) if inside]
    return limits, ticks[shown], labels, minor[(minor >= limits[0]) & (minor <= limits[1])]


def _superscript(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
