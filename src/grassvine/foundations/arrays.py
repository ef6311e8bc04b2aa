"""The one gate through which matrices enter: float64, C-order, aligned, finite, orthonormal.

Bits depend on layout: sums and products of the same numbers differ between C and Fortran order
and between aligned and misaligned memory. Everything behind the gate has one layout.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.foundations.errors import BasisError, InputError

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

# An exponential of a unit tangent leaves ‖UᵀU − I‖ near 1e-15; a basis stored as float32 near 1e-7.
ORTHONORMAL_TO = 1e-10


def as_numbers(value: ArrayLike, *, name: str, error: type[InputError]) -> Array:
    """Return ``value`` as real numbers of the library's one layout.

    The value itself is never changed; it is copied only where its layout differs.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise error(f"{name} is a masked array; leave the masked entries out and give the rest.")
    try:
        plain = np.asarray(value)  # require alone would let a numpy.matrix through
        numbers = np.require(plain.real, dtype=np.float64, requirements=["C", "ALIGNED"])
    except (TypeError, ValueError) as cause:
        raise error(f"{name} does not consist of real numbers ({cause}); give floats.") from None
    if np.iscomplexobj(plain):
        raise error(f"{name} holds complex numbers; give real ones.")
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
    """Return ``value`` as a finite items×rank matrix of the library's one layout.

    Rank 0 is refused unless ``allow_empty``.
    """
    matrix = as_numbers(value, name=name, error=error)
    wanted = f"{'items' if n_items is None else n_items}×{'rank' if rank is None else rank}"
    if matrix.ndim != 2 or (matrix.shape[1] == 0 and not allow_empty):
        raise error(f"{name} has shape {matrix.shape}, not {wanted}; give a 2-d array.")
    if n_items not in (None, matrix.shape[0]) or rank not in (None, matrix.shape[1]):
        raise error(
            f"{name} has shape {matrix.shape[0]}×{matrix.shape[1]}, not {wanted}; "
            "one row an item, one column a dimension."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise error(
            f"{name} holds {matrix[row, column]} at row {row}, column {column}; "
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
    """Return ``value`` as a matrix U with UᵀU = I, or say what is wrong with it."""
    basis = as_matrix(value, n_items=n_items, rank=rank, name=name, error=error, allow_empty=True)
    if basis.shape[1] > basis.shape[0]:
        raise error(
            f"{name} has {basis.shape[1]} columns but only {basis.shape[0]} rows; "
            "the rank is at most the number of items."
        )
    with np.errstate(over="ignore", invalid="ignore"):  # of huge numbers; they are refused below
        defect = basis.T @ basis - np.eye(basis.shape[1])
        distance = float(np.sqrt(np.sum(defect * defect)))
    if not distance <= ORTHONORMAL_TO:
        if not basis.any():
            raise error(f"{name} is all zero and spans nothing; give orthonormal columns.")
        raise error(
            f"the columns of {name} are not orthonormal (‖UᵀU − I‖ = {distance:.1e}, at most "
            f"{ORTHONORMAL_TO:g}); orthonormalise it, for instance with numpy.linalg.qr."
        )
    return basis
