r"""The distribution of the coefficients of related regressions, and the posterior of each task.

.. math::

    y_t = X_tw_t + e, \quad e ~ N(0, σ²I), \qquad w_t ~ N(m, S), \quad S = FFᵀ + \mathrm{diag}(D)

With R_t, q_t as in :mod:`grassvine.sums.hierarchical.designs`, the posterior of w_t follows from

.. math::

    K_t = R_tSR_tᵀ + σ²I, \qquad
    \hat w_t = m + SR_tᵀK_t^{-1}(q_t − R_tm), \qquad
    P_t = S − SR_tᵀK_t^{-1}R_tS

which needs no inverse of S and is exact where S is singular or a task has no samples. The mean m is
known with covariance V = MMᵀ, so that predictions for features z have the variance

.. math::

    zᵀP_tz + ‖Mᵀ(z − R_tᵀK_t^{-1}R_tSz)‖² + σ²
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError
from grassvine.foundations.options import real_number
from grassvine.sums.hierarchical.designs import Block, Designs

LOG_2_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """L⁻¹, L⁻¹R_t and L⁻¹(q_t − R_tm) of each task of a block, with K_t = LLᵀ."""

    inverse: Array
    rows: Array
    errors: Array

    @property
    def gradients(self) -> Array:
        """R_tᵀK_t⁻¹(q_t − R_tm), the gradient of the log-likelihood with respect to m."""
        products: Array = np.matmul(self.errors[:, None, :], self.rows)
        return products[:, 0, :]


@dataclass(frozen=True, slots=True, eq=False)
class CoefficientPrior:
    """The shared part of the model; the tasks are a function of it and of their samples.

    Parameters
    ----------
    mean : array of shape (n_coefficients,)
        m.
    factor : array of shape (n_coefficients, any)
        F.
    diagonal : array of shape (n_coefficients,)
        D ≥ 0.
    mean_factor : array of shape (n_coefficients, any)
        M.
    noise : float
        σ² > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.sums import CoefficientPrior
    >>> prior = CoefficientPrior(
    ...     mean=np.zeros(2),
    ...     factor=np.ones((2, 1)),
    ...     diagonal=np.full(2, 0.1),
    ...     mean_factor=np.zeros((2, 1)),
    ...     noise=1.0,
    ... )
    >>> prior.covary(np.eye(2)).tolist()  # the prior covariance FFᵀ + diag(D)
    [[1.1, 1.0], [1.0, 1.1]]
    """

    mean: Array
    factor: Array
    diagonal: Array
    mean_factor: Array
    noise: float

    def __post_init__(self) -> None:
        """Check the values."""
        mean = as_numbers(self.mean, name="mean", error=BasisError)
        diagonal = as_numbers(self.diagonal, name="diagonal", error=BasisError)
        if mean.ndim != 1 or not np.isfinite(mean).all():
            raise BasisError("the mean is not a list of finite numbers; pass one per coefficient.")
        if diagonal.shape != mean.shape or not (np.isfinite(diagonal) & (diagonal >= 0.0)).all():
            raise BasisError(
                f"the diagonal has shape {diagonal.shape}, or a number that is negative or not "
                f"finite; pass {len(mean)} numbers, one per coefficient."
            )
        for name in ("factor", "mean_factor"):
            matrix = as_matrix(getattr(self, name), n_items=len(mean), name=name, allow_empty=True)
            object.__setattr__(self, name, matrix)
        if real_number("noise", self.noise, least=0.0, error=BasisError) == 0.0:
            raise BasisError("the noise is 0; pass a positive variance.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "diagonal", diagonal)
        object.__setattr__(self, "noise", float(self.noise))

    def covary(self, columns: Array) -> Array:
        """Return S times a matrix with one row per coefficient."""
        return self.factor @ (self.factor.T @ columns) + self.diagonal[:, None] * columns

    def posterior(self, block: Block) -> Posterior:
        """Return what the posterior of each task of a block follows from."""
        spread = block.rows @ self.factor
        system = spread @ spread.transpose(0, 2, 1)
        if self.diagonal.any():
            system += (block.rows * self.diagonal) @ block.rows.transpose(0, 2, 1)
        system += self.noise * np.eye(system.shape[1])
        inverse = np.linalg.inv(np.linalg.cholesky(system))
        residuals = block.targets - block.rows @ self.mean
        errors: Array = np.matmul(inverse, residuals[:, :, None])[:, :, 0]
        return Posterior(inverse, inverse @ block.rows, errors)

    def solve(self, designs: Designs) -> Array:
        """Return the posterior means, tasks×coefficients; m for a task without samples."""
        solved = np.tile(self.mean, (len(designs.sizes), 1))
        for block in designs.blocks:
            solved[block.tasks] += self.covary(self.posterior(block).gradients.T).T
        return solved

    def fit(self, designs: Designs) -> tuple[float, float]:
        """Return −log p(y | m, S, σ²), and the squared error of the posterior means."""
        cost = squared_error = 0.0
        for block in designs.blocks:
            found = self.posterior(block)
            own_cost, own_error = self.errors_of(block, found)
            cost, squared_error = cost + own_cost, squared_error + own_error
        return cost, squared_error

    def errors_of(self, block: Block, found: Posterior) -> tuple[float, float]:
        """Return −log p(y | m, S, σ²) and the squared error of a block."""
        # The residual q_t − R_tw_t of the posterior mean is σ²K_t⁻¹(q_t − R_tm).
        weighted = np.matmul(found.errors[:, None, :], found.inverse)
        remainder, count = float(block.remainders.sum()), float(block.counts.sum())
        n_samples = count + found.errors.size
        diagonals = np.diagonal(found.inverse, axis1=1, axis2=2)
        deviance = (
            float(np.sum(found.errors**2))
            - 2.0 * float(np.sum(np.log(diagonals)))
            + remainder / self.noise
            + count * float(np.log(self.noise))
            + n_samples * LOG_2_PI
        )
        return 0.5 * deviance, self.noise**2 * float(np.sum(weighted**2)) + remainder

    def variances(self, designs: Designs, numbers: Indices, samples: Array) -> Array:
        """Return the variance of the target of each sample of the tasks with these numbers.

        Number −1 means a task of which nothing is known.
        """
        variances = self._variances(samples, None)
        order = np.argsort(numbers, kind="stable")
        for block in designs.blocks:
            found = self.posterior(block)
            first = np.searchsorted(numbers[order], block.tasks, side="left")
            last = np.searchsorted(numbers[order], block.tasks, side="right")
            for place in np.flatnonzero(first < last):
                mine = order[first[place] : last[place]]
                variances[mine] = self._variances(samples[mine], found.rows[place])
        return variances

    def _variances(self, samples: Array, rows: Array | None) -> Array:
        """Return the variances of samples of one task, given L⁻¹R_t, or None without data."""
        spread = self.covary(samples.T)  # S z, one column per sample
        variances: Array = np.sum(samples.T * spread, axis=0)
        remaining = samples.T
        if rows is not None:
            known = rows @ spread
            variances = np.maximum(variances - np.sum(known**2, axis=0), 0.0)
            remaining = remaining - rows.T @ known
        return variances + np.sum((self.mean_factor.T @ remaining) ** 2, axis=0) + self.noise

    def in_units(self, scales: Array, centre: float, scale: float) -> "CoefficientPrior":
        """Return the prior for features and targets before :meth:`Designs.scaled`."""
        factor = scale / scales
        mean = self.mean * factor
        if centre:
            mean[-1] += centre
        return CoefficientPrior(
            mean,
            self.factor * factor[:, None],
            self.diagonal * factor**2,
            self.mean_factor * factor[:, None],
            self.noise * scale**2,
        )

    def spread_by(self, factor: float) -> "CoefficientPrior":
        """Return the prior with all variances multiplied, which changes no posterior mean."""
        root = float(np.sqrt(factor))
        return CoefficientPrior(
            self.mean,
            root * self.factor,
            factor * self.diagonal,
            root * self.mean_factor,
            factor * self.noise,
        )

    def directions(self, n_features: int, rank: int) -> Array:
        """Return orthonormal directions in which the coefficients of features vary most."""
        columns, triangle = np.linalg.qr(self.factor[:n_features])
        left, _, _ = np.linalg.svd(triangle)
        basis = columns @ left[:, :rank]
        largest = np.abs(basis).argmax(axis=0)
        signs = np.where(basis[largest, np.arange(basis.shape[1])] < 0.0, -1.0, 1.0)
        return np.ascontiguousarray(basis * signs)

    def arrays(self) -> dict[str, Array]:
        """Return the prior as named arrays; :meth:`from_arrays` is the inverse."""
        return {
            "mean": self.mean,
            "factor": self.factor,
            "diagonal": self.diagonal,
            "mean_factor": self.mean_factor,
            "noise": np.array([self.noise]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "CoefficientPrior":
        """Return the prior that :meth:`arrays` describes."""
        names = "mean", "factor", "diagonal", "mean_factor", "noise"
        mean, factor, diagonal, mean_factor, (noise,) = (
            arrays[name].astype(np.float64) for name in names
        )
        return cls(mean, factor, diagonal, mean_factor, float(noise))
