r"""Second moments of samples with missing values, expected under a factor model.

.. math::

    C = Σ_s \mathrm{E}[(x_s − m)(x_s − m)ᵀ | x_{s,o}]
      = Σ_s (\hat x_s − m)(\hat x_s − m)ᵀ + H_s(WA_s^{-1}Wᵀ + \mathrm{diag}\,ψ)H_s

where x̂_s has the missing values filled in by their expectation, and H_s selects them. Without
missing values C is the scatter matrix of the samples, whatever the model; so its eigenvectors are
the principal components, and in general those expected of the complete samples.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import Evaluation
from grassvine.sums.incomplete.model import FactorModel, packed, packed_products


@dataclass(frozen=True)
class ExpectedMoments:
    """C of one agent's samples: an eigenproblem like that of complete samples.

    Parameters
    ----------
    samples : array of shape (n_samples, n_items)
        Missing values are NaN.
    model : FactorModel
    centre : array of shape (n_items,)
        m.
    """

    samples: Array
    model: FactorModel
    centre: Array

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.samples.shape[1]

    @property
    def n_values(self) -> int:
        """The number of values, missing ones included."""
        return self.samples.size

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.samples)

    def matrix_product(self, block: Array) -> Array:
        """Return C·block."""
        loadings, width = self.model.loadings, block.shape[1]
        n_factors = self.model.n_factors
        total = np.zeros_like(block)
        # (W_i V_iᵀ) of each feature i, so that sums over missing values are matrix products.
        pairs = (loadings[:, :, None] * block[:, None, :]).reshape(len(block), n_factors * width)
        for samples in self.model.blocks(self.samples):
            missing, filled, covariances = self._completed(samples)
            total += filled.T @ (filled @ block)
            total += (missing.sum(axis=0) * self.model.noise)[:, None] * block
            projected = (missing @ pairs).reshape(len(samples), n_factors, width)
            weighted = (covariances @ projected).reshape(len(samples), n_factors * width)
            spread = (missing.T @ weighted).reshape(len(block), n_factors, width)
            total += np.einsum("iq,iqc->ic", loadings, spread)
        return total

    @property
    def keeps_matrix(self) -> bool:
        """C is not kept."""
        return False

    def matrix(self) -> Array:
        """Return C."""
        n_items = self.n_items
        return np.hstack(
            [
                self.matrix_product(np.eye(n_items)[:, first : first + 32])
                for first in range(0, n_items, 32)
            ]
        )

    @cached_property
    def trace(self) -> float:
        """The trace of C."""
        total = 0.0
        products = packed_products(self.model.loadings, self.model.loadings)
        diagonal = np.equal(*np.tril_indices(self.model.n_factors))
        for samples in self.model.blocks(self.samples):
            missing, filled, covariances = self._completed(samples)
            weights = np.where(diagonal, 1.0, 2.0) * packed(covariances)
            total += float(np.sum(filled**2)) + float(np.sum(missing @ self.model.noise))
            total += float(np.sum((missing @ products) * weights))
        return total

    def evaluate(self, basis: Array) -> Evaluation:
        """Return the cost −½tr(UᵀCU) of a basis, and its gradient."""
        product = self.matrix_product(basis)
        gram = basis.T @ product
        captured = float(np.trace(gram))
        return Evaluation(
            cost=-0.5 * captured,
            gradient=-product,
            gram=gram,
            curvature=gram,
            item_scales=np.ones(self.n_items),
            squared_error=self.trace - captured,
        )

    def weights(self, basis: Array) -> Array:
        """Return the expected coordinates of the samples."""
        coordinates: Array = (self.model.impute(self.samples) - self.centre) @ basis
        return coordinates

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return −C·direction."""
        return -self.matrix_product(direction)

    def _completed(self, samples: Array) -> tuple[Array, Array, Array]:
        """Return which values are missing, x̂_s − m, and A_s⁻¹."""
        found = self.model.scores(samples)
        expected = self.model.mean + found.means @ self.model.loadings.T
        filled = np.where(np.isnan(samples), expected, samples) - self.centre
        return 1.0 - found.known, filled, found.covariances
