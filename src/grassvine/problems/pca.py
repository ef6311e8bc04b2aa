"""Principal component analysis: f(U) = −½ tr(UᵀCU), C = XᵀX, with the agent's samples X."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import DataError
from grassvine.problems.base import Evaluation, as_argument


@dataclass(frozen=True)
class PCAProblem:
    """PCA of the samples of one agent, which the caller must centre.

    The weights are the coordinates W = XU, and the squared error is that of the projection,
    ‖X − XUUᵀ‖². A unit step is one orthogonal iteration.

    Parameters
    ----------
    samples : array of shape (n_samples, n_items)
        X, with centred columns.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> samples = np.random.default_rng(0).normal(size=(100, 5)) * [5, 4, 1, 1, 1]
    >>> parts = gv.datasets.split_samples(samples - samples.mean(axis=0), 4)
    >>> plan = gv.Plan(5, 2, gv.networks.ring(4))
    >>> result = gv.run(plan, [gv.PCAProblem(part) for part in parts])
    >>> np.abs(result.mean).argmax(axis=0).tolist()  # the features with the largest variances
    [0, 1]
    """

    samples: Array

    def __post_init__(self) -> None:
        """Check the samples."""
        object.__setattr__(
            self, "samples", as_matrix(self.samples, name="the sample matrix", error=DataError)
        )

    @property
    def n_items(self) -> int:
        """The number of columns of the samples."""
        return self.samples.shape[1]

    @property
    def n_values(self) -> int:
        """The number of entries of the samples."""
        return self.samples.size

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.samples)

    def evaluate(self, basis: Array) -> Evaluation:
        """Return cost, gradient and Gram matrices."""
        weights = self.weights(basis)
        gram = weights.T @ weights
        captured = float(np.trace(gram))
        return Evaluation(
            cost=-0.5 * captured,
            gradient=-(self.samples.T @ weights),
            gram=gram,
            curvature=gram,
            item_scales=np.ones(self.n_items),
            squared_error=self.trace - captured,
        )

    def weights(self, basis: Array) -> Array:
        """Return the coordinates XU."""
        return self.samples @ as_argument(self, basis)

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return −C·direction."""
        return -(self.samples.T @ (self.samples @ as_argument(self, direction, "direction")))

    def matrix_product(self, block: Array) -> Array:
        """Return C·block."""
        return -self.hessian_product(block, block)

    def matrix(self) -> Array:
        """Return C."""
        return self.samples.T @ self.samples

    @cached_property
    def trace(self) -> float:
        """The trace of C, the sum of squares of the samples."""
        return float(np.sum(self.samples * self.samples))
