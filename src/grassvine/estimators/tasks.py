"""Base class and preprocessing of multitask regressors."""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from grassvine.data import Tasks
from grassvine.data.ids import as_column
from grassvine.estimators.fitted import set_feature_attributes
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.foundations.arrays import Array, refuse_huge
from grassvine.foundations.errors import DataError, PlanError
from grassvine.models import TasksModel
from grassvine.models.intervals import normal_interval


class TasksRegressor(PersistentEstimator, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of regressors in which each sample belongs to one task.

    ``tasks`` is metadata: if routing is enabled, ``set_fit_request(tasks=True)`` and
    ``set_score_request(tasks=True)`` let pipelines and searches pass it on.
    """

    _model_type: ClassVar[type] = TasksModel

    on_unknown: Any
    model_: TasksModel

    def predict(
        self,
        X: Any,
        tasks: Any = None,
        *,
        return_std: bool = False,
        return_interval: float | None = None,
    ) -> Any:
        """Predict the target of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        tasks : list, array or series of ids, optional
            The task of each sample; may be omitted if only one task is known.
        return_std : bool, default=False
            Whether to return the standard deviation of each target too. It includes the noise of a
            single sample.
        return_interval : float, optional
            Share of the targets, such as 0.9, that intervals should contain.

        Returns
        -------
        predictions : array of shape (n_samples,)
        std : array of shape (n_samples,)
            Only if ``return_std``.
        lower, upper : arrays of shape (n_samples,)
            Ends of the intervals; only if ``return_interval``.
        """
        check_is_fitted(self, "model_")
        samples = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        asked = self._only_task(len(samples)) if tasks is None else tasks
        uncertain = return_std or return_interval is not None
        found = self.model_.predict(samples, asked, self.on_unknown, deviations=uncertain)
        if found.deviations is None:
            return found.targets
        results = [found.targets]
        if return_std:
            results.append(found.deviations)
        if return_interval is not None:
            results += normal_interval(found.targets, found.deviations, return_interval)
        return tuple(results)

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return R² of the predictions."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def fold_in(self, X: Any, y: ArrayLike, tasks: Any) -> Self:
        """Return an estimator with these tasks added; the shared part is unchanged.

        A task that is already known is solved from the given samples only.
        """
        check_is_fitted(self, "model_")
        samples, targets = self._checked(X, y, reset=False)
        other = copy.copy(self)
        other._set_model(self.model_.with_tasks(samples, targets, tasks))
        return other

    def _checked(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Array, Array]:
        """Return samples and targets, validated by scikit-learn."""
        samples, targets = validate_data(
            self, X, y, reset=reset, dtype=np.float64, order="C", y_numeric=True
        )
        targets = np.asarray(targets, dtype=np.float64)
        refuse_huge(samples, "features")
        refuse_huge(targets, "targets")
        return samples, targets

    def _only_task(self, n_samples: int) -> Any:
        known = self.model_.private
        if known is None or len(known.tasks) != 1:
            count = "no task" if known is None else f"{len(known.tasks)} tasks"
            raise DataError(
                f"the model knows {count}, so the task of each sample must be given; pass tasks=… "
                "with one id per sample."
            )
        return known.tasks.at(np.zeros(n_samples, dtype=np.int64))

    def _set_model(self, model: TasksModel) -> None:
        self.model_ = model
        if model.private is not None:
            self.tasks_ = model.private.tasks.series.to_numpy()

    def _take(self, model: TasksModel, *, named: bool) -> None:
        set_feature_attributes(self, model.shared.features, named=named)
        self.subspace_ = model.shared.basis
        self._set_model(model)


def task_ids(tasks: Any, n_samples: int) -> Any:
    """Return the task ids; if omitted, all samples belong to task 0."""
    return as_column(np.zeros(n_samples, dtype=np.int64) if tasks is None else tasks, "task")


def means_and_scales(samples: Array, *, standardize: Any, shift: Any) -> tuple[Array, Array]:
    """Return the means and scales that standardise all samples.

    Agents can compute both by sums. Features are centred only if there is an intercept to absorb
    the shift, and otherwise divided by their root mean square. A constant feature has scale 1.
    """
    for name, value in (("standardize", standardize), ("fit_intercept", shift)):
        if not isinstance(value, bool | np.bool_):
            raise PlanError(f"{name} is {value!r}; pass True or False.")
    n_features = samples.shape[1]
    means = samples.mean(axis=0) if shift else np.zeros(n_features)
    if not standardize:
        return means, np.ones(n_features)
    scales = np.sqrt(np.mean((samples - means) ** 2, axis=0))
    constant = scales <= 1e-12 * np.abs(samples).max(axis=0)  # constant up to rounding of the mean
    return means, np.where(constant, 1.0, scales)


def standardised(tasks: Tasks, means: Array, scales: Array) -> Tasks:
    """Return the tasks with standardised features."""
    return Tasks(tuple((x - means) / scales for x in tasks.features), tasks.targets)
