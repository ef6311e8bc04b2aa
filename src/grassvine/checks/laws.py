"""How a check says that a law is broken."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import CheckFailed


def require(holds: bool, law: str, evidence: str) -> None:
    """Raise where a law does not hold."""
    if not holds:
        raise CheckFailed(f"{law}: {evidence}.")


def require_close(found: Array | float, wanted: Array | float, tol: float, law: str) -> None:
    """Raise where two results differ by more than the tolerance, relative to their size."""
    size = max(1.0, float(np.linalg.norm(wanted)))
    gap = float(np.linalg.norm(np.asarray(found) - np.asarray(wanted))) / size
    require(gap <= tol, law, f"the two sides differ by {gap:.1e}, more than {tol:.0e}")
