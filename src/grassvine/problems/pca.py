"""Principal component analysis: f(U) = −½ tr(UᵀCU), C = XᵀX, with the agent's samples X."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import DataError
from grassvine.problems.base import Evaluation, as_argument

# Numbers of a block of samples, which stays in the processor's cache between two products.
BLOCK_SIZE = 2**16
# The fewest samples of a block. A sum of C adds whole matrices, so its blocks are larger than C.
LEAST_ROWS = 32
# Where the samples are at least this many times as large as C, it is kept, and corrected for the
# mean, which takes several passes over C.
LARGER = 4


@dataclass(frozen=True)
class PCAProblem:
    """PCA of the samples of one agent.

    The weights are the coordinates W = XU, and the squared error is that of the projection,
    ‖X − XUUᵀ‖². A unit step is one orthogonal iteration.

    Parameters
    ----------
    samples : array of shape (n_samples, n_items)
    mean : array of shape (n_items,), optional
        What is subtracted from every sample, block by block, so that no centred copy is kept. By
        default nothing: the samples are centred already.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> samples = np.random.default_rng(0).normal(size=(100, 5)) * [5, 4, 1, 1, 1]
    >>> parts = gv.datasets.split_samples(samples, 4)
    >>> plan = gv.Plan(5, 2, gv.networks.ring(4))
    >>> result = gv.run(plan, [gv.PCAProblem(part, samples.mean(axis=0)) for part in parts])
    >>> np.abs(result.mean).argmax(axis=0).tolist()  # the features with the largest variances
    [0, 1]
    """

    samples: Array
    mean: Array | None = None

    def __post_init__(self) -> None:
        """Check the samples and their mean."""
        samples = as_matrix(self.samples, name="the sample matrix", error=DataError)
        object.__setattr__(self, "samples", samples)
        if self.mean is not None:
            row = np.atleast_2d(self.mean)
            mean = as_matrix(row, n_items=1, rank=self.n_items, name="the mean", error=DataError)
            object.__setattr__(self, "mean", mean[0])

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
        basis = as_argument(self, basis)
        gradient, gram = np.zeros(basis.shape), np.zeros((basis.shape[1],) * 2)
        for rows in self._blocks():
            weights = rows @ basis
            gradient -= rows.T @ weights
            gram += weights.T @ weights
        captured = float(np.trace(gram))
        return Evaluation(
            cost=-0.5 * captured,
            gradient=gradient,
            gram=gram,
            curvature=gram,
            item_scales=np.ones(self.n_items),
            squared_error=self.trace - captured,
        )

    def weights(self, basis: Array) -> Array:
        """Return the coordinates XU."""
        basis = as_argument(self, basis)
        return np.concatenate([np.zeros((0, basis.shape[1])), *(b @ basis for b in self._blocks())])

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return −C·direction."""
        return -self.matrix_product(as_argument(self, direction, "direction"))

    def matrix_product(self, block: Array) -> Array:
        """Return C·block."""
        product, squares = np.zeros(block.shape), 0.0
        with_trace = "trace" not in self.__dict__
        for rows in self._blocks():
            product += rows.T @ (rows @ block)
            if with_trace:  # from the same blocks as below, while they are in the cache
                squares += float(np.vdot(rows, rows))
        if with_trace:
            self.__dict__["trace"] = squares
        return product

    @property
    def keeps_matrix(self) -> bool:
        """Whether C is computed once and kept."""
        return self.n_samples >= LARGER * self.n_items

    def matrix(self) -> Array:
        """Return C."""
        return self._kept_matrix if self.keeps_matrix else self._matrix()

    @cached_property
    def _kept_matrix(self) -> Array:
        matrix = self._matrix()
        matrix.flags.writeable = False
        return matrix

    def _matrix(self) -> Array:
        """Compute C: by one product where that loses no more than a bit, otherwise in blocks.

        With the sums s of the samples X' that are not centred, C = X'ᵀX' − sμᵀ − μsᵀ + nμμᵀ.
        """
        if self.mean is None:
            return self.samples.T @ self.samples
        if self.keeps_matrix and self._has_small_mean:
            matrix: Array = self.samples.T @ self.samples
            sums = self.samples.sum(axis=0) - 0.5 * self.n_samples * self.mean
            correction = np.outer(sums, self.mean)
            matrix -= correction
            matrix -= correction.T
            return matrix
        matrix = np.zeros((self.n_items, self.n_items))
        product = np.empty_like(matrix)
        for rows in self._blocks(2 * self.n_items):
            matrix += np.matmul(rows.T, rows, out=product)
        return matrix

    @property
    def _has_small_mean(self) -> bool:
        """Whether at most half of the squares of the samples that are not centred are the mean's."""
        return self.n_samples * float(np.vdot(self.mean, self.mean)) <= self.trace

    @cached_property
    def trace(self) -> float:
        """The trace of C, the sum of squares of the samples."""
        return sum(float(np.vdot(rows, rows)) for rows in self._blocks())

    def _blocks(self, least: int = LEAST_ROWS) -> Iterator[Array]:
        """Yield blocks of X, each to be used before the next."""
        n_rows = min(max(BLOCK_SIZE // self.n_items, least), self.n_samples)
        centred = np.empty((n_rows if self.mean is not None else 0, self.n_items))
        for first in range(0, self.n_samples, max(n_rows, 1)):
            rows = self.samples[first : first + n_rows]
            if self.mean is not None:
                rows = np.subtract(rows, self.mean, out=centred[: len(rows)])
            yield rows
