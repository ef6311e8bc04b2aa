r"""A factorisation with uncertain items and users: what agents share, and how they improve it.

.. math::

    y_{ij} = u_i·w_j + e_{ij}, \qquad e \sim N(0, s), \quad
    u_i \sim N(0, \mathrm{diag}\,c), \quad w_j \sim N(0, \mathrm{diag}\,d)

The items have posteriors N(u_i, C_i) that all agents know; the posterior of a user is a pure
function of them and of its own ratings. One pass sums

.. math::

    S_i = Σ_j (w_j w_j^⊤ + V_j), \quad h_i = Σ_j (e_{ij} w_j + V_j u_i), \quad
    q = Σ_{ij} (e_{ij}^2 + u_i^⊤ V_j u_i), \quad Σ_j \mathrm{diag}(w_j w_j^⊤ + V_j)

with e = u·w − y: m(k + k(k+1)/2) + k + 1 numbers. From these everyone computes the same step,
with Λ = s diag(c)⁻¹,

.. math::

    Q_i = (S_i + Λ)^{-1}, \quad δ_i = −Q_i(h_i + Λu_i), \quad u_i ← u_i + δ_i, \quad C_i = s Q_i,

and the new variance is the expected squared error after it, of which all terms are small when the
errors are: s = (q + Σ 2δ_i·h_i + δ_iᵀS_iδ_i + tr C_iS_i)/N.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.problems.base import CompletesRatings
from grassvine.problems.blocks import add_blocks, entries_of_block, user_blocks
from grassvine.sums.descent.preconditioners import unpacked

# Relative to the mean squared rating: below is rounding.
LEAST_VARIANCE = 1e-28
# So that a table of zeros, or of lower rank, leads to no division by zero.
LEAST_SCALE, TINY = 1e-200, 1e-300


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals over all agents: users with ratings, ratings, and their mean square."""

    n_users: float
    n_ratings: float
    mean_square: float


@dataclass(frozen=True, eq=False)
class ItemPosterior:
    """What all agents know: item means and covariances, prior scales and the error variance.

    Attributes
    ----------
    means : array of shape (n_items, k)
        u_i.
    covariances : array of shape (n_items, k(k+1)/2)
        C_i as packed lower triangles.
    item_scales, user_scales : array of shape (k,)
        c and d, the prior variances.
    variance : float
        s.
    """

    means: Array
    covariances: Array
    item_scales: Array
    user_scales: Array
    variance: float

    @cached_property
    def basis(self) -> Array:
        """An orthonormal basis of the means, whose signs are the same on all machines."""
        basis, triangle = np.linalg.qr(self.means)
        return np.ascontiguousarray(basis * np.where(np.diag(triangle) < 0.0, -1.0, 1.0))

    def appended(self, direction: Array, scale: float, counts: Counts) -> "ItemPosterior":
        """Return the model with one more factor of the given size, and no item uncertainty.

        The scale is the norm of the users' weights with this normalised direction.
        """
        size = self.means.shape[1] + 1
        scale = max(scale, LEAST_SCALE)
        return ItemPosterior(
            np.ascontiguousarray(np.column_stack([self.means, direction * np.sqrt(scale)])),
            np.zeros((len(self.means), size * (size + 1) // 2)),
            np.append(self.item_scales, scale / len(self.means)),
            np.append(self.user_scales, scale / counts.n_users),
            2.0 * self.variance,
        )


def empty_posterior(n_items: int, counts: Counts) -> ItemPosterior:
    """Return the model without factors."""
    nothing = np.zeros((n_items, 0))
    variance = max(counts.mean_square, TINY)
    return ItemPosterior(nothing, nothing, np.zeros(0), np.zeros(0), variance)


def pass_over(
    problem: CompletesRatings, model: ItemPosterior
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Return the residuals y − u·w of all ratings, and this agent's part of the sums.

    The sums are the packed S_i, h_i, the squares of the weights, and q.
    """
    from grassvine.sums.recovery import _kernels  # numba takes most of a second to import

    ratings: Ratings = problem.ratings
    rank = model.means.shape[1]
    residuals = ratings.values.copy()
    ridge = model.variance / model.user_scales

    def run(users: tuple[int, int], sums: list[Array]) -> None:
        first, last = users
        starts, items, values = entries_of_block(ratings, users)
        low, high = ratings.starts[first], ratings.starts[last]
        _kernels.pass_over_users(
            first,
            last,
            starts,
            items,
            values,
            model.means,
            model.covariances,
            ridge,
            model.variance,
            residuals[low:high],
            *sums,
        )

    shapes = (model.covariances.shape, model.means.shape, (rank,), (1,))
    sums = add_blocks(run, user_blocks(ratings), shapes, problem.threads)
    return residuals, (sums[0], sums[1], sums[2], sums[3])


def improved(model: ItemPosterior, counts: Counts, sums: list[Array]) -> ItemPosterior:
    """Return the model after a step of all items."""
    packed, gradient, squares, (error,) = sums
    rank = model.means.shape[1]
    moments = unpacked(packed, rank)
    ridge = model.variance / model.item_scales
    inverse = np.linalg.inv(moments + np.diag(ridge))
    step = -np.einsum("iab,ib->ia", inverse, gradient + ridge * model.means)
    means = model.means + step
    covariances = model.variance * inverse
    expected = (
        float(error)
        + 2.0 * float(np.sum(step * gradient))
        + float(np.einsum("ia,iab,ib->", step, moments, step))
        + float(np.sum(covariances * moments))
    )
    least = max(LEAST_VARIANCE * counts.mean_square, TINY)
    rated = packed[:, 0] > 0.0
    squared = means**2 + np.einsum("iaa->ia", covariances)
    rows, columns = np.tril_indices(rank)
    return ItemPosterior(
        means,
        np.ascontiguousarray(covariances[:, rows, columns]),
        np.maximum(squared[rated].mean(axis=0), LEAST_SCALE),
        np.maximum(squares / counts.n_users, LEAST_SCALE),
        max(expected / counts.n_ratings, least),
    )
