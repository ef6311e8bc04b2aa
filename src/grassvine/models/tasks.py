r"""A fitted model of related regressions.

A task t with features x predicts

    b_t + zᵀUw_t,   z = (x − means) / scales

with the basis U, means and scales shared, weights w_t and intercept b_t private. A task is solved
from its samples by ridge regression within the subspace, with the penalty

    ½λ Σ_i (w_ti / s_i)²

where the strengths s are shared too: 1, unless some directions are more common than others. The
intercept is not penalised, so it is eliminated by centring the samples of each task.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.data.ids import UNKNOWN, Ids, as_column
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices, as_basis, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
from grassvine.models.unknown import OnUnknown, as_choice, refuse_unknown
from grassvine.problems.multitask import MultitaskProblem


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePart:
    """What all tasks share; it holds no sample and may travel.

    Parameters
    ----------
    features : tuple of str
        Their names, all different.
    basis : features×rank array
        U, orthonormal.
    means, scales : array, one a feature
        With which features are standardised; scales are positive.
    alpha : float
        The penalty on the weights of a task.
    intercepts : bool
        Whether a task has an intercept of its own.
    strengths : array, one a direction, optional
        s, how readily tasks take up each direction; all 1 where left out.
    """

    features: tuple[str, ...]
    basis: Array
    means: Array
    scales: Array
    alpha: float = 0.0
    intercepts: bool = True
    strengths: Array = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        """Check that everything fits together."""
        features = tuple(self.features)
        if len(set(features)) != len(features):
            twice = next(name for name in features if features.count(name) > 1)
            raise BasisError(f"two features are called {twice!r}; give each a name of its own.")
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
                    f"give {count} finite numbers, one a {each}."
                )
            object.__setattr__(self, name, vector)
        if not (self.scales > 0.0).all():
            raise BasisError("a scale is not positive; give 1 for a feature that does not vary.")
        if not (self.strengths > 0.0).all():
            raise BasisError("a strength is not positive; leave its direction out of the basis.")
        object.__setattr__(
            self, "alpha", real_number("alpha", self.alpha, least=0.0, error=BasisError)
        )

    @property
    def rank(self) -> int:
        """The dimension of the subspace."""
        return self.basis.shape[1]

    def standardised(self, features: ArrayLike) -> Array:
        """Return samples as the model sees them."""
        given = as_matrix(
            features, rank=len(self.features), name="the feature matrix", error=DataError
        )
        return (given - self.means) / self.scales

    def solve(self, tasks: Tasks) -> tuple[Array, Array]:
        """Return weights (tasks×rank) and intercepts of tasks; zero for one without samples."""
        seen = Tasks(tuple(self.standardised(x) for x in tasks.features), tasks.targets)
        problem = MultitaskProblem(centred(seen) if self.intercepts else seen, self.alpha)
        # With w = s·v the penalty on v is a plain one.
        weights = problem.weights(self.basis * self.strengths) * self.strengths
        if not self.intercepts:
            return weights, np.zeros(tasks.n_tasks)
        intercepts = [
            float(np.mean(y - x @ (self.basis @ w))) if len(y) else 0.0
            for x, y, w in zip(seen.features, seen.targets, weights, strict=True)
        ]
        return weights, np.array(intercepts)


@dataclass(frozen=True, slots=True, eq=False)
class TaskPart:
    """What belongs to single tasks, and stays: weights, intercepts, how many samples they had."""

    tasks: Ids
    weights: Array
    intercepts: Array
    counts: Indices

    def __post_init__(self) -> None:
        """Check that everything fits together."""
        n_tasks = len(self.tasks)
        if not n_tasks:
            raise DataError("a private part without tasks is none; leave it out.")
        weights = as_matrix(self.weights, n_items=n_tasks, name="weights")
        intercepts = as_numbers(self.intercepts, name="intercepts", error=BasisError)
        counts = np.asarray(self.counts)
        if intercepts.shape != (n_tasks,) or not np.isfinite(intercepts).all():
            raise BasisError(
                f"intercepts have shape {intercepts.shape} or are not all finite; "
                f"give {n_tasks} finite numbers, one a task."
            )
        if counts.shape != (n_tasks,) or counts.dtype.kind != "i" or (counts < 0).any():
            raise BasisError(
                f"counts are no list of whole numbers from 0; give {n_tasks}, one a task."
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "intercepts", intercepts)
        object.__setattr__(self, "counts", counts.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class TaskPredictions:
    """A target for each sample, and whether its task is known to the model."""

    targets: Array
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TasksModel:
    """What was learned from related regressions; a task is *known* if it had samples."""

    shared: FeaturePart
    private: TaskPart | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if self.private is not None and self.private.weights.shape[1] != self.shared.rank:
            raise DataError(
                f"the shared part has rank {self.shared.rank}, the private part "
                f"{self.private.weights.shape[1]}; give parts of one model."
            )

    def predict(
        self, features: ArrayLike, tasks: object, on_unknown: OnUnknown = "raise"
    ) -> TaskPredictions:
        """Predict the target of each sample.

        Parameters
        ----------
        features : samples×features array
        tasks : list, array or series of ids
            The task of each sample.
        on_unknown : {"raise", "nan", "fallback"}
            For tasks that are not known; ``"fallback"`` is the mean of what the known ones predict.
        """
        as_choice(on_unknown)
        reduced = self.shared.standardised(features) @ self.shared.basis
        asked = as_column(tasks, "task")
        if len(asked) != len(reduced):
            raise DataError(
                f"there are {len(reduced)} samples and {len(asked)} tasks; "
                "give one task per sample."
            )
        if self.private is None:
            numbers, why = np.full(len(asked), UNKNOWN), "it was loaded without tasks"
        else:
            numbers = self.private.tasks.numbers(asked, "task")
            numbers = np.where(self.private.counts[numbers] > 0, numbers, UNKNOWN)
            why = "it has seen no sample of theirs"
        known = numbers != UNKNOWN
        if on_unknown == "raise":
            refuse_unknown("task", asked, known, why)
        targets = np.full(len(asked), np.nan)
        if self.private is not None:
            mine = numbers[known]
            products = np.einsum("kr,kr->k", reduced[known], self.private.weights[mine])
            targets[known] = products + self.private.intercepts[mine]
        if on_unknown == "fallback" and not known.all():
            weights, intercept = self._mean_task()
            targets[~known] = reduced[~known] @ weights + intercept
        return TaskPredictions(targets, known)

    def fold_in(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return the model of the given tasks alone, solved within the subspace.

        The arguments have a row, a target and the id of a task per sample.
        """
        ids, samples = grouped(features, targets, tasks)
        counts = np.array([len(y) for y in samples.targets], dtype=np.int64)
        return replace(self, private=TaskPart(ids, *self.shared.solve(samples), counts))

    def with_tasks(self, features: ArrayLike, targets: ArrayLike, tasks: object) -> "TasksModel":
        """Return the model with these tasks besides its own.

        Samples are not kept: a task that is here already is solved from the given ones alone.
        """
        import polars as pl

        other = self.fold_in(features, targets, tasks)
        old, new = self.private, other.private
        if old is None or new is None:
            return other
        kept = np.setdiff1d(np.arange(len(old.tasks)), old.tasks.numbers(new.tasks.series, "task"))
        stay = old.tasks.at(kept)
        ids, number = Ids.number(pl.concat([stay, new.tasks.series.cast(stay.dtype)]), "task")
        order = np.argsort(number)
        private = TaskPart(
            ids,
            np.concatenate([old.weights[kept], new.weights])[order],
            np.concatenate([old.intercepts[kept], new.intercepts])[order],
            np.concatenate([old.counts[kept], new.counts])[order],
        )
        return replace(self, private=private)

    def _mean_task(self) -> tuple[Array, float]:
        if self.private is None or not (filled := self.private.counts > 0).any():
            raise DataError(
                "the fallback is the mean of the known tasks, and this model knows none; load it "
                "with its private part, or fold tasks in."
            )
        intercepts = self.private.intercepts[filled]
        return self.private.weights[filled].mean(axis=0), float(intercepts.mean())


def centred(tasks: Tasks) -> Tasks:
    """Return the samples of each task less their mean, which eliminates its intercept."""
    return Tasks(
        tuple(x - x.mean(axis=0) if len(x) else x for x in tasks.features),
        tuple(y - y.mean() if len(y) else y for y in tasks.targets),
    )


def grouped(features: ArrayLike, targets: ArrayLike, tasks: object) -> tuple[Ids, Tasks]:
    """Return the ids of the tasks that occur, and the samples of each in the order given."""
    ids, number = Ids.number(tasks, "task")
    matrix = as_matrix(features, name="the feature matrix", error=DataError)
    vector = as_numbers(targets, name="the target list", error=DataError)
    if not (len(number),) == (len(matrix),) == vector.shape:
        raise DataError(
            f"there are {len(matrix)} samples, targets of shape {vector.shape} and {len(number)} "
            "tasks; give one target and one task per sample."
        )
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise DataError(f"target {place} is {vector[place]}; leave such samples out.")
    order = np.argsort(number, kind="stable")
    cuts = np.cumsum(np.bincount(number, minlength=len(ids)))[:-1]
    return ids, Tasks.from_arrays(np.split(matrix[order], cuts), np.split(vector[order], cuts))
