"""Related regression tasks: each has its own samples of the same features."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grassvine.foundations.arrays import Array, as_matrix, as_numbers
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Features X_t (samples×items) and targets y_t of each task t.

    Features are the *items*: the axis that all tasks share, and the axis of the subspace. Use
    :meth:`from_arrays` to create tasks with validation.

    Attributes
    ----------
    features : tuple of arrays of shape (n_samples, n_items)
    targets : tuple of arrays of shape (n_samples,)

    Examples
    --------
    >>> import grassvine as gv
    >>> tasks = gv.Tasks.from_arrays([[[1.0, 2.0], [0.0, 1.0]], [[3.0, 1.0]]], [[1.0, 0.0], [2.0]])
    >>> tasks.n_tasks, tasks.n_items, tasks.n_values
    (2, 2, 3)
    """

    features: tuple[Array, ...]
    targets: tuple[Array, ...]

    @property
    def n_items(self) -> int:
        """Number of features."""
        return self.features[0].shape[1]

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.targets)

    @property
    def n_values(self) -> int:
        """Total number of samples of all tasks."""
        return sum(len(target) for target in self.targets)

    def take_tasks(self, first: int, last: int) -> "Tasks":
        """Return tasks first … last−1."""
        return Tasks(self.features[first:last], self.targets[first:last])

    def take_samples(self, chosen: Sequence[NDArray[np.bool_]]) -> "Tasks":
        """Return the samples selected by one mask per task; a task may end up with none."""
        return Tasks(
            tuple(x[mine] for x, mine in zip(self.features, chosen, strict=True)),
            tuple(y[mine] for y, mine in zip(self.targets, chosen, strict=True)),
        )

    @classmethod
    def from_arrays(cls, features: Sequence[ArrayLike], targets: Sequence[ArrayLike]) -> "Tasks":
        """Build tasks from one feature matrix and one target vector per task."""
        if len(features) != len(targets):
            raise DataError(
                f"got features for {len(features)} tasks and targets for {len(targets)}; "
                "pass both for every task."
            )
        if len(features) == 0:
            raise DataError("there are no tasks; pass at least one.")
        matrices: list[Array] = []
        vectors: list[Array] = []
        for number, (x, y) in enumerate(zip(features, targets, strict=True)):
            n_items = matrices[0].shape[1] if matrices else None
            name = f"the feature matrix of task {number}"
            matrix = as_matrix(x, rank=n_items, name=name, error=DataError)
            vector = as_numbers(y, name=f"the target list of task {number}", error=DataError)
            if vector.shape != (len(matrix),):
                raise DataError(
                    f"task {number} has {len(matrix)} samples and targets of shape "
                    f"{vector.shape}; pass one target per sample."
                )
            if not np.isfinite(vector).all():
                place = int(np.flatnonzero(~np.isfinite(vector))[0])
                raise DataError(
                    f"target {place} of task {number} is {vector[place]}; remove such samples."
                )
            matrices.append(matrix)
            vectors.append(vector)
        return cls(tuple(matrices), tuple(vectors))
