import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.foundations.errors import BasisError
from grassvine.geometry import Geometry

GEOMETRIES = [gv.geometry.Grassmann(), gv.geometry.Euclidean()]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@given(n_items=st.integers(2, 40), seed=st.integers(0, 2**32), data=st.data())
def test_a_geometry_keeps_its_laws_at_any_size(
    geometry: Geometry, n_items: int, seed: int, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(1, n_items))
    gv.checks.check_geometry(geometry, n_items, rank, seed=seed)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_every_operation_leaves_its_input_alone(geometry: Geometry) -> None:
    rng = np.random.default_rng(0)
    point = geometry.random_point(12, 3, rng)
    other = geometry.random_point(12, 3, rng)
    point.flags.writeable = other.flags.writeable = False
    tangent = geometry.log(point, other)
    tangent.flags.writeable = False
    geometry.project(point, other)
    geometry.exp(point, tangent)
    geometry.transport(other, tangent)
    geometry.hessian(point, other, tangent, tangent)
    geometry.mean([point, other])


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.full((6, 2), np.nan), "contains nan at row 0, column 0; every entry must be finite"),
        (np.ones(6), r"has shape \(6,\), not 6×2; pass a 2-d array"),
        (np.ones((2, 6)), "has shape 2×6, not 6×2; pass one row per item"),
        ([["a", "b"]], "cannot be converted to real numbers"),
    ],
)
def test_validation_refuses_what_is_no_point(
    geometry: Geometry, value: object, message: str
) -> None:
    with pytest.raises(BasisError, match=message):
        geometry.as_point(value, n_items=6, rank=2)  # type: ignore[arg-type]
