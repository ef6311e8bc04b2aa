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
# Products of samples that are not centred are corrected for the mean if their sum of squares is at
# most this many times that of centred ones, so that two bits are lost.
MOST_SQUARES = 4.0


@dataclass(frozen=True, slots=True)
class RawMoments:
    """Sums s over samples X' that are not centred, and the sum of squares of centred ones."""

    sums: Array
    trace: float

    @classmethod
    def small(cls, sums: Array, squares: float, count: int, mean: Array) -> "RawMoments | None":
        """Return them, or None if the mean is large; the trace is ‖X'‖² − 2μ·s + n‖μ‖²."""
        trace = squares - 2.0 * float(sums @ mean) + count * float(mean @ mean)
        return cls(sums, trace) if squares <= MOST_SQUARES * trace else None


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
        if self.mean is None:
            return self.samples @ basis
        if self._raw is not None:
            return self.samples @ basis - self.mean @ basis
        return np.concatenate([np.zeros((0, basis.shape[1])), *(b @ basis for b in self._blocks())])

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return −C·direction."""
        return -self.matrix_product(as_argument(self, direction, "direction"))

    def matrix_product(self, block: Array) -> Array:
        """Return C·block."""
        if self.mean is not None and self.__dict__.get("_raw", True) is not None:
            product, raw = self._raw_product(
                self.mean, block, with_moments="_raw" not in self.__dict__
            )
            self.__dict__.setdefault("_raw", raw)
            if self._raw is not None:
                return product
        product = np.zeros(block.shape)
        for rows in self._blocks():
            product += rows.T @ (rows @ block)
        return product

    def _raw_product(
        self, mean: Array, block: Array, with_moments: bool
    ) -> "tuple[Array, RawMoments | None]":
        """Return C·block from samples that are not centred, and their moments if asked for.

        With W = (X' − 1μᵀ)V for a block V, CV = X'ᵀW − μ·1ᵀW. There are no moments, and the product
        is not complete, if the mean is too large for that.
        """
        product, shift = np.zeros(block.shape), mean @ block
        totals, sums, squares = np.zeros(block.shape[1]), np.zeros(self.n_items), 0.0
        moments = None
        for first, rows in self._rows():
            weights = rows @ block - shift
            product += rows.T @ weights
            totals += weights.sum(axis=0)
            if with_moments:
                sums += rows.sum(axis=0)
                squares += float(np.vdot(rows, rows))
                last = first + len(rows)
                if first == 0 or last == self.n_samples:
                    moments = RawMoments.small(sums, squares, last, mean)
                    if moments is None:
                        return product, None
        return product - np.outer(mean, totals), moments

    @cached_property
    def _raw(self) -> "RawMoments | None":
        """The moments of the samples that are not centred, unless the mean is too large."""
        if self.mean is None:
            return None
        return self._raw_product(self.mean, np.zeros((self.n_items, 0)), with_moments=True)[1]

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
        """Compute C: by one product if possible, otherwise in blocks.

        C = X'ᵀX' − sμᵀ − μsᵀ + nμμᵀ.
        """
        if self.mean is None:
            return self.samples.T @ self.samples
        if self.keeps_matrix and self._raw is not None:
            matrix: Array = self.samples.T @ self.samples
            correction = np.outer(self._raw.sums - 0.5 * self.n_samples * self.mean, self.mean)
            matrix -= correction
            matrix -= correction.T
            return matrix
        matrix = np.zeros((self.n_items, self.n_items))
        product = np.empty_like(matrix)
        for rows in self._blocks(2 * self.n_items):
            matrix += np.matmul(rows.T, rows, out=product)
        return matrix

    @cached_property
    def trace(self) -> float:
        """The trace of C, the sum of squares of the samples."""
        if self._raw is not None:
            return self._raw.trace
        return sum(float(np.vdot(rows, rows)) for rows in self._blocks())

    def _blocks(self, least: int = LEAST_ROWS) -> Iterator[Array]:
        """Yield blocks of X, each to be used before the next."""
        centred: Array | None = None
        for _, rows in self._rows(least):
            if self.mean is None:
                yield rows
                continue
            centred = np.empty_like(rows) if centred is None else centred
            yield np.subtract(rows, self.mean, out=centred[: len(rows)])

    def _rows(self, least: int = LEAST_ROWS) -> Iterator[tuple[int, Array]]:
        """Yield the first number and the samples of each block as they are, X'."""
        n_rows = max(min(max(BLOCK_SIZE // self.n_items, least), self.n_samples), 1)
        for first in range(0, self.n_samples, n_rows):
            yield first, self.samples[first : first + n_rows]
