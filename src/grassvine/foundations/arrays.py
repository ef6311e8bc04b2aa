"""Validation of matrices: float64, C-ordered, aligned, finite and, for a basis, orthonormal.

Sums and products of the same numbers can differ in their last bits between C and Fortran order and
between aligned and misaligned memory, so all arrays are converted to one layout on input.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.foundations.errors import BasisError, DataError, InputError

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32] | Indices
Words: TypeAlias = NDArray[np.uint64]  # integers modulo 2^64

# ‖UᵀU − I‖ is about 1e-15 after Exp of a unit tangent, and 1e-7 for a basis stored as float32.
ORTHONORMALITY_TOL = 1e-10
# Methods multiply up to six numbers of the data, and a double reaches to 1e308.
MAX_SIZE = 1e50


def as_numbers(value: ArrayLike, *, name: str, error: type[InputError]) -> Array:
    """Return ``value`` as an aligned, C-ordered float64 array.

    The input is never modified, and copied only if its type or layout differs.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return value
    if isinstance(value, np.ma.MaskedArray):
        raise error(f"{name} is a masked array; drop the masked entries and pass the rest.")
    try:
        plain = np.asarray(value)  # np.require alone would return a numpy.matrix
        numbers = np.require(plain.real, dtype=np.float64, requirements=["C", "ALIGNED"])
    except (TypeError, ValueError) as cause:
        raise error(f"{name} cannot be converted to real numbers ({cause}); pass floats.") from None
    if np.iscomplexobj(plain):
        raise error(f"{name} contains complex numbers; pass real ones.")
    return numbers


def as_matrix(
    value: ArrayLike,
    *,
    n_items: int | None = None,
    rank: int | None = None,
    name: str = "matrix",
    error: type[InputError] = BasisError,
    allow_empty: bool = False,
) -> Array:
    """Return ``value`` as a finite, aligned, C-ordered items×rank matrix.

    Rank 0 is refused unless ``allow_empty``.
    """
    matrix = as_numbers(value, name=name, error=error)
    wanted = f"{'items' if n_items is None else n_items}×{'rank' if rank is None else rank}"
    if matrix.ndim != 2 or (matrix.shape[1] == 0 and not allow_empty):
        raise error(f"{name} has shape {matrix.shape}, not {wanted}; pass a 2-d array.")
    if n_items not in (None, matrix.shape[0]) or rank not in (None, matrix.shape[1]):
        raise error(
            f"{name} has shape {matrix.shape[0]}×{matrix.shape[1]}, not {wanted}; "
            "pass one row per item and one column per dimension."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise error(
            f"{name} contains {matrix[row, column]} at row {row}, column {column}; "
            "every entry must be finite."
        )
    return matrix


def as_basis(
    value: ArrayLike,
    *,
    n_items: int | None = None,
    rank: int | None = None,
    name: str = "basis",
    error: type[InputError] = BasisError,
) -> Array:
    """Return ``value`` as a matrix U with UᵀU = I, or raise ``error``."""
    basis = as_matrix(value, n_items=n_items, rank=rank, name=name, error=error, allow_empty=True)
    if basis.shape[1] > basis.shape[0]:
        raise error(
            f"{name} has {basis.shape[1]} columns but only {basis.shape[0]} rows; "
            "the rank cannot exceed the number of items."
        )
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers are rejected below
        defect = basis.T @ basis - np.eye(basis.shape[1])
        distance = float(np.sqrt(np.sum(defect * defect)))
    if not distance <= ORTHONORMALITY_TOL:
        if not basis.any():
            raise error(f"{name} is all zeros and spans no subspace; pass orthonormal columns.")
        raise error(
            f"the columns of {name} are not orthonormal (‖UᵀU − I‖ = {distance:.1e}, must be at "
            f"most {ORTHONORMALITY_TOL:g}); orthonormalise them, for example with numpy.linalg.qr."
        )
    return basis


def refuse_huge(values: Array, what: str) -> bool:
    """Refuse finite data whose products would overflow; return whether others are NaN."""
    # Without an array as large as the values; fmax and fmin pass over NaN, and take longer.
    largest, least = np.max(values, initial=0.0), np.min(values, initial=0.0)
    missing = bool(np.isnan(largest))
    if missing:
        largest, least = (over.reduce(values, None, initial=0.0) for over in (np.fmax, np.fmin))
    if max(largest, -least) > MAX_SIZE:
        huge = np.abs(values) > MAX_SIZE
        raise DataError(
            f"the {what} contain {values[huge][0]:g}, which is above {MAX_SIZE:g} in absolute "
            "value; correct it, or rescale them."
        )
    return missing
