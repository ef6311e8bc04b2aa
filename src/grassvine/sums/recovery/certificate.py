r"""Whether a fit without residual is the table: an estimate of its error at the unknown entries.

Few entries can be fitted by a wrong table, and entries that hardly determine an item or a user turn
a small residual into a large error. With the others fixed, the residuals e_j of a user move its
column of the table by at most ‖e_j‖λ_min(S_j)^{-1/2}, where S_j = Σ u uᵀ; those of an item move its
row similarly, with the blocks M_i of the Hessian relative to the Gram matrix G. The estimate is

.. math:: 4‖e‖ \big(p \big(Σ_j \mathrm{tr}\,S_j^{-1} + Σ_i \mathrm{tr}\,M_i^{-1}G\big)\big)^{1/2}

relative to the known entries, p being their density. The sum is about its largest term where it
matters; 4 is for what users and items do to each other. A table is certified if the estimate is
below a thousandth of its smallest singular value, so that every direction of it is right.
"""

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.problems.base import CompletesRatings
from grassvine.sums.descent.points import Point
from grassvine.sums.descent.preconditioners import unpacked
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Subprogram, all_reduce, decide

SAFETY, ENOUGH = 4.0, 1e-3
# Singular values below this fraction of the largest are not of the table, but rounding.
LEAST_SINGULAR = 1e-9
LEAST_EIGENVALUE = 1e-15
UNDETERMINED = 1e30  # instead of infinity, which messages may not contain


def determined(
    problem: Own[CompletesRatings], ratings: Own[Ratings], point: Point, relative: float
) -> Subprogram[bool]:
    """Return whether a fit determines the unknown entries too.

    The parameters are those of :func:`estimated_error`.
    """
    estimate = yield from estimated_error(problem, ratings, point, relative)
    scales, _ = _singular_values(point)
    return (yield from decide(estimate <= ENOUGH * float(scales[0] / np.linalg.norm(scales))))


def estimated_error(
    problem: Own[CompletesRatings], ratings: Own[Ratings], point: Point, relative: float
) -> Subprogram[float]:
    """Return an estimate of the error of the whole table, relative to it.

    Parameters
    ----------
    problem : Own of CompletesRatings
        The problems that were solved.
    ratings : Own of Ratings
        All ratings, also those of users that were left out.
    point : Point
        The fit.
    relative : float
        Its residual, relative to the known entries.
    """

    def own(data: Data) -> tuple[Array, Array, float, float]:
        known = data[ratings]
        return (
            data[problem].item_blocks(point.basis),
            known.item_counts().astype(np.float64),
            user_traces(known, point.basis),
            float(np.count_nonzero(np.diff(known.starts))),
        )

    blocks, counts, users, n_users = yield from all_reduce(point.iterate, own)
    rated = counts > 0.0
    scales, axes = _singular_values(point)
    scaled = axes / scales
    eigenvalues = np.linalg.eigvalsh(scaled.T @ unpacked(blocks[rated], len(axes)) @ scaled)
    items = float(np.sum(1.0 / np.maximum(eigenvalues, LEAST_EIGENVALUE)))
    density = float(counts.sum()) / (float(np.count_nonzero(rated)) * max(float(n_users), 1.0))
    return SAFETY * relative * float(np.sqrt(density * (items + float(users))))


def _singular_values(point: Point) -> tuple[Array, Array]:
    """Return the singular values of the fitted table, ascending, and their axes in its basis."""
    squares, axes = np.linalg.eigh(point.gram)
    kept = squares > LEAST_SINGULAR**2 * squares[-1]
    return np.sqrt(squares[kept]), axes[:, kept]


def user_traces(ratings: Ratings, basis: Array) -> float:
    """Return Σ tr S_j⁻¹ over users with ratings."""
    from grassvine.sums.recovery import _kernels  # numba takes most of a second to import

    traces = np.zeros(1)
    _kernels.add_traces(
        0, ratings.n_users, ratings.starts, ratings.items, basis, LEAST_EIGENVALUE, traces
    )
    return min(float(traces[0]), UNDETERMINED)
