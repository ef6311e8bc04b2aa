"""Samples of one agent, some of whose values are missing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.data.split import hold_out_entries
from grassvine.foundations.arrays import Array, as_numbers
from grassvine.foundations.errors import DataError
from grassvine.problems.base import Problem, as_problem_of
from grassvine.sums.incomplete.model import FactorModel


@dataclass(frozen=True, slots=True, eq=False)
class FactorEvaluation:
    """−log p(x) but for a constant, and the squared error at the known values."""

    cost: float
    squared_error: float


@dataclass(frozen=True)
class IncompleteSamples:
    """Samples of one agent, for :class:`IncompletePCA`.

    Parameters
    ----------
    samples : array of shape (n_samples, n_items)
        Missing values are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.sums import IncompleteSamples
    >>> IncompleteSamples(np.array([[1.0, np.nan], [0.5, 2.0], [0.0, 1.0]])).n_values
    5
    """

    samples: Array

    def __post_init__(self) -> None:
        """Check the samples."""
        samples = as_numbers(self.samples, name="the sample matrix", error=DataError)
        if samples.ndim != 2 or samples.shape[1] == 0:
            raise DataError(
                f"the sample matrix has shape {samples.shape}; pass one row per sample."
            )
        if np.isinf(samples).any():
            raise DataError("the sample matrix contains an infinite number; correct it.")
        object.__setattr__(self, "samples", samples)

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.samples.shape[1]

    @cached_property
    def n_values(self) -> int:
        """The number of known values."""
        return int(np.count_nonzero(~np.isnan(self.samples)))

    def hold_out(self, share: float, seed: int) -> "tuple[IncompleteSamples, Array]":
        """Return the samples without a random share of their values, and those, else NaN."""
        held = hold_out_entries(self.samples, share, seed)
        rest = IncompleteSamples(np.where(held, np.nan, self.samples))
        return rest, np.where(held, self.samples, np.nan)

    def evaluate(self, model: FactorModel) -> FactorEvaluation:
        """Return cost and squared error of the samples."""
        cost = squared_error = 0.0
        for block in model.blocks(self.samples):
            found = model.scores(block)
            errors = (found.means @ model.loadings.T) * found.known - found.differences
            weighted = errors / model.noise
            cost += 0.5 * (
                float(np.sum(found.known @ np.log(model.noise)))
                + float(np.sum(found.log_precisions))
                + float(np.vdot(errors, weighted))
                + float(np.sum(found.means**2))
            )
            squared_error += float(np.vdot(errors, errors))
        return FactorEvaluation(cost, squared_error)


def as_incomplete(problem: Problem) -> IncompleteSamples:
    """Return a problem of this kind; another one is refused."""
    return as_problem_of(
        IncompleteSamples, problem, "expects samples with missing values", "samples"
    )
