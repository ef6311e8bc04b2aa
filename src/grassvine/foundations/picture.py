"""Small static pictures for notebooks, as SVG: a curve or bars, in the colour of the text around.

They need no library, no script and no network, and follow light and dark themes.
"""

import math
from collections.abc import Sequence
from html import escape

from numpy.typing import ArrayLike

WIDTH, HEIGHT = 320, 130
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 24, 22
MAX_POINTS = 200
MAX_BARS = 60
DECADES = 1.3  # the range from which heights are drawn on a logarithmic scale


def curve(x: ArrayLike, y: ArrayLike, *, of: str, against: str) -> str:
    """Return a curve; points that are not finite are left out, and without two there is none."""
    pairs = [
        (float(one), float(other))
        for one, other in zip(_listed(x), _listed(y), strict=True)
        if math.isfinite(one) and math.isfinite(other)
    ]
    pairs = [*pairs[: -1 : max(1, len(pairs) // MAX_POINTS)], *pairs[-1:]]
    if len(pairs) < 2:
        return ""
    heights, logarithmic = _heights([height for _, height in pairs])
    first, last = pairs[0][0], pairs[-1][0]
    points = " ".join(
        f"{LEFT + _share(at, first, last) * (WIDTH - LEFT - RIGHT):.1f},{_level(height):.1f}"
        for (at, _), height in zip(pairs, heights, strict=True)
    )
    drawn = f'<polyline points="{points}" fill="none" stroke="#2f81c4" stroke-width="2"/>'
    title = f"{of}: {pairs[0][1]:.4g} to {pairs[-1][1]:.4g}{' (log)' if logarithmic else ''}"
    return _framed(drawn, title, f"{first:g}", against, f"{last:g}")


def bars(values: ArrayLike, *, of: str, each: str) -> str:
    """Return bars of non-negative values, the first ones if there are many."""
    numbers = [float(value) for value in _listed(values)]
    shown = [value if math.isfinite(value) else 0.0 for value in numbers[:MAX_BARS]]
    if not shown or max(shown) <= 0.0:
        return ""
    step = (WIDTH - LEFT - RIGHT) / len(shown)
    drawn = "".join(
        f'<rect x="{LEFT + step * place + 0.1 * step:.1f}" y="{_level(value / max(shown)):.1f}" '
        f'width="{0.8 * step:.1f}" height="{_level(0.0) - _level(value / max(shown)):.1f}" '
        'fill="#2f81c4"/>'
        for place, value in enumerate(shown)
    )
    title = f"{of}: {max(shown):.4g} to {min(shown):.4g}"
    return _framed(drawn, title, "1", each, str(len(shown)))


def _framed(drawn: str, title: str, first: str, name: str, last: str) -> str:
    """Return a picture with its title above, and the axis below."""
    base, middle, below = _level(0.0), WIDTH / 2, HEIGHT - 7
    words = 'font-size="11" font-family="sans-serif" fill="currentColor"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<text x="{LEFT}" y="14" {words}>{escape(title)}</text>{drawn}'
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="currentColor"/>'
        f'<text x="{LEFT}" y="{below}" {words}>{escape(first)}</text>'
        f'<text x="{middle}" y="{below}" text-anchor="middle" {words}>{escape(name)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{below}" text-anchor="end" {words}>{escape(last)}</text>'
        "</svg>"
    )


def _heights(values: Sequence[float]) -> tuple[list[float], bool]:
    """Return heights between 0 and 1, and whether their scale is logarithmic."""
    low, high = min(values), max(values)
    logarithmic = low > 0.0 and math.log10(high / low) > DECADES
    if logarithmic:
        values, low, high = [math.log(one) for one in values], math.log(low), math.log(high)
    return [_share(value, low, high) for value in values], logarithmic


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _level(height: float) -> float:
    return HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM)


def _listed(values: ArrayLike) -> Sequence[float]:
    import numpy as np

    found: list[float] = np.asarray(values, dtype=np.float64).ravel().tolist()
    return found
