r"""Fitted subspaces: principal components and the variance that each explains.

Missing values of a sample follow from its known ones by a factor model
(:mod:`grassvine.sums.incomplete.model`). That of components fitted to complete samples is
probabilistic PCA: with the variances λ of r components, and the mean σ² of the variances of the
other m − r, the loadings are U diag(λ − σ²)^½ and every feature has the noise σ².
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations import picture
from grassvine.foundations.arrays import Array, as_basis, as_matrix, as_numbers
from grassvine.foundations.described import Described
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
from grassvine.sums.incomplete.model import FactorModel


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
    factors : FactorModel, optional
        What missing values of samples are to be expected, if it was fitted to some.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = gv.DecentralizedPCA(2).fit(X).model_
    >>> coordinates = model.transform(X)
    >>> coordinates.shape, model.inverse_transform(coordinates).shape
    ((60, 2), (60, 8))
    """

    features: tuple[str, ...]
    mean: Array
    components: Array
    variances: Array
    total_variance: float
    factors: FactorModel | None = None

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
        if self.factors is not None and len(self.factors.mean) != len(features):
            raise BasisError(
                f"the factor model has {len(self.factors.mean)} features, the components "
                f"{len(features)}; pass parts of one model."
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

    def _picture(self) -> str:
        total = self.total_variance or 1.0
        return picture.bars(self.variances / total, of="share of variance", each="component")

    def transform(self, samples: ArrayLike) -> Array:
        """Return the coordinates of samples in the subspace, expected where values are missing."""
        coordinates: Array = (self.impute(samples) - self.mean) @ self.components
        return coordinates

    def impute(self, samples: ArrayLike) -> Array:
        """Return samples with missing values, which are NaN, replaced by their expectation."""
        given = as_numbers(samples, name="the sample matrix", error=DataError)
        if given.ndim == 2 and np.isnan(given).any() and not np.isinf(given).any():
            width = len(self.features)
            if given.shape[1] != width:
                raise DataError(
                    f"the sample matrix has {given.shape[1]} columns and the model {width} "
                    "features; pass one column per feature."
                )
            return self._factor_model.impute(given)
        return as_matrix(given, rank=len(self.features), name="the sample matrix", error=DataError)

    @property
    def _factor_model(self) -> FactorModel:
        """The model of missing values; probabilistic PCA if none was fitted."""
        if self.factors is not None:
            return self.factors
        n_features = len(self.features)
        rest = max(self.total_variance - float(self.variances.sum()), 0.0)
        noise = rest / max(n_features - self.rank, 1)
        # Components that explain everything leave no noise, but a covariance must be invertible.
        noise = max(noise, 1e-12 * self.total_variance / n_features) or 1.0
        strengths = np.sqrt(np.maximum(self.variances - noise, 0.0))
        return FactorModel(self.mean, self.components * strengths, np.full(n_features, noise))

    def inverse_transform(self, coordinates: ArrayLike) -> Array:
        """Return the samples in the subspace with the given coordinates."""
        given = as_matrix(
            coordinates, rank=self.rank, name="the coordinate matrix", error=DataError
        )
        return self.mean + given @ self.components.T
