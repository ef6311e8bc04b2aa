r"""Samples as a few factors and noise, from which missing values follow.

.. math::

    x_s = μ + Wz_s + e_s, \qquad z_s ~ N(0, I), \qquad e_s ~ N(0, \mathrm{diag}\,ψ)

This is probabilistic PCA with a noise ψ_i of its own for each feature. A sample is a pure function
of the model and its known values o:

.. math::

    A_s = I + Σ_{i∈o} W_iW_iᵀ/ψ_i, \qquad \hat z_s = A_s^{-1}Σ_{i∈o} W_i(x_{si} − μ_i)/ψ_i

are precision and mean of the posterior of z_s, and a missing value has mean μ_i + W_i·ẑ_s and
covariances W_iᵀA_s⁻¹W_k, to which ψ_i is added for i = k.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError

# Samples are processed in blocks of about this many numbers.
BLOCK_SIZE = 1 << 20

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """ẑ_s and A_s⁻¹ of some samples, log|A_s|, and which of their values are known."""

    known: Array
    differences: Array  # x − μ where known, else 0
    means: Array
    covariances: Array
    log_precisions: Array


@dataclass(frozen=True, slots=True, eq=False)
class FactorModel:
    """Mean, loadings and noise of the features.

    Parameters
    ----------
    mean : array of shape (n_features,)
        μ.
    loadings : array of shape (n_features, n_factors)
        W; there may be no factors.
    noise : array of shape (n_features,)
        ψ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.sums import FactorModel
    >>> model = FactorModel(np.zeros(2), loadings=np.ones((2, 1)), noise=np.full(2, 0.01))
    >>> model.impute(np.array([[1.0, np.nan]])).round(2).tolist()
    [[1.0, 0.99]]
    """

    mean: Array
    loadings: Array
    noise: Array

    def __post_init__(self) -> None:
        """Check the values."""
        loadings = as_matrix(self.loadings, name="loadings", allow_empty=True)
        object.__setattr__(self, "loadings", loadings)
        for name in ("mean", "noise"):
            vector = as_numbers(getattr(self, name), name=name, error=BasisError)
            if vector.shape != (len(loadings),) or not np.isfinite(vector).all():
                raise BasisError(
                    f"the {name} has shape {vector.shape} or is not finite; "
                    f"pass {len(loadings)} finite numbers, one per feature."
                )
            object.__setattr__(self, name, vector)
        if not (self.noise > 0.0).all():
            raise BasisError("the noise of a feature is not positive; pass a positive variance.")

    @property
    def n_factors(self) -> int:
        """The number of factors."""
        return self.loadings.shape[1]

    def blocks(self, samples: Array) -> Iterator[Array]:
        """Yield the samples in blocks."""
        width = len(self.mean) + 3 * self.n_factors**2 + 1
        size = max(1, BLOCK_SIZE // width)
        for first in range(0, len(samples), size):
            yield samples[first : first + size]

    def scores(self, samples: Array) -> Scores:
        """Return the posterior of the factors of samples, in which missing values are NaN."""
        is_known = ~np.isnan(samples)
        known = is_known.astype(np.float64)
        differences = np.where(is_known, samples - self.mean, 0.0)
        weighted = self.loadings / self.noise[:, None]
        precisions = unpacked(known @ packed_products(weighted, self.loadings), self.n_factors)
        precisions += np.eye(self.n_factors)
        factors = np.linalg.cholesky(precisions)
        inverses = np.linalg.inv(factors)
        covariances = inverses.transpose(0, 2, 1) @ inverses
        means = np.matmul(covariances, (differences @ weighted)[:, :, None])[:, :, 0]
        logs = 2.0 * np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)), axis=1)
        return Scores(known, differences, means, covariances, logs)

    def impute(self, samples: Array) -> Array:
        """Return the samples with missing values replaced by their expectation."""
        filled = [np.zeros((0, samples.shape[1]))]
        for block in self.blocks(samples):
            expected = self.mean + self.scores(block).means @ self.loadings.T
            filled.append(np.where(np.isnan(block), expected, block))
        return np.concatenate(filled)

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` is the inverse."""
        return {"factor_mean": self.mean, "loadings": self.loadings, "noise": self.noise}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "FactorModel":
        """Return the model that :meth:`arrays` describes."""
        mean, loadings, noise = (
            arrays[name].astype(np.float64) for name in ("factor_mean", "loadings", "noise")
        )
        return cls(mean, loadings, noise)


def packed_products(left: Array, right: Array) -> Array:
    """Return the lower triangle of left_i right_iᵀ of each row i, one row each."""
    one, other = np.tril_indices(left.shape[1])
    return left[:, one] * right[:, other]


def packed(matrices: Array) -> Array:
    """Return the lower triangles of symmetric matrices, one row each."""
    one, other = np.tril_indices(matrices.shape[1])
    return matrices[:, one, other]


def unpacked(triangles: Array, size: int) -> Array:
    """Return the symmetric matrices whose lower triangles are the rows."""
    places = np.zeros((size, size), dtype=np.int64)
    places[np.tril_indices(size)] = np.arange(triangles.shape[1])
    return np.take(triangles, np.maximum(places, places.T), axis=1)
