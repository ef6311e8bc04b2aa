r"""One step of empirical Bayes, from sums over tasks.

The parameters maximise a bound on the evidence, for features of mean square 1 and targets of
variance 1:

.. math::

    F = \log p(y | m, S, σ²) − ½\mathrm{tr}(VH) + \mathrm{E}\log N(m; 0, I/λ) + ½\log|V|
      + \log p(S | τ) + \log p(τ | \bar τ)

with the posterior N(m, V) of the mean, and with H = Σ R_tᵀK_t⁻¹R_t. The two priors have d
pseudo-tasks of variances τ, and five pseudo-features of variance τ̄, for d coefficients:

.. math::

    \log p(S | τ) = ½d(\log|\mathrm{diag}\,τ| − \log|S| − \mathrm{tr}(S^{-1}\mathrm{diag}\,τ))

    \log p(τ | \bar τ) = ½·5Σ_k(\log τ_k − \log \bar τ − τ_k/\bar τ)

Without them S, which has d(d+1)/2 parameters, would fit the noise of few or small tasks. Nothing in
them is a scale: λ and τ̄ are learned. A step of expectation maximisation needs, with
g_t = R_tᵀK_t⁻¹(q_t − R_tm) and H_t = R_tᵀK_t⁻¹R_t, the sums of g_t, H_t, g_tg_tᵀ + H_tVH_t and of
the expected squared errors: d(d+1) + d + 2 numbers.

Where coefficients are many, all this concerns their coordinates Qᵀw in q ≪ d common orthonormal
directions Q, and in all other directions coefficients are independent with the same variance δ and
mean 0:

.. math::

    S = QS_qQᵀ + δ(I − QQᵀ)

Then R_t becomes R_tQ, except in K_t, and one more number of the sums updates δ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.prior import CoefficientPrior

# Pseudo-observations of the priors: tasks for each coefficient, and coefficients.
PSEUDO_TASKS, PSEUDO_COEFFICIENTS = 1.0, 5.0
# Shares of the variance of the targets at the start: noise, and what differs between tasks.
FIRST_NOISE, FIRST_SPREAD = 0.5, 0.1
# Least noise, as a share of the variance of the targets; and least variance of a coefficient.
LEAST_NOISE, LEAST_VARIANCE = 1e-10, 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """The prior, λ, τ and τ̄, in units in which features have mean square and targets variance 1.

    ``directions`` is Q, or None if that is the identity; ``prior`` is that of Qᵀw, and ``rest`` is
    δ.
    """

    prior: CoefficientPrior
    precision: float
    variances: Array
    level: float
    directions: Array | None = None
    rest: float = 0.0

    def of_coefficients(self) -> CoefficientPrior:
        """Return the prior of w itself."""
        prior, directions = self.prior, self.directions
        if directions is None:
            return prior
        values, vectors = np.linalg.eigh(prior.factor @ prior.factor.T)
        beyond = np.sqrt(np.maximum(values - self.rest, 0.0))
        return CoefficientPrior(
            directions @ prior.mean,
            directions @ (vectors * beyond),
            np.full(len(directions), self.rest),
            directions @ prior.mean_factor,
            prior.noise,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The bound F at some parameters, and the next ones."""

    bound: float
    parameters: Parameters


def first_parameters(n_coefficients: int, directions: Array | None = None) -> Parameters:
    """Return where to start: the mean 0, and all coefficients alike."""
    level = FIRST_SPREAD / n_coefficients
    precision = n_coefficients / (1.0 - FIRST_NOISE)
    size = n_coefficients if directions is None else directions.shape[1]
    identity = np.eye(size)
    prior = CoefficientPrior(
        mean=np.zeros(size),
        factor=math.sqrt(level) * identity,
        diagonal=np.zeros(size),
        mean_factor=identity / math.sqrt(precision),
        noise=FIRST_NOISE,
    )
    rest = 0.0 if directions is None else level
    return Parameters(prior, precision, np.full(size, level), level, directions, rest)


def own_sums(designs: Designs, here: Parameters) -> tuple[tuple[Array | float, ...], float]:
    """Return an agent's part of the sums, and the squared error of its tasks."""
    prior, whole = here.prior, here.of_coefficients()
    size, noise = len(prior.mean), prior.noise
    gradient, information, squares = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    cost = squared_error = expected = outside = 0.0
    for block in designs.blocks:
        found = whole.posterior(block)
        own_cost, own_error = whole.errors_of(block, found)
        gradients, rows = found.gradients, found.rows
        if here.directions is not None:
            outside += float(np.sum(gradients**2)) - float(np.sum(rows**2))
            gradients, rows = gradients @ here.directions, rows @ here.directions
            outside -= float(np.sum(gradients**2)) - float(np.sum(rows**2))
        flat = rows.reshape(-1, size)
        known = rows @ prior.mean_factor  # L⁻¹R_tM
        moved = (rows.transpose(0, 2, 1) @ known).transpose(1, 0, 2).reshape(size, -1)
        weighted = found.inverse.transpose(0, 2, 1) @ known  # K_t⁻¹R_tM
        gradient += gradients.sum(axis=0)
        information += flat.T @ flat
        squares += gradients.T @ gradients + moved @ moved.T
        cost, squared_error = cost + own_cost, squared_error + own_error
        expected += noise * (found.errors.size - noise * float(np.sum(found.inverse**2)))
        expected += noise**2 * float(np.sum(weighted**2))
    lower = np.tril_indices(size)
    scalars = np.array([cost, squared_error + expected, outside])
    return (scalars, gradient, information[lower], squares[lower]), squared_error


def next_step(here: Parameters, sums: Sequence[Array], n_tasks: float, n_samples: float) -> Step:
    """Return the bound, and the parameters after a step, from the sums over all agents."""
    from scipy.linalg import solve_triangular  # slow to import, and only this model needs it

    (cost, expected, outside), gradient, information, squares = sums
    prior, size = here.prior, len(here.prior.mean)
    information, squares = _symmetric(information, size), _symmetric(squares, size)
    inverse = solve_triangular(prior.factor, np.eye(size), lower=True)
    precisions = np.sum(inverse**2, axis=0)  # the diagonal of S⁻¹
    bound = -float(cost) + _prior_terms(here, information, precisions)
    pseudo = PSEUDO_TASKS * size
    variances = (pseudo + PSEUDO_COEFFICIENTS) / (
        pseudo * precisions + PSEUDO_COEFFICIENTS / here.level
    )
    variances = np.maximum(variances, LEAST_VARIANCE)
    covariance = prior.factor @ prior.factor.T
    change = covariance @ (squares - information) @ covariance
    moments = n_tasks * covariance + 0.5 * (change + change.T)
    moments[np.diag_indices(size)] += pseudo * variances
    triangle = np.linalg.cholesky(information + here.precision * np.eye(size))
    mean_factor = solve_triangular(triangle, np.eye(size), lower=True, trans="T")
    step = mean_factor @ (mean_factor.T @ (gradient - here.precision * prior.mean))
    mean = prior.mean + step
    after = CoefficientPrior(
        mean=mean,
        factor=np.linalg.cholesky(moments / (n_tasks + pseudo)).astype(np.float64, copy=False),
        diagonal=prior.diagonal,
        mean_factor=mean_factor,
        noise=max(float(expected) / n_samples, LEAST_NOISE),
    )
    precision = size / (float(mean @ mean) + float(np.sum(mean_factor**2)))
    rest = here.rest
    if here.directions is not None:
        n_others = here.directions.shape[0] - size
        rest = max(rest + rest**2 * float(outside) / (n_tasks * n_others), LEAST_VARIANCE)
    level = float(variances.mean())
    return Step(bound, Parameters(after, precision, variances, level, here.directions, rest))


def _prior_terms(here: Parameters, information: Array, precisions: Array) -> float:
    """Return F without the log-likelihood, but for constants."""
    prior, size = here.prior, len(here.prior.mean)
    mean, spread = prior.mean, prior.mean_factor
    of_mean = 0.5 * (
        size * math.log(here.precision)
        - here.precision * (float(mean @ mean) + float(np.sum(spread**2)))
        - float(np.vdot(spread, information @ spread))
    ) + float(np.sum(np.log(np.diag(spread))))
    log_variances = float(np.sum(np.log(here.variances)))
    of_covariance = log_variances - 2.0 * float(np.sum(np.log(np.diag(prior.factor))))
    of_covariance -= float(here.variances @ precisions)
    of_variances = log_variances - size * math.log(here.level)
    of_variances -= float(np.sum(here.variances)) / here.level
    pseudo = PSEUDO_TASKS * size
    return of_mean + 0.5 * (pseudo * of_covariance + PSEUDO_COEFFICIENTS * of_variances)


def _symmetric(packed: Array, size: int) -> Array:
    """Return the symmetric matrix whose lower triangle is given."""
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = packed
    return matrix + np.tril(matrix, -1).T
