"""Short descriptions of large objects: ``repr`` in one line; in notebooks a table and a picture."""

from collections.abc import Mapping
from html import escape


class Described:
    """Mixin for objects that describe themselves by a few facts instead of all their arrays."""

    __slots__ = ()

    def _facts(self) -> Mapping[str, object]:
        """Return the facts by name, in the order in which they are shown."""
        raise NotImplementedError

    def _picture(self) -> str:
        """Return a small picture as SVG, or nothing."""
        return ""

    def __repr__(self) -> str:
        """Return the class name and the facts."""
        facts = ", ".join(f"{name}={_short(value)}" for name, value in self._facts().items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        """Return the facts as an HTML table, and the picture below it."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name.replace('_', ' '))}</th>"
            f"<td style='text-align:left'>{escape(_short(value))}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>{self._picture()}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def size_in_words(n_bytes: int) -> str:
    """Return a number of bytes with a decimal prefix."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} B"
