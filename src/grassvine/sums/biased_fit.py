r"""Ratings with offsets, fitted by agents that agree on sums alone.

.. math::

    F(A, c) = Σ_i f_i(A, c) + ½μ‖A‖² + ½μ_b‖c‖²

with f_i as in :mod:`grassvine.problems.biased_ratings`. All that must be agreed is a sum over
users: cost, gradient, WᵀW, the counts of ratings; so the method is a program
(:mod:`grassvine.sums.program`) and finds what one owner of all data would find. It is the method of
conjugate gradients (Hestenes and Stiefel's β, at least 0) with backtracking, on gradients divided
row by row by

.. math::

    p_i WᵀW + μI \quad\text{and}\quad \text{count}_i + μ_b,

the second derivatives by A_i and c_i where users hold still, with p_i = count_i / number of users.
A pass yields cost and gradient, so the next step begins with the length that the secant tells.
"""

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.options import real_number, whole_number
from grassvine.problems.base import CompletesRatings, LocalProblem
from grassvine.problems.biased_ratings import BiasedRatings
from grassvine.protocol.agent import State
from grassvine.sums.program import Iterate, Program, ProgramOutcome, Subprogram, all_reduce

# The cost has settled when this many iterations together lower it by less than the tolerance.
PATIENCE = 5
ARMIJO = 1e-4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BiasedIterate(Iterate):
    """The current model: factors, item biases and centre, and its regularisation."""

    factors: Array
    item_biases: Array
    centre: float
    regularization: float
    bias_regularization: float

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` reads them."""
        return {
            "basis": self.basis,
            "factors": self.factors,
            "item_biases": self.item_biases,
            "centre": np.array([self.centre]),
            "regularization": np.array([self.regularization, self.bias_regularization]),
        }

    @classmethod
    def from_arrays(cls, arrays: State) -> "BiasedIterate":
        """Return the model of an agent's state."""
        names = "basis", "factors", "item_biases", "centre", "regularization"
        basis, factors, item_biases, (centre,), (regularization, bias_regularization) = (
            arrays[name].astype(np.float64) for name in names
        )
        return cls(
            basis,
            factors=factors,
            item_biases=item_biases,
            centre=float(centre),
            regularization=float(regularization),
            bias_regularization=float(bias_regularization),
        )

    def users(self, ratings: Ratings, threads: int = 1) -> BiasedRatings:
        """Return the problem that solves weights and biases of users with this model."""
        return BiasedRatings(ratings, self.regularization, self.bias_regularization, threads)

    def fit_to(self, problem: LocalProblem) -> tuple[float, float]:
        """Return cost and squared error of an agent's users."""
        assert isinstance(problem, CompletesRatings)
        own = self.users(problem.ratings, problem.threads)
        evaluation = own.evaluate(self.factors, self.item_biases, self.centre)
        return evaluation.cost, evaluation.squared_error


@dataclass(frozen=True, slots=True)
class StoppingCriteria:
    """How long to go on with a fit.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations; each is one pass of every agent over its data.
    tol : float
        Stop when five iterations lower the cost by less than this fraction.
    """

    max_iter: int = 100
    tol: float = 5e-5

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=1)
        real_number("tol", self.tol, least=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RatingStatistics:
    """What all agents hold together: ratings an item, users with ratings, level and spread."""

    counts: Array
    n_users: float
    centre: float
    deviation: float

    @property
    def noise_scale(self) -> float:
        """About the largest singular value of noise as large as the ratings vary."""
        total = self.counts.sum()
        return self.deviation * (
            math.sqrt(total / len(self.counts)) + math.sqrt(total / self.n_users)
        )


@dataclass(frozen=True, slots=True, eq=False)
class BiasedEvaluation:
    """The cost at a point [A, c], its gradient, and the gradient divided by the curvature."""

    point: Array
    cost: float
    gradient: Array
    scaled: Array
    iterate: BiasedIterate


Descent: TypeAlias = Subprogram[tuple[BiasedEvaluation, str]]


def fit_biased(
    problem: BiasedRatings, start: Array, criteria: StoppingCriteria | None = None
) -> Program:
    """Fit factors and offsets to the ratings of all agents, from an orthonormal start."""
    start = as_matrix(start, n_items=problem.n_items, name="start")
    statistics = yield from sum_statistics(problem.ratings, Iterate(start))
    evaluation, reason = yield from minimise(
        problem, statistics, scaled_start(start, statistics), criteria or StoppingCriteria()
    )
    return ProgramOutcome(evaluation.iterate, reason)


def sum_statistics(ratings: Ratings, iterate: Iterate) -> Subprogram[RatingStatistics]:
    """Add up counts, level and spread of the ratings of all agents."""
    values = ratings.values
    counts, n_users, level, squares = yield from all_reduce(
        iterate,
        lambda: (
            np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64),
            float(np.count_nonzero(np.diff(ratings.starts))),
            float(values.sum()),
            float(values @ values),
        ),
    )
    total = max(counts.sum(), 1.0)
    centre = float(level / total)
    variance = max(float(squares / total) - centre * centre, 0.0)
    # Where all ratings are equal any scale will do.
    return RatingStatistics(counts, max(float(n_users), 1.0), centre, math.sqrt(variance) or 1.0)


def scaled_start(start: Array, statistics: RatingStatistics) -> Array:
    """Return [A, 0], with A as long as if it and W alike made up the spread of the ratings."""
    n_items, rank = start.shape
    length = math.sqrt(n_items * statistics.deviation / math.sqrt(rank))
    return np.hstack([length * start, np.zeros((n_items, 1))])


def minimise(
    problem: BiasedRatings, statistics: RatingStatistics, point: Array, criteria: StoppingCriteria
) -> Descent:
    """Go down from a point; return the lowest that was seen and why it is the last."""
    here = yield from _evaluate(problem, statistics, point, None)
    direction, step = -here.scaled, 1.0
    costs = [here.cost]
    for _ in range(criteria.max_iter - 1):
        directional_derivative = float(np.vdot(here.gradient, direction))
        if not -directional_derivative * step > np.finfo(float).eps * here.cost:
            return here, "no step lowers the cost any more"
        there = yield from _evaluate(problem, statistics, here.point + step * direction, here)
        excess = there.cost - here.cost - step * directional_derivative
        if there.cost > here.cost + ARMIJO * step * directional_derivative:
            # The lowest point of the parabola, where that is a good deal nearer.
            step *= min(max(-0.5 * step * directional_derivative / excess, 0.1), 0.5)
            continue
        new_derivative = float(np.vdot(there.gradient, direction))
        curvature_along = new_derivative - directional_derivative
        change = float(np.vdot(there.gradient - here.gradient, there.scaled))
        onward = (
            max(change / curvature_along, 0.0) * direction - there.scaled
            if curvature_along > 0.0
            else -there.scaled
        )
        step *= (
            min(max(-directional_derivative / curvature_along, 1 / 3), 3.0)
            if curvature_along > 0.0
            else 3.0
        )
        direction = onward if np.vdot(onward, there.gradient) < 0.0 else -there.scaled
        here = there
        costs.append(here.cost)
        if len(costs) > PATIENCE and costs[-1 - PATIENCE] - costs[-1] <= criteria.tol * costs[-1]:
            return (
                here,
                f"the cost settled (regularization = {problem.regularization:.4g}, "
                f"bias_regularization = {problem.bias_regularization:.4g})",
            )
    return here, f"max_iter = {criteria.max_iter} passes were made"


def _evaluate(
    problem: BiasedRatings,
    statistics: RatingStatistics,
    point: Array,
    before: BiasedEvaluation | None,
) -> Subprogram[BiasedEvaluation]:
    """Evaluate the cost of all at a point."""
    regularization, bias_regularization = problem.regularization, problem.bias_regularization
    factors, item_biases = np.ascontiguousarray(point[:, :-1]), np.ascontiguousarray(point[:, -1])
    here = BiasedIterate(
        np.linalg.qr(factors)[0],
        factors=factors,
        item_biases=item_biases,
        centre=statistics.centre,
        regularization=regularization,
        bias_regularization=bias_regularization,
    )

    def own() -> tuple[float, Array, Array, Array]:
        found = problem.evaluate(factors, item_biases, statistics.centre)
        return found.cost, found.factor_gradient, found.bias_gradient, found.gram

    seen = before.iterate if before else here
    cost, by_factors, by_biases, gram = yield from all_reduce(seen, own)
    total = float(
        cost
        + 0.5 * regularization * np.vdot(factors, factors)
        + 0.5 * bias_regularization * item_biases @ item_biases
    )
    by_factors = by_factors + regularization * factors
    by_biases = by_biases + bias_regularization * item_biases
    energies, axes = np.linalg.eigh(gram)
    divisors = (
        np.outer(statistics.counts / statistics.n_users, np.maximum(energies, 0.0)) + regularization
    )
    gradient = np.column_stack([by_factors, by_biases])
    scaled = np.column_stack(
        [
            (by_factors @ axes / divisors) @ axes.T,
            by_biases / (statistics.counts + bias_regularization),
        ]
    )
    norm = float(np.linalg.norm(gradient))
    return BiasedEvaluation(
        point, total, gradient, scaled, replace(here, cost=total, gradient_norm=norm)
    )
