"""Where a warning should point: at the code that called this package."""

import sys

# scikit-learn wraps the ``fit`` of estimators.
INSIDE = ("grassvine", "sklearn")


def stack_level() -> int:
    """Return the ``stacklevel`` for ``warnings.warn`` of the code that called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    return level
