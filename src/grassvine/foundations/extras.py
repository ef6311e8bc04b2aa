"""Import optional dependencies."""

import importlib
from types import ModuleType

from grassvine.foundations.errors import MissingExtra


def load_extra(module: str, wanted_for: str, extra: str) -> ModuleType:
    """Import an optional module, or raise :class:`MissingExtra` if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(wanted_for, extra) from None
