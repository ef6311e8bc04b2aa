r"""Multitask regression: linear models whose coefficients lie in a common subspace.

.. math::

    f(U) = \sum_t \min_{w_t} ½‖X_tUw_t − y_t‖² + ½λ‖w_t‖²

with w_t = (UᵀX_tᵀX_tU + λI)⁻¹UᵀX_tᵀy_t and, by the envelope theorem, the Euclidean gradient
Σ_t X_tᵀ(X_tUw_t − y_t)w_tᵀ. A task with more than m + 1 samples is stored as the triangular
factor R of [X_t y_t] = QR, which has the same costs, gradients and Hessians.

f depends on the subspace alone if UᵀU = I; in the Euclidean geometry ‖w_t‖ depends on the scale of
U.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import real_number
from grassvine.problems.base import Evaluation, as_argument

# As in matrix completion: makes singular systems solvable with negligible effect.
JITTER = 1e-13


@dataclass(frozen=True, eq=False, slots=True)
class _Stacked:
    """The stacked samples of all tasks that have any."""

    features: Array
    targets: Array
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    scales: Array  # tr(X_tᵀX_t)/m, the mean squared norm of a feature
    filled: NDArray[np.intp]  # indices of the tasks with samples
    item_scales: Array

    def sum_rows(self, rows: Array) -> Array:
        """Sum the rows of each task."""
        return np.add.reduceat(rows, self.starts, axis=0)

    def repeat(self, per_task: Array) -> Array:
        """Repeat the row of each task once per sample."""
        return np.repeat(per_task, self.sizes, axis=0)


@dataclass(frozen=True)
class MultitaskProblem:
    """Regression tasks of one agent, with weights in a common subspace.

    Parameters
    ----------
    tasks : Tasks
        Features and targets of each task.
    alpha : float, default=0.0
        Regularisation strength λ ≥ 0 of the weights.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(10, 20, rank=2)
    >>> problem = gv.MultitaskProblem(data.tasks)
    >>> bool(problem.evaluate(data.subspace).cost < 1e-6)  # nothing but the noise
    True
    """

    tasks: Tasks
    alpha: float = 0.0

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("alpha", self.alpha, least=0.0, error=DataError)
        if self.tasks.n_values == 0:
            raise DataError("none of the tasks has a sample; pass at least one sample.")

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.tasks.n_items

    @property
    def n_values(self) -> int:
        """The number of samples."""
        return self.tasks.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Return cost, gradient and Gram matrices."""
        basis = as_argument(self, basis)
        stacked = self._stacked
        reduced, fitted = self._fit(basis)
        each = stacked.repeat(fitted)
        residuals = (reduced * each).sum(axis=1) - stacked.targets
        squared_error = float(residuals @ residuals)
        return Evaluation(
            cost=0.5 * squared_error + 0.5 * self.alpha * float((fitted * fitted).sum()),
            gradient=stacked.features.T @ (residuals[:, None] * each),
            gram=fitted.T @ fitted,
            curvature=fitted.T @ (stacked.scales[:, None] * fitted),
            item_scales=stacked.item_scales,
            squared_error=squared_error,
        )

    def weights(self, basis: Array) -> Array:
        """Return the weights W of the tasks, tasks×rank; zero for a task without samples."""
        basis = as_argument(self, basis)
        weights = np.zeros((self.tasks.n_tasks, basis.shape[1]))
        weights[self._stacked.filled] = self._fit(basis)[1]
        return weights

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        """Return the derivative of the Euclidean gradient along a direction."""
        basis = as_argument(self, basis)
        direction = as_argument(self, direction, "direction")
        stacked = self._stacked
        reduced, fitted = self._fit(basis)
        moved = stacked.features @ direction
        each = stacked.repeat(fitted)
        residuals = (reduced * each).sum(axis=1) - stacked.targets
        shift = np.sum(moved * each, axis=1)
        # Differentiate the normal equations Zᵀ(Zw − y) + λw = 0 with Z = XU.
        right = stacked.sum_rows(residuals[:, None] * moved + shift[:, None] * reduced)
        weights_change = stacked.repeat(-self._solve(reduced, right))
        residuals_change = shift + np.sum(reduced * weights_change, axis=1)
        outer = residuals_change[:, None] * each + residuals[:, None] * weights_change
        return stacked.features.T @ outer

    def hessian_statistics(self) -> tuple[Array, float]:
        """Return Σ X_tᵀX_t and the number of tasks."""
        moments = np.zeros((self.n_items, self.n_items))
        for features in self.tasks.features:
            moments += features.T @ features
        return moments, float(self.tasks.n_tasks)

    def _fit(self, basis: Array) -> tuple[Array, Array]:
        """Return the features in the subspace, Z = XU, and the fitted weights."""
        stacked = self._stacked
        reduced = stacked.features @ basis
        return reduced, self._solve(reduced, stacked.sum_rows(reduced * stacked.targets[:, None]))

    def _solve(self, reduced: Array, right: Array) -> Array:
        """Solve (Z_tᵀZ_t + λI) w_t = right_t for every task."""
        grams = self._stacked.sum_rows(reduced[:, :, None] * reduced[:, None, :])
        traces = grams.trace(axis1=1, axis2=2)
        diagonal = self.alpha + np.where(traces > 0.0, JITTER * traces, 1.0)
        grams.reshape(len(grams), -1)[:, :: reduced.shape[1] + 1] += diagonal[:, None]
        return np.linalg.solve(grams, right[:, :, None])[:, :, 0].astype(np.float64, copy=False)

    @cached_property
    def _stacked(self) -> _Stacked:
        pairs = [
            _compress(x, y)
            for x, y in zip(self.tasks.features, self.tasks.targets, strict=True)
            if len(y)
        ]
        sizes = np.array([len(y) for _, y in pairs], dtype=np.intp)
        return _Stacked(
            features=np.vstack([x for x, _ in pairs]),
            targets=np.concatenate([y for _, y in pairs]),
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            scales=np.array([np.sum(x * x) for x, _ in pairs]) / self.n_items,
            filled=np.flatnonzero([len(y) for y in self.tasks.targets]),
            item_scales=np.ones(self.n_items),
        )


def _compress(features: Array, targets: Array) -> tuple[Array, Array]:
    """Return [X y], or its triangular factor if that has fewer rows."""
    if len(targets) <= features.shape[1] + 1:
        return features, targets
    triangle = np.linalg.qr(np.column_stack([features, targets])).R
    return triangle[:, :-1], triangle[:, -1]
