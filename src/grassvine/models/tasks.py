r"""Fitted models of related regressions.

For task t and features x the prediction is

    b_t + zᵀUw_t,   z = (x − means) / scales

where the basis U, means and scales are shared, and weights w_t and intercept b_t are private. A
task is solved from its samples by ridge regression within the subspace, regularised by

    ½λ Σ_i (w_ti / s_i)²

where the strengths s are shared too, and are 1 unless tasks use some directions more than others.
The intercept is not regularised, so centring the samples of each task eliminates it.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.data.ids import UNKNOWN, Ids, as_column
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices, as_basis, as_matrix, as_numbers
from grassvine.foundations.described import Described
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
from grassvine.models.unknown import (
    FALLBACK,
    OnUnknown,
    check_known,
    check_on_unknown,
    warn_unknown,
)
from grassvine.problems.multitask import MultitaskProblem


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePart:
    """The shared part of a tasks model; it contains no samples and may be passed on.

    Parameters
    ----------
    features : tuple of str
        Unique names.
    basis : array of shape (n_features, rank)
        U, with orthonormal columns.
    means, scales : array of shape (n_features,)
        Standardise the features; scales are positive.
    alpha : float, default=0.0
        Regularisation strength λ of the weights of a task.
    intercepts : bool, default=True
        Whether each task has an intercept.
    strengths : array of shape (rank,), optional
        s, the scale of the weights along each direction; all 1 by default.
    """

    features: tuple[str, ...]
    basis: Array
    means: Array
    scales: Array
    alpha: float = 0.0
    intercepts: bool = True
    strengths: Array = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        """Check that all arrays are consistent."""
        features = tuple(self.features)
        if len(set(features)) != len(features):
            repeated = next(name for name in features if features.count(name) > 1)
            raise BasisError(f"two features are named {repeated!r}; pass unique names.")
        basis = as_basis(self.basis, n_items=len(features))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "basis", basis)
        if not np.size(self.strengths):
            object.__setattr__(self, "strengths", np.ones(self.rank))
        for name, count, each in (
            ("means", len(features), "feature"),
            ("scales", len(features), "feature"),
            ("strengths", self.rank, "direction"),
        ):
            vector = as_numbers(getattr(self, name), name=name, error=BasisError)
            if vector.shape != (count,) or not np.isfinite(vector).all():
                raise BasisError(
                    f"{name} have shape {vector.shape} or are not all finite; "
                    f"pass {count} finite numbers, one per {each}."
                )
            object.__setattr__(self, name, vector)
        if not (self.scales > 0.0).all():
            raise BasisError("a scale is not positive; pass 1 for a constant feature.")
        if not (self.strengths > 0.0).all():
            raise BasisError("a strength is not positive; drop its direction from the basis.")
        object.__setattr__(
            self, "alpha", real_number("alpha", self.alpha, least=0.0, error=BasisError)
        )

    @property
    def rank(self) -> int:
        """The dimension of the subspace."""
        return self.basis.shape[1]

    def standardised(self, features: ArrayLike) -> Array:
        """Return features standardised with the means and scales of the model."""
        given = as_matrix(
            features, rank=len(self.features), name="the feature matrix", error=DataError
        )
        return (given - self.means) / self.scales

    def solve(self, tasks: Tasks) -> tuple[Array, Array]:
        """Return the weights and intercepts of tasks; both are zero for a task without samples."""
        scaled = Tasks(tuple(self.standardised(x) for x in tasks.features), tasks.targets)
        problem = MultitaskProblem(centred(scaled) if self.intercepts else scaled, self.alpha)
        # Substituting w = s·v makes the regularisation term ½λ‖v‖².
        weights = problem.weights(self.basis * self.strengths) * self.strengths
        if not self.intercepts:
            return weights, np.zeros(tasks.n_tasks)
        intercepts = [
            float(np.mean(y - x @ (self.basis @ w))) if len(y) else 0.0
            for x, y, w in zip(scaled.features, scaled.targets, weights, strict=True)
        ]
        return weights, np.array(intercepts)


@dataclass(frozen=True, slots=True, eq=False)
class TaskPart:
    """The private part of a tasks model: weights, intercepts and sample counts of the tasks."""

    tasks: Ids
    weights: Array
    intercepts: Array
    counts: Indices

    def __post_init__(self) -> None:
        """Check that all arrays are consistent."""
        n_tasks = len(self.tasks)
        if not n_tasks:
            raise DataError("the private part has no tasks; pass None instead.")
        weights = as_matrix(self.weights, n_items=n_tasks, name="weights")
        intercepts = as_numbers(self.intercepts, name="intercepts", error=BasisError)
        counts = np.asarray(self.counts)
        if intercepts.shape != (n_tasks,) or not np.isfinite(intercepts).all():
            raise BasisError(
                f"intercepts have shape {intercepts.shape} or are not all finite; "
                f"pass {n_tasks} finite numbers, one per task."
            )
        if counts.shape != (n_tasks,) or counts.dtype.kind != "i" or (counts < 0).any():
            raise BasisError(
                f"counts are not an array of non-negative integers; pass {n_tasks}, one per task."
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "intercepts", intercepts)
        object.__setattr__(self, "counts", counts.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class TaskPredictions:
    """A target for each sample, and whether its task is known to the model."""

    targets: Array
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TasksModel(Described):
    """A model fitted to related regressions; a task is *known* if it had samples."""

    shared: FeaturePart
    private: TaskPart | None = None

    def __post_init__(self) -> None:
        """Check that the parts are consistent."""
        if self.private is not None and self.private.weights.shape[1] != self.shared.rank:
            raise DataError(
                f"the shared part has rank {self.shared.rank}, the private part "
                f"{self.private.weights.shape[1]}; pass two parts of the same model."
            )

    def predict(
        self, features: ArrayLike, tasks: object, on_unknown: OnUnknown = "raise"
    ) -> TaskPredictions:
        """Predict the target of each sample.

        Parameters
        ----------
        features : array of shape (n_samples, n_features)
        tasks : list, array or series of ids
            The task of each sample.
        on_unknown : {"raise", "nan", "fallback", "warn"}, default="raise"
            What to do with unknown tasks; ``"fallback"`` is the mean prediction of the known tasks,
            ``"warn"`` the same with a warning.
        """
        check_on_unknown(on_unknown)
        reduced = self.shared.standardised(features) @ self.shared.basis
        asked = as_column(tasks, "task")
        if len(asked) != len(reduced):
            raise DataError(
                f"got {len(reduced)} samples and {len(asked)} tasks; pass one task per sample."
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
            products = np.einsum("kr,kr->k", reduced[known], self.private.weights[rows])
            targets[known] = products + self.private.intercepts[rows]
        if on_unknown in FALLBACK and not known.all():
            weights, intercept = self._mean_task()
            if on_unknown == "warn":
                instead = "they get the mean prediction of the known tasks"
                warn_unknown("samples", {"task": (asked, known)}, instead)
            targets[~known] = reduced[~known] @ weights + intercept
        return TaskPredictions(targets, known)

    def fold_in(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return a model of the given tasks only, solved within the subspace.

        Pass one row of features, one target and one task id per sample.
        """
        ids, samples = grouped(features, targets, tasks)
        counts = np.array([len(y) for y in samples.targets], dtype=np.int64)
        return replace(self, private=TaskPart(ids, *self.shared.solve(samples), counts))

    def with_tasks(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return the model with these tasks added.

        Samples are not stored: a task already in the model is solved from the given ones only.
        """
        import polars as pl

        other = self.fold_in(features, targets, tasks)
        old, new = self.private, other.private
        if old is None or new is None:
            return other
        kept = np.setdiff1d(np.arange(len(old.tasks)), old.tasks.numbers(new.tasks.series, "task"))
        kept_ids = old.tasks.at(kept)
        new_ids = new.tasks.series.cast(kept_ids.dtype)
        ids, number = Ids.number(pl.concat([kept_ids, new_ids]), "task")
        order = np.argsort(number)
        private = TaskPart(
            ids,
            np.concatenate([old.weights[kept], new.weights])[order],
            np.concatenate([old.intercepts[kept], new.intercepts])[order],
            np.concatenate([old.counts[kept], new.counts])[order],
        )
        return replace(self, private=private)

    def _facts(self) -> dict[str, object]:
        private = self.private
        return {
            "rank": self.shared.rank,
            "features": len(self.shared.features),
            "tasks": "none (the private part is missing)"
            if private is None
            else len(private.tasks),
            **({} if private is None else {"samples": int(private.counts.sum())}),
            "alpha": self.shared.alpha,
            "intercepts": self.shared.intercepts,
        }

    def _mean_task(self) -> tuple[Array, float]:
        if self.private is None or not (known := self.private.counts > 0).any():
            raise DataError(
                "the fallback is the mean of the known tasks, but this model has none; load its "
                "private part, or fold tasks in."
            )
        intercepts = self.private.intercepts[known]
        return self.private.weights[known].mean(axis=0), float(intercepts.mean())


def centred(tasks: Tasks) -> Tasks:
    """Return the tasks with centred samples, which eliminates the intercepts."""
    return Tasks(
        tuple(x - x.mean(axis=0) if len(x) else x for x in tasks.features),
        tuple(y - y.mean() if len(y) else y for y in tasks.targets),
    )


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
