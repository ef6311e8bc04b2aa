r"""The parts of fitted models of related regressions.

The shared part says how to solve a task from its samples. In a :class:`FeaturePart` the weights of
all tasks lie in a subspace U, and for task t and features x the prediction is

    b_t + zᵀUw_t,   z = (x − means) / scales

with weights w_t by ridge regression within the subspace, regularised by

    ½λ Σ_i (w_ti / s_i)²

where the strengths s are 1 unless tasks use some directions more than others. The intercept is not
regularised, so centring the samples of each task eliminates it. Another shared part is
:class:`grassvine.models.tasks.prior.PriorPart`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from grassvine.data.ids import Ids
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices, as_basis, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number
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

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> regressor = gv.MultitaskRegressor(method="exact", rank=2).fit(X, y, tasks=schools)
    >>> regressor.model_.shared.basis.shape
    (5, 2)
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
        features = unique_names(self.features)
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

    @property
    def n_weights(self) -> int:
        """The number of weights of a task."""
        return self.rank

    def standardised(self, features: ArrayLike) -> Array:
        """Return features standardised with the means and scales of the model."""
        return standardised_by(features, self.features, self.means, self.scales)

    def coordinates(self, features: ArrayLike) -> Array:
        """Return the features by which the weights of a task are multiplied."""
        return self.standardised(features) @ self.basis

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

    def tasks_from(self, ids: Ids, tasks: Tasks) -> "TaskPart":
        """Return the private part of tasks with these samples."""
        return TaskPart(ids, *self.solve(tasks), sample_counts(tasks))


@dataclass(frozen=True, slots=True, eq=False)
class TaskPart:
    """The private part of a tasks model: what is known of each task.

    Parameters
    ----------
    tasks : Ids
    weights : array of shape (n_tasks, n_weights)
    intercepts : array of shape (n_tasks,)
    counts : array of shape (n_tasks,)
        Numbers of samples.
    rows, sizes : array, optional
        What the uncertainty of the weights follows from, where the shared part has a prior: rows
        R_t of each task one below the other, with R_tᵀR_t = X_tᵀX_t, and how many there are.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> part = gv.MultitaskRegressor().fit(X, y, tasks=schools).model_.private
    >>> len(part.tasks), int(part.counts.sum()) == len(y)
    (12, True)
    """

    tasks: Ids
    weights: Array
    intercepts: Array
    counts: Indices
    rows: Array | None = None
    sizes: Indices | None = None

    def __post_init__(self) -> None:
        """Check that all arrays are consistent."""
        n_tasks = len(self.tasks)
        if not n_tasks:
            raise DataError("the private part has no tasks; pass None instead.")
        weights = as_matrix(self.weights, n_items=n_tasks, name="weights")
        intercepts = as_numbers(self.intercepts, name="intercepts", error=BasisError)
        if intercepts.shape != (n_tasks,) or not np.isfinite(intercepts).all():
            raise BasisError(
                f"intercepts have shape {intercepts.shape} or are not all finite; "
                f"pass {n_tasks} finite numbers, one per task."
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "intercepts", intercepts)
        object.__setattr__(self, "counts", _as_counts("counts", self.counts, n_tasks))
        if self.rows is None or self.sizes is None:
            return
        rows = as_matrix(self.rows, name="rows", allow_empty=True)
        sizes = _as_counts("sizes", self.sizes, n_tasks)
        # Bound each size first: the sum of malicious ones could overflow.
        if (sizes > len(rows)).any() or sizes.sum() != len(rows):
            raise BasisError(f"the sizes do not add up to the {len(rows)} rows; pass one per task.")
        if (sizes > self.counts).any() or ((self.counts > 0) > (sizes > 0)).any():
            raise BasisError("a task has more rows than samples, or none; pass its own rows.")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "sizes", sizes)

    def with_others(self, other: "TaskPart") -> "TaskPart":
        """Return both parts as one; a task of both is taken from the other."""
        import polars as pl

        kept = np.setdiff1d(
            np.arange(len(self.tasks)), self.tasks.numbers(other.tasks.series, "task")
        )
        kept_ids = self.tasks.at(kept)
        new_ids = other.tasks.series.cast(kept_ids.dtype)
        ids, number = Ids.number(pl.concat([kept_ids, new_ids]), "task")
        order = np.argsort(number)

        def both(of_self: Array, of_other: Array) -> Array:
            return np.concatenate([of_self[kept], of_other])[order]

        part = TaskPart(
            ids,
            both(self.weights, other.weights),
            both(self.intercepts, other.intercepts),
            np.concatenate([self.counts[kept], other.counts])[order],
        )
        if self.rows is None or other.rows is None:
            return part
        each = [self._rows_of(task) for task in kept]
        each += [other._rows_of(task) for task in range(len(other.tasks))]
        chosen = [each[task] for task in order]
        sizes = np.array([len(rows) for rows in chosen], dtype=np.int64)
        return replace(part, rows=np.vstack(chosen), sizes=sizes)

    def _rows_of(self, task: int) -> Array:
        assert self.rows is not None and self.sizes is not None
        last = int(self.sizes[: task + 1].sum())
        return self.rows[last - int(self.sizes[task]) : last]


def centred(tasks: Tasks) -> Tasks:
    """Return the tasks with centred samples, which eliminates the intercepts."""
    return Tasks(
        tuple(x - x.mean(axis=0) if len(x) else x for x in tasks.features),
        tuple(y - y.mean() if len(y) else y for y in tasks.targets),
    )


def sample_counts(tasks: Tasks) -> Indices:
    """Return the number of samples of each task."""
    return np.array([len(y) for y in tasks.targets], dtype=np.int64)


def _as_counts(name: str, given: Indices, n_tasks: int) -> Indices:
    counts = np.asarray(given)
    if counts.shape != (n_tasks,) or counts.dtype.kind != "i" or (counts < 0).any():
        raise BasisError(
            f"{name} are not an array of non-negative integers; pass {n_tasks}, one per task."
        )
    return counts.astype(np.int64)


def unique_names(features: Sequence[str]) -> tuple[str, ...]:
    """Return the names of features; repeated ones are refused."""
    names = tuple(features)
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise BasisError(f"two features are named {repeated!r}; pass unique names.")
    return names


def standardised_by(
    features: ArrayLike, names: tuple[str, ...], means: Array, scales: Array
) -> Array:
    """Return features standardised with means and scales."""
    given = as_matrix(features, rank=len(names), name="the feature matrix", error=DataError)
    return (given - means) / scales
