"""Principal axes within a subspace, and the variance along each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.extmath import svd_flip

from grassvine.foundations.arrays import Array
from grassvine.models import SubspaceModel
from grassvine.problems import PCAProblem
from grassvine.sums import FactorModel


def incomplete_model(
    names: tuple[str, ...], state: Mapping[str, Any], n_samples: int
) -> SubspaceModel:
    """Return the model of samples with missing values from the state of any agent."""
    count = max(n_samples - 1, 1)
    basis = np.asarray(state["basis"], dtype=np.float64)
    captured, rotation = np.linalg.eigh(np.asarray(state["captured"], dtype=np.float64))
    return SubspaceModel(
        names,
        np.asarray(state["centre"], dtype=np.float64),
        with_signs(basis @ rotation[:, ::-1]),
        np.maximum(captured[::-1], 0.0) / count,
        float(state["squares"][0]) / count,
        FactorModel.from_arrays(state),
    )


def principal_axes(basis: Array, problems: Sequence[PCAProblem]) -> tuple[Array, Array]:
    """Return the principal axes of samples within a subspace, and the sum of squares along each.

    UᵀXᵀXU is a sum over the agents. Signs follow scikit-learn's convention.
    """
    weights = [problem.weights(basis) for problem in problems]
    captured, rotation = np.linalg.eigh(sum(one.T @ one for one in weights))
    return with_signs(basis @ rotation[:, ::-1]), np.maximum(captured[::-1], 0.0)


def with_signs(axes: Array) -> Array:
    """Return the axes with signs by scikit-learn's convention."""
    _, flipped = svd_flip(None, axes.T, u_based_decision=False)
    return np.ascontiguousarray(flipped.T)
