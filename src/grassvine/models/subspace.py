"""Fitted subspaces: principal components and the variance that each explains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_basis, as_matrix, as_numbers
from grassvine.foundations.described import Described
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SubspaceModel(Described):
    """Mean and principal components of samples; there is no private part.

    Parameters
    ----------
    features : tuple of str
        Unique names.
    mean : array of shape (n_features,)
    components : array of shape (n_features, rank)
        Orthonormal columns, in descending order of explained variance.
    variances : array of shape (rank,)
        Variance explained by each component.
    total_variance : float
        Sum of the variances of all features.
    """

    features: tuple[str, ...]
    mean: Array
    components: Array
    variances: Array
    total_variance: float

    def __post_init__(self) -> None:
        """Check that all arrays are consistent."""
        features = tuple(self.features)
        if len(set(features)) != len(features):
            repeated = next(name for name in features if features.count(name) > 1)
            raise BasisError(f"two features are named {repeated!r}; pass unique names.")
        components = as_basis(self.components, n_items=len(features), name="components")
        mean = as_numbers(self.mean, name="mean", error=BasisError)
        variances = as_numbers(self.variances, name="variances", error=BasisError)
        if mean.shape != (len(features),) or not np.isfinite(mean).all():
            raise BasisError(
                f"the mean has shape {mean.shape} or is not finite; "
                f"pass {len(features)} finite numbers, one per feature."
            )
        rank = components.shape[1]
        if variances.shape != (rank,) or not (np.isfinite(variances) & (variances >= 0.0)).all():
            raise BasisError(
                f"variances have shape {variances.shape} or are not all finite and non-negative; "
                f"pass {rank} numbers, one per component."
            )
        total = real_number("total_variance", self.total_variance, least=0.0, error=BasisError)
        for name, value in (
            ("features", features),
            ("mean", mean),
            ("components", components),
            ("variances", variances),
            ("total_variance", total),
        ):
            object.__setattr__(self, name, value)

    @property
    def rank(self) -> int:
        """The dimension of the subspace."""
        return self.components.shape[1]

    def _facts(self) -> dict[str, object]:
        total = self.total_variance
        explained = float(self.variances.sum()) / total if total > 0.0 else 0.0
        return {
            "components": self.rank,
            "features": len(self.features),
            "explained_variance": f"{explained:.1%}",
        }

    def transform(self, samples: ArrayLike) -> Array:
        """Return the coordinates of samples in the subspace."""
        given = as_matrix(
            samples, rank=len(self.features), name="the sample matrix", error=DataError
        )
        return (given - self.mean) @ self.components

    def inverse_transform(self, coordinates: ArrayLike) -> Array:
        """Return the samples in the subspace with the given coordinates."""
        given = as_matrix(
            coordinates, rank=self.rank, name="the coordinate matrix", error=DataError
        )
        return self.mean + given @ self.components.T
