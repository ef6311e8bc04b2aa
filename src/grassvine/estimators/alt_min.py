"""Alt-Min as an estimator: convex multitask learning on pooled samples."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from grassvine.baselines import alt_min
from grassvine.data import Tasks
from grassvine.estimators.fitted import feature_names
from grassvine.estimators.tasks import TasksRegressor, means_and_scales, standardised, task_ids
from grassvine.foundations.arrays import Array
from grassvine.models import FeaturePart, TasksModel
from grassvine.models.tasks.model import grouped
from grassvine.models.tasks.parts import centred
from grassvine.models.unknown import OnUnknown

SMOOTHING = 1e-8  # ε, for weights of targets with unit variance


class AltMinRegressor(TasksRegressor):
    r"""Regressions y ≈ b_t + zᵀw_t of many tasks, regularised by the squared trace norm of all w.

    A centralised baseline for :class:`MultitaskRegressor`: it has no agents, and no rank to choose.
    The regulariser is ½γΣ_t w_tᵀD⁻¹w_t, where D, of trace 1, is learned too; tasks folded in later
    are solved with the same D.

    Parameters
    ----------
    alpha : float, default=3.0
        Regularisation strength γ.
    fit_intercept : bool, default=True
        Whether each task has an intercept b_t.
    standardize : bool, default=True
        Whether to divide features by their standard deviation over all samples; without
        intercepts, features are not centred and are divided by their root mean square.
    tol : float, default=1e-8
        Stop when the relative change of the objective in an iteration is at most ``tol``.
    max_iter : int, default=5000
        Maximum number of iterations.
    on_unknown : {"warn", "fallback", "nan", "raise"}, default="warn"
        How to treat unknown tasks: ``"fallback"`` predicts the mean of the predictions of all known
        tasks, ``"warn"`` does the same with one warning that counts the samples, ``"nan"`` predicts
        NaN, and ``"raise"`` raises an error.

    Attributes
    ----------
    model_ : TasksModel
        The fitted model: the shared part and the weights of each task.
    tasks_ : array
        Ids of the known tasks.
    subspace_ : array of shape (n_features, n_features)
        Eigenvectors of D in descending order of eigenvalue: the first r columns span the
        r-dimensional subspace that tasks use most. None are dropped, because Alt-Min has no rank.
    strengths_ : array of shape (n_features,)
        Eigenvalues of D, which sum to 1.
    objectives_ : tuple of float
        Objective after each iteration, with targets scaled to unit variance.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : str
        Why the iteration stopped.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.estimators import AltMinRegressor
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> regressor = AltMinRegressor().fit(X, y, tasks=schools)
    >>> bool(regressor.score(X, y, tasks=schools) > 0.9)
    True
    """

    def __init__(
        self,
        alpha: float = 3.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 5000,
        on_unknown: OnUnknown = "warn",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.on_unknown = on_unknown

    def fit(self, X: Any, y: ArrayLike, tasks: Any = None) -> Self:
        """Fit D and the weights of each task.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        tasks : list, array or series of ids, optional
            The task of each sample; by default, all samples belong to one task.
        """
        samples, targets = self._checked(X, y, reset=True)
        ids = task_ids(tasks, len(samples))
        means, scales = means_and_scales(
            samples, standardize=self.standardize, shift=self.fit_intercept
        )
        scaled = standardised(grouped(samples, targets, ids)[1], means, scales)
        result = alt_min(
            _with_unit_variance(centred(scaled) if self.fit_intercept else scaled),
            self.alpha,
            smoothing=SMOOTHING,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.objectives_ = result.objectives
        self.n_iter_ = len(result.objectives)
        self.stop_reason_ = result.stop_reason
        directions, shares = _directions(result.weights)
        names = feature_names(self)
        intercepts, strengths = bool(self.fit_intercept), np.sqrt(shares)
        shared = FeaturePart(names, directions, means, scales, self.alpha, intercepts, strengths)
        self._set_shared(shared)
        self._set_model(TasksModel(shared).fold_in(samples, targets, ids))
        return self

    def _take(self, model: TasksModel, *, named: bool) -> None:
        super()._take(model, named=named)
        assert isinstance(model.shared, FeaturePart)
        self._set_shared(model.shared)

    def _set_shared(self, shared: FeaturePart) -> None:
        self.subspace_, self.strengths_ = shared.basis, shared.strengths**2


def _with_unit_variance(tasks: Tasks) -> Tasks:
    """Return the tasks with targets scaled to unit variance, as ``SMOOTHING`` assumes."""
    unit = np.sqrt(sum(float(y @ y) for y in tasks.targets) / tasks.n_values) or 1.0
    return Tasks(tasks.features, tuple(y / unit for y in tasks.targets))


def _directions(weights: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of D = (WᵀW + εI)^½ over its trace, largest first."""
    system = weights.T @ weights + SMOOTHING * np.eye(weights.shape[1])
    values, vectors = np.linalg.eigh(system)
    lengths = np.sqrt(np.maximum(values[::-1], SMOOTHING))
    return np.ascontiguousarray(vectors[:, ::-1]), lengths / lengths.sum()
