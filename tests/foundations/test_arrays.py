from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_basis, as_matrix
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.seeds import stream


def orthonormal(n_items: int, rank: int, seed: int = 0) -> Array:
    gaussian = stream(seed, "test", "basis").standard_normal((n_items, rank))
    return np.ascontiguousarray(np.linalg.qr(gaussian)[0])


def read_only(value: Array) -> Array:
    value = value.copy()
    value.flags.writeable = False
    return value


def misaligned(value: Array) -> Array:
    shifted = np.frombuffer(b"\0" + value.tobytes(), dtype=np.float64, offset=1)
    return shifted.reshape(value.shape)


BASIS = orthonormal(6, 2)
VALIDATORS = [as_matrix, as_basis]
LAYOUTS: dict[str, Callable[[Array], ArrayLike]] = {
    "read-only": read_only,
    "big-endian": lambda a: a.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "misaligned": misaligned,
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("validate", VALIDATORS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_enters_with_the_same_bits_and_is_left_as_it_was(
    layout: Callable[[Array], ArrayLike], validate: Callable[[ArrayLike], Array]
) -> None:
    value = layout(BASIS)
    entered = validate(value)
    assert entered.tobytes() == BASIS.tobytes()
    assert entered.flags.c_contiguous and entered.flags.aligned and entered.dtype.isnative
    assert np.array_equal(np.asarray(value), BASIS)


@pytest.mark.parametrize("validate", VALIDATORS)
def test_a_value_of_the_right_layout_is_not_copied(validate: Callable[[ArrayLike], Array]) -> None:
    assert np.shares_memory(validate(BASIS), BASIS)


def test_single_precision_is_widened() -> None:
    single = BASIS.astype(np.float32)
    assert np.array_equal(as_matrix(single), single.astype(np.float64))


def test_integers_are_a_basis_where_they_are_orthonormal() -> None:
    assert as_basis([[0, 1], [1, 0], [0, 0]]).dtype == np.float64


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 1000))
def test_every_orthonormal_matrix_is_a_basis(rows: int, columns: int, seed: int) -> None:
    basis = orthonormal(max(rows, columns), min(rows, columns), seed)
    assert np.array_equal(as_basis(basis, n_items=len(basis), rank=basis.shape[1]), basis)


# (1 + x)U has ‖UᵀU − I‖ = (2x + x²)√2: 2.8e-11 for x = 1e-11 and 2.8e-10 for x = 1e-10, either
# side of the tolerance 1e-10.
def test_rounding_is_within_the_tolerance() -> None:
    assert as_basis(BASIS * (1 + 1e-11)).shape == (6, 2)


def test_more_than_rounding_is_outside_the_tolerance() -> None:
    with pytest.raises(BasisError, match=r"‖UᵀU − I‖ = 2\.8e-10, must be at most 1e-10"):
        as_basis(BASIS * (1 + 1e-10))


MATRIX_REFUSALS: list[tuple[Any, dict[str, int], str]] = [
    (
        [[1.0, 0.0], [0.0, np.nan]],
        {},
        "contains nan at row 1, column 1; every entry must be finite",
    ),
    ([[1.0, -np.inf]], {}, "contains -inf at row 0, column 1; every entry must be finite"),
    ([["a", "b"]], {}, "cannot be converted to real numbers .*'a'.*; pass floats"),
    ([[1.0, 2.0], [3.0]], {}, "cannot be converted to real numbers .*; pass floats"),
    (np.eye(2) * 1j, {}, "contains complex numbers; pass real ones"),
    (np.ma.masked_invalid([[1.0, np.nan]]), {}, "is a masked array; drop the masked entries"),
    (np.ones(6), {}, r"has shape \(6,\), not items×rank; pass a 2-d array"),
    (np.ones((2, 2, 2)), {}, r"has shape \(2, 2, 2\), not items×rank; pass a 2-d array"),
    (
        BASIS,
        {"n_items": 5},
        "has shape 6×2, not 5×rank; pass one row per item and one column per dim",
    ),
    (
        BASIS,
        {"rank": 3},
        "has shape 6×2, not items×3; pass one row per item and one column per dim",
    ),
    (BASIS.T, {"n_items": 6, "rank": 2}, "has shape 2×6, not 6×2"),
]


@pytest.mark.parametrize("validate", VALIDATORS)
@pytest.mark.parametrize(("value", "wanted", "message"), MATRIX_REFUSALS)
def test_what_is_no_matrix_is_refused(
    value: Any, wanted: dict[str, int], message: str, validate: Callable[..., Array]
) -> None:
    with pytest.raises(BasisError, match=message):
        validate(value, **wanted)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((3, 2)), "all zeros and spans no subspace; pass orthonormal columns"),
        (
            2 * BASIS,
            "columns of basis are not orthonormal .*; orthonormalise them.*numpy.linalg.qr",
        ),
        (BASIS[:, [0, 0]], "columns of basis are not orthonormal"),
        (BASIS.astype(np.float32), "columns of basis are not orthonormal"),
        (np.eye(2, 3), "3 columns but only 2 rows; the rank cannot exceed the number of items"),
    ],
)
def test_a_matrix_that_is_no_basis_is_refused(value: Array, message: str) -> None:
    with pytest.raises(BasisError, match=message):
        as_basis(value)


def test_a_subspace_may_have_rank_0_and_other_matrices_if_they_are_allowed_to() -> None:
    empty = np.ones((6, 0))
    assert as_basis(empty, n_items=6).shape == as_matrix(empty, allow_empty=True).shape == (6, 0)
    with pytest.raises(BasisError, match=r"has shape \(6, 0\), not 6×rank"):
        as_matrix(empty, n_items=6)


@pytest.mark.parametrize("validate", VALIDATORS)
def test_an_error_has_the_given_name_and_class(validate: Callable[..., Array]) -> None:
    with pytest.raises(DataError, match=r"^the start of agent 3 has shape"):
        validate(np.ones(2), name="the start of agent 3", error=DataError)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_numpy_matrix_becomes_a_plain_array() -> None:
    assert type(as_basis(np.asmatrix(BASIS))) is np.ndarray


def test_huge_numbers_are_refused_without_a_warning() -> None:
    with pytest.raises(BasisError, match="not orthonormal"):
        as_basis(1e200 * np.eye(3))
