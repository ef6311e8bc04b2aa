"""Assertions used by the checks."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import CheckFailed


def require(condition: bool, law: str, details: str) -> None:
    """Raise :class:`CheckFailed` if a condition does not hold."""
    if not condition:
        raise CheckFailed(f"{law}: {details}.")


def require_close(found: Array | float, wanted: Array | float, tol: float, law: str) -> None:
    """Raise :class:`CheckFailed` if two results differ by more than the relative tolerance."""
    size = max(1.0, float(np.linalg.norm(wanted)))
    error = float(np.linalg.norm(np.asarray(found) - np.asarray(wanted))) / size
    require(error <= tol, law, f"the two sides differ by {error:.1e}, more than {tol:.0e}")
