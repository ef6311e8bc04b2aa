"""What regressors of many tasks have in common, however they learn."""

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
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError
from grassvine.models import TasksModel


class TasksRegressor(PersistentEstimator, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regressions of which each sample belongs to one; predictions come from a model of tasks.

    ``tasks`` is metadata: where routing is enabled, ``set_fit_request(tasks=True)`` and
    ``set_score_request(tasks=True)`` let pipelines and searches pass it on.
    """

    _model_type: ClassVar[type] = TasksModel

    on_unknown: Any
    model_: TasksModel

    def predict(self, X: Any, tasks: Any = None) -> Array:
        """Predict the target of each sample.

        Parameters
        ----------
        X : samples×features
        tasks : list, array or series of ids, optional
            The task of each sample; may be left out where only one task is known.
        """
        check_is_fitted(self, "model_")
        samples = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        asked = self._only_task(len(samples)) if tasks is None else tasks
        return self.model_.predict(samples, asked, self.on_unknown).targets

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return R² of the predictions."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def fold_in(self, X: Any, y: ArrayLike, tasks: Any) -> Self:
        """Return an estimator that knows these tasks too; what all share stays as it is.

        A task that is known already is solved anew from the given samples alone.
        """
        check_is_fitted(self, "model_")
        samples, targets = self._checked(X, y, reset=False)
        other = copy.copy(self)
        other._know(self.model_.with_tasks(samples, targets, tasks))
        return other

    def _checked(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Array, Array]:
        """Return samples and targets as scikit-learn wants them checked."""
        samples, targets = validate_data(
            self, X, y, reset=reset, dtype=np.float64, order="C", y_numeric=True
        )
        return samples, np.asarray(targets, dtype=np.float64)

    def _only_task(self, n_samples: int) -> Any:
        known = self.model_.private
        if known is None or len(known.tasks) != 1:
            count = "no task" if known is None else f"{len(known.tasks)} tasks"
            raise DataError(
                f"the model knows {count}, so it must be said of which each sample is; give "
                "tasks=… with one id per sample."
            )
        return known.tasks.at(np.zeros(n_samples, dtype=np.int64))

    def _know(self, model: TasksModel) -> None:
        self.model_ = model
        if model.private is not None:
            self.tasks_ = model.private.tasks.series.to_numpy()

    def _take(self, model: TasksModel, *, named: bool) -> None:
        set_feature_attributes(self, model.shared.features, named=named)
        self.subspace_ = model.shared.basis
        self._know(model)


def ids_or_one(tasks: Any, n_samples: int) -> Any:
    """Return the ids of the tasks; without any, all samples are of one task, 0."""
    return as_column(np.zeros(n_samples, dtype=np.int64) if tasks is None else tasks, "task")


def standards(samples: Array, *, standardise: Any, shift: Any) -> tuple[Array, Array]:
    """Return by what all samples are shifted and divided; both are sums over the agents.

    Without a shift, which an intercept would make up for, features are divided by their root mean
    square. A feature that does not vary is left as it is.
    """
    for name, value in (("standardise", standardise), ("fit_intercept", shift)):
        if not isinstance(value, bool | np.bool_):
            raise PlanError(f"{name} is {value!r}; give True or False.")
    n_features = samples.shape[1]
    means = samples.mean(axis=0) if shift else np.zeros(n_features)
    if not standardise:
        return means, np.ones(n_features)
    scales = np.sqrt(np.mean((samples - means) ** 2, axis=0))
    flat = scales <= 1e-12 * np.abs(samples).max(axis=0)  # but for rounding of the mean
    return means, np.where(flat, 1.0, scales)


def as_seen(tasks: Tasks, means: Array, scales: Array) -> Tasks:
    """Return tasks with standardised features."""
    return Tasks(tuple((x - means) / scales for x in tasks.features), tasks.targets)
