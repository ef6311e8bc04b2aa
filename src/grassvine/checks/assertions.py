"""Assertions used by the checks."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import CheckFailed


def require(condition: bool, requirement: str, details: str) -> None:
    """Raise :class:`CheckFailed` if a condition does not hold."""
    if not condition:
        raise CheckFailed(f"{requirement}: {details}.")


def require_close(
    found: Array | float, wanted: Array | float, tol: float, requirement: str
) -> None:
    """Raise :class:`CheckFailed` if two results differ by more than the relative tolerance."""
    size = max(1.0, float(np.linalg.norm(wanted)))
    error = float(np.linalg.norm(np.asarray(found) - np.asarray(wanted))) / size
    require(error <= tol, requirement, f"the two sides differ by {error:.1e}, more than {tol:.0e}")


def require_double(found: Array | float, name: str) -> None:
    """Raise :class:`CheckFailed` if all numbers are float32 numbers, as float64 ones hardly are."""
    numbers = np.asarray(found, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = np.any(numbers) and np.array_equal(numbers.astype(np.float32), numbers)
    require(
        not single,
        "a problem must compute in double precision",
        f"the {name} has the digits of float32 only, too few for this check; "
        "convert the data to float64 before computing",
    )
