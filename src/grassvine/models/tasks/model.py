"""Fitted models of related regressions: predictions, new tasks."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.data.ids import UNKNOWN, Ids, as_column
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, as_matrix, as_numbers
from grassvine.foundations.described import Described
from grassvine.foundations.errors import DataError, Option
from grassvine.models.tasks.parts import FeaturePart, TaskPart
from grassvine.models.tasks.prior import PriorPart
from grassvine.models.unknown import (
    FALLBACK,
    OnUnknown,
    check_known,
    check_on_unknown,
    warn_unknown,
)

SharedPart: TypeAlias = FeaturePart | PriorPart


@dataclass(frozen=True, slots=True, eq=False)
class TaskPredictions:
    """A target for each sample, and whether its task is known to the model.

    ``deviations`` are the standard deviations of the targets, if they were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> model = gv.MultitaskRegressor().fit(X, y, tasks=schools).model_
    >>> found = model.predict(X[:2], [0, 99], on_unknown="fallback", deviations=True)
    >>> found.known.tolist()
    [True, False]
    """

    targets: Array
    known: NDArray[np.bool_]
    deviations: Array | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TasksModel(Described):
    """A model fitted to related regressions; a task is *known* if it had samples.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> model = gv.MultitaskRegressor().fit(X, y, tasks=schools).model_
    >>> bool(np.abs(model.predict(X, schools).targets - y).max() < 0.01)
    True
    """

    shared: SharedPart
    private: TaskPart | None = None

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        private, width = self.private, self.shared.n_weights
        if private is None:
            return
        if private.weights.shape[1] != width:
            raise DataError(
                f"the shared part has {width} weights for each task, the private part "
                f"{private.weights.shape[1]}; pass two parts of the same model."
            )
        wanted = len(self.shared.prior.mean) if isinstance(self.shared, PriorPart) else None
        given = None if private.rows is None else private.rows.shape[1]
        if given != wanted:
            raise DataError(
                f"the rows of the tasks have {given} coefficients and the shared part has "
                f"{wanted}; pass two parts of the same model."
            )

    def predict(
        self,
        features: ArrayLike,
        tasks: object,
        on_unknown: OnUnknown = "raise",
        *,
        deviations: bool = False,
    ) -> TaskPredictions:
        """Predict the target of each sample.

        Parameters
        ----------
        features : array of shape (n_samples, n_features)
        tasks : list, array or series of ids
            The task of each sample.
        on_unknown : {"raise", "nan", "fallback", "warn"}, default="raise"
            What to do with unknown tasks; ``"fallback"`` is the mean prediction of the known tasks,
            or the one expected for a new task, ``"warn"`` the same with a warning.
        deviations : bool, default=False
            Whether to return standard deviations too, which only a :class:`PriorPart` knows.
        """
        check_on_unknown(on_unknown)
        if deviations and not isinstance(self.shared, PriorPart):
            raise DataError(
                "the model knows no standard deviations; fit one with ",
                Option("method", "bayes"),
                ".",
            )
        coordinates = self.shared.coordinates(features)
        asked = as_column(tasks, "task")
        if len(asked) != len(coordinates):
            raise DataError(
                f"got {len(coordinates)} samples and {len(asked)} tasks; pass one task per sample."
            )
        if self.private is None:
            numbers, why = np.full(len(asked), UNKNOWN), "it was loaded without tasks"
        else:
            numbers = self.private.tasks.numbers(asked, "task")
            numbers = np.where(self.private.counts[numbers] > 0, numbers, UNKNOWN)
            why = "it has no samples of such tasks"
        known = numbers != UNKNOWN
        if on_unknown == "raise":
            check_known("task", asked, known, why)
        targets = np.full(len(asked), np.nan)
        if self.private is not None:
            rows = numbers[known]
            products = np.einsum("kr,kr->k", coordinates[known], self.private.weights[rows])
            targets[known] = products + self.private.intercepts[rows]
        if on_unknown in FALLBACK and not known.all():
            weights, intercept, instead = self._typical_task()
            if on_unknown == "warn":
                warn_unknown("samples", {"task": (asked, known)}, instead)
            targets[~known] = coordinates[~known] @ weights + intercept
        if not deviations or not isinstance(self.shared, PriorPart):
            return TaskPredictions(targets, known)
        spread = self.shared.deviations(coordinates, numbers, self.private)
        return TaskPredictions(targets, known, np.where(np.isnan(targets), np.nan, spread))

    def fold_in(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return a model of the given tasks only, solved within the subspace.

        Pass one row of features, one target and one task id per sample.
        """
        ids, samples = grouped(features, targets, tasks)
        return replace(self, private=self.shared.tasks_from(ids, samples))

    def with_tasks(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return the model with these tasks added.

        Samples are not stored: a task already in the model is solved from the given ones only.
        """
        other = self.fold_in(features, targets, tasks)
        if self.private is None or other.private is None:
            return other
        return replace(self, private=self.private.with_others(other.private))

    def _facts(self) -> dict[str, object]:
        private = self.private
        return {
            "rank": self.shared.rank,
            "features": len(self.shared.features),
            "tasks": "none (the private part is missing)"
            if private is None
            else len(private.tasks),
            **({} if private is None else {"samples": int(private.counts.sum())}),
            **({"alpha": self.shared.alpha} if isinstance(self.shared, FeaturePart) else {}),
            "intercepts": self.shared.intercepts,
        }

    def _typical_task(self) -> tuple[Array, float, str]:
        """Return weights and intercept for unknown tasks, and what their prediction is."""
        if isinstance(self.shared, PriorPart):
            return *self.shared.typical(), "they get the prediction expected for a new task"
        if self.private is None or not (known := self.private.counts > 0).any():
            raise DataError(
                "the fallback is the mean of the known tasks, but this model has none; load its "
                "private part, or fold tasks in."
            )
        intercepts = self.private.intercepts[known]
        instead = "they get the mean prediction of the known tasks"
        return self.private.weights[known].mean(axis=0), float(intercepts.mean()), instead


def grouped(features: ArrayLike, targets: ArrayLike, tasks: object) -> tuple[Ids, Tasks]:
    """Return the distinct task ids, and the samples of each task in the given order."""
    ids, number = Ids.number(tasks, "task")
    matrix = as_matrix(features, name="the feature matrix", error=DataError)
    vector = as_numbers(targets, name="the target list", error=DataError)
    if not (len(number),) == (len(matrix),) == vector.shape:
        raise DataError(
            f"got {len(matrix)} samples, targets of shape {vector.shape} and {len(number)} tasks; "
            "pass one target and one task per sample."
        )
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise DataError(f"target {place} is {vector[place]}; drop samples without a finite target.")
    order = np.argsort(number, kind="stable")
    cuts = np.cumsum(np.bincount(number, minlength=len(ids)))[:-1]
    return ids, Tasks.from_arrays(np.split(matrix[order], cuts), np.split(vector[order], cuts))
