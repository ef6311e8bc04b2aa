from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.models.model_samples import N_ITEMS, RANK, subspace_model
from tests.samples import samples

from grassvine.foundations.errors import BasisError, DataError


def test_what_is_transformed_comes_back_as_its_projection() -> None:
    model, table = subspace_model(), samples()
    coordinates = model.transform(table)
    assert coordinates.shape == (len(table), RANK)
    projector = model.components @ model.components.T
    wanted = model.mean + (table - model.mean) @ projector
    np.testing.assert_allclose(model.inverse_transform(coordinates), wanted, atol=1e-13)
    np.testing.assert_allclose(model.transform(wanted), coordinates, atol=1e-13)
    np.testing.assert_allclose(coordinates.var(axis=0, ddof=1), model.variances, rtol=1e-12)
    assert 0.0 < model.variances.sum() < model.total_variance


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ("x",) * N_ITEMS}, "two features are named 'x'"),
        ({"mean": np.zeros(2)}, r"the mean has shape \(2,\)"),
        ({"variances": -np.ones(RANK)}, "not all finite and non-negative"),
        ({"components": np.ones((N_ITEMS, 2))}, "not orthonormal"),
        ({"total_variance": -1.0}, "total_variance is -1"),
    ],
)
def test_what_is_no_subspace_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BasisError, match=message):
        replace(subspace_model(), **change)


def test_samples_of_another_width_are_refused() -> None:
    with pytest.raises(DataError, match="the sample matrix has shape 2×3, not items×20"):
        subspace_model().transform(np.zeros((2, 3)))
    with pytest.raises(DataError, match="the coordinate matrix has shape 2×4, not items×3"):
        subspace_model().inverse_transform(np.zeros((2, 4)))
