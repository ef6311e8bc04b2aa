"""The shared part of related regressions whose coefficients have a common normal distribution.

For task t and features x the prediction is b_t + zᵀw_t with z = (x − means) / scales, where w_t and
b_t are posterior means; its variance is that of :mod:`grassvine.sums.hierarchical.prior`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grassvine.data.ids import Ids
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices, as_numbers
from grassvine.foundations.errors import BasisError
from grassvine.foundations.options import whole_number
from grassvine.models.tasks.parts import TaskPart, sample_counts, standardised_by, unique_names
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.prior import CoefficientPrior


@dataclass(frozen=True, slots=True, eq=False)
class PriorPart:
    """The shared part of a tasks model whose coefficients come from one normal distribution.

    It contains no samples and may be passed on.

    Parameters
    ----------
    features : tuple of str
        Unique names.
    means, scales : array of shape (n_features,)
        Standardise the features; scales are positive.
    prior : CoefficientPrior
        The distribution of the coefficients; one more than features if tasks have an intercept,
        the last coefficient.
    rank : int
        Number of columns of :attr:`basis`.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> part = gv.MultitaskRegressor().fit(X, y, tasks=schools).model_.shared
    >>> len(part.prior.mean)  # five features and the intercept
    6
    """

    features: tuple[str, ...]
    means: Array
    scales: Array
    prior: CoefficientPrior
    rank: int

    def __post_init__(self) -> None:
        """Check that all arrays are consistent."""
        features = unique_names(self.features)
        object.__setattr__(self, "features", features)
        if len(self.prior.mean) - len(features) not in (0, 1):
            raise BasisError(
                f"the prior has {len(self.prior.mean)} coefficients for {len(features)} features; "
                "pass one for each feature, and perhaps one for the intercept."
            )
        for name in ("means", "scales"):
            vector = as_numbers(getattr(self, name), name=name, error=BasisError)
            if vector.shape != (len(features),) or not np.isfinite(vector).all():
                raise BasisError(
                    f"{name} have shape {vector.shape} or are not all finite; "
                    f"pass {len(features)} finite numbers, one per feature."
                )
            object.__setattr__(self, name, vector)
        if not (self.scales > 0.0).all():
            raise BasisError("a scale is not positive; pass 1 for a constant feature.")
        most = min(len(features), self.prior.factor.shape[1])
        whole_number("rank", self.rank, least=1, most=most, error=BasisError)

    @property
    def intercepts(self) -> bool:
        """Whether each task has an intercept."""
        return len(self.prior.mean) > len(self.features)

    @property
    def n_weights(self) -> int:
        """The number of weights of a task."""
        return len(self.features)

    @property
    def basis(self) -> Array:
        """Orthonormal directions in which the weights of tasks vary most."""
        return self.prior.directions(len(self.features), self.rank)

    def standardised(self, features: ArrayLike) -> Array:
        """Return features standardised with the means and scales of the model."""
        return standardised_by(features, self.features, self.means, self.scales)

    coordinates = standardised

    def tasks_from(self, ids: Ids, tasks: Tasks) -> TaskPart:
        """Return the private part of tasks with these samples."""
        scaled = Tasks(tuple(self.standardised(x) for x in tasks.features), tasks.targets)
        designs = Designs.of(scaled, intercepts=self.intercepts)
        weights, intercepts = self._split(self.prior.solve(designs))
        return TaskPart(ids, weights, intercepts, sample_counts(tasks), designs.rows, designs.sizes)

    def typical(self) -> tuple[Array, float]:
        """Return the expected weights and intercept of a task of which nothing is known."""
        weights, intercepts = self._split(self.prior.mean[None])
        return weights[0], float(intercepts[0])

    def deviations(self, coordinates: Array, numbers: Indices, known: TaskPart | None) -> Array:
        """Return the standard deviation of the target of each sample.

        Parameters
        ----------
        numbers : array of int
            The row of ``known`` of the task of each sample; negative if it is unknown.
        """
        samples = coordinates
        if self.intercepts:
            samples = np.column_stack([coordinates, np.ones(len(coordinates))])
        if known is None or known.rows is None or known.sizes is None:
            none = np.zeros(0, dtype=np.int64)
            rows, sizes, counts = np.zeros((0, samples.shape[1])), none, none
        else:
            rows, sizes, counts = known.rows, known.sizes, known.counts
        designs = Designs(rows, np.zeros(len(rows)), sizes, np.zeros(len(sizes)), counts)
        return np.sqrt(self.prior.variances(designs, numbers, samples))

    def _split(self, coefficients: Array) -> tuple[Array, Array]:
        weights = np.ascontiguousarray(coefficients[:, : self.n_weights])
        if not self.intercepts:
            return weights, np.zeros(len(weights))
        return weights, np.ascontiguousarray(coefficients[:, -1])
