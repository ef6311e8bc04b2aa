"""Alt-Min as an estimator: convex multitask learning by one owner of all samples."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from grassvine.baselines import alt_min
from grassvine.data import Tasks
from grassvine.estimators.fitted import feature_names
from grassvine.estimators.tasks import TasksRegressor, as_seen, ids_or_one, standards
from grassvine.foundations.arrays import Array
from grassvine.models import FeaturePart, TasksModel
from grassvine.models.tasks import centred, grouped
from grassvine.models.unknown import OnUnknown

SMOOTHING = 1e-8  # of weights that are fitted to targets of unit variance


class AltMinRegressor(TasksRegressor):
    r"""Regressions y ≈ b_t + zᵀw_t of many tasks, regularised by the squared trace norm of all w.

    It is a rival to measure :class:`MultitaskRegressor` against: there are no agents, and no
    rank to choose. Its regulariser is ½γΣ_t w_tᵀD⁻¹w_t with a D of trace 1 that is learned too; a
    task that is folded in later is solved with that D.

    Parameters
    ----------
    alpha : float
        Regularisation strength γ.
    fit_intercept : bool
        Whether each task has an intercept b_t of its own.
    standardise : bool
        Whether features are divided by their standard deviation over all samples; without
        intercepts by their root mean square, and then they are not shifted.
    tol : float
        Stop when an iteration changes the objective by at most this fraction of it.
    max_iter : int
        Maximum number of iterations.
    on_unknown : {"raise", "nan", "fallback"}
        What to predict for tasks that are not known; ``"fallback"`` is the mean of the known ones.

    Attributes
    ----------
    model_ : TasksModel
        What was learned: the shared part and the weights of each task.
    tasks_ : array
        The ids of the known tasks.
    subspace_ : features×features array
        The eigenvectors of D, the direction that tasks share most first: as many columns from the
        left as one likes span a subspace. Nothing is cut off, for Alt-Min has no rank.
    strengths_ : array
        The eigenvalues of D, which add up to 1.
    objectives_ : tuple of float
        The objective after each iteration, targets having unit variance.
    n_iter_, stop_reason_
        How many iterations there were, and why there were no more.
    """

    def __init__(
        self,
        alpha: float = 3.0,
        *,
        fit_intercept: bool = True,
        standardise: bool = True,
        tol: float = 1e-8,
        max_iter: int = 5000,
        on_unknown: OnUnknown = "raise",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardise = standardise
        self.tol = tol
        self.max_iter = max_iter
        self.on_unknown = on_unknown

    def fit(self, X: Any, y: ArrayLike, tasks: Any = None) -> Self:
        """Learn D and the weights of each task.

        Parameters
        ----------
        X : samples×features
        y : array, one a sample
        tasks : list, array or series of ids, optional
            The task of each sample; without it all are of one.
        """
        samples, targets = self._checked(X, y, reset=True)
        ids = ids_or_one(tasks, len(samples))
        means, scales = standards(samples, standardise=self.standardise, shift=self.fit_intercept)
        seen = as_seen(grouped(samples, targets, ids)[1], means, scales)
        result = alt_min(
            _of_unit_variance(centred(seen) if self.fit_intercept else seen),
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
        self._take_shared(shared)
        self._know(TasksModel(shared).fold_in(samples, targets, ids))
        return self

    def _take(self, model: TasksModel, *, named: bool) -> None:
        super()._take(model, named=named)
        self._take_shared(model.shared)

    def _take_shared(self, shared: FeaturePart) -> None:
        self.subspace_, self.strengths_ = shared.basis, shared.strengths**2


def _of_unit_variance(tasks: Tasks) -> Tasks:
    """Return tasks whose targets have the unit for which the smoothing is meant."""
    unit = np.sqrt(sum(float(y @ y) for y in tasks.targets) / tasks.n_values) or 1.0
    return Tasks(tasks.features, tuple(y / unit for y in tasks.targets))


def _directions(weights: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of D = (WᵀW + εI)^½ over its trace, largest first."""
    system = weights.T @ weights + SMOOTHING * np.eye(weights.shape[1])
    values, vectors = np.linalg.eigh(system)
    lengths = np.sqrt(np.maximum(values[::-1], SMOOTHING))
    return np.ascontiguousarray(vectors[:, ::-1]), lengths / lengths.sum()
