r"""Matrix completion with biases, fitted by agents that agree on sums.

.. math::

    F(A, c) = Σ_i f_i(A, c) + ½μ‖A‖² + ½μ_b‖c‖²

with f_i as in :mod:`grassvine.sums.biased.problem`. Everything that the agents must agree on
is a sum over users: cost, gradient, WᵀW and the number of ratings per item. So the method is a
program (:mod:`grassvine.sums.program`) whose result equals the pooled one. It is nonlinear
conjugate gradients (Hestenes and Stiefel's β, at least 0) with backtracking, preconditioned by

.. math::

    p_i WᵀW + μI \quad\text{and}\quad \text{count}_i + μ_b,

the second derivatives with respect to A_i and c_i at fixed users, with p_i = count_i / number of
users. One pass yields cost and gradient, so the first trial step is the secant step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.options import real_number, whole_number
from grassvine.problems.base import Problem
from grassvine.sums.biased.problem import (
    BiasedCompletionProblem,
    BiasedModel,
    as_biased_problem,
)
from grassvine.sums.common import computed_once, kept_with_state, no_step_reason
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    agree,
    all_reduce,
    decide,
)
from grassvine.sums.statistics import RatingStatistics, rating_statistics

# The cost has converged when this many iterations together reduce it by less than the tolerance.
N_ITER_NO_CHANGE = 5
ARMIJO = 1e-4
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class BiasedIterate(Iterate):
    """The current model. ``basis`` are its factors, orthonormal only where a state is asked for."""

    model: BiasedModel

    def arrays(self) -> dict[str, Array]:
        """Return an orthonormal basis of the span of the factors, and the model, by name."""
        return {"basis": _orthonormal(self.model), **self.model.arrays()}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's users."""
        evaluation = as_biased_problem(problem).evaluate(self.model)
        return evaluation.cost, evaluation.squared_error


@dataclass(frozen=True, slots=True)
class StoppingCriteria:
    """When to stop a fit.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations; each is one pass of every agent over its data.
    tol : float
        Stop when five iterations reduce the cost by less than this fraction.
    """

    max_iter: int = 100
    tol: float = 5e-5

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=1)
        real_number("tol", self.tol, least=0.0)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Point:
    """A model with its cost, its gradient and its preconditioned gradient, as rows [A_i, c_i]."""

    iterate: BiasedIterate
    gradient: Array
    preconditioned: Array = field(repr=False)

    @property
    def model(self) -> BiasedModel:
        """The model at this point."""
        return self.iterate.model

    @property
    def cost(self) -> float:
        """F(A, c)."""
        return self.iterate.cost


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Line:
    """A search direction at a point, and the derivative of the cost along it."""

    direction: Array
    derivative: float


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Secant:
    """The multiple of the last direction in the next one, and by how much steps get longer."""

    beta: float
    lengthening: float


def fit_biased(
    problem: BiasedCompletionProblem,
    start: Array,
    regularization: float,
    bias_regularization: float,
    criteria: StoppingCriteria | None = None,
) -> Program:
    """Fit factors and biases to the ratings of all agents, from an orthonormal start."""
    start = as_matrix(start, n_items=problem.n_items, name="start", allow_empty=True)
    initial = initial_iterate(start, regularization, bias_regularization)
    statistics = yield from rating_statistics(problem.ratings, initial)
    model = first_model(start, statistics, regularization, bias_regularization)
    point, reason = yield from minimise(problem, statistics, model, criteria or StoppingCriteria())
    return ProgramOutcome(point.iterate, reason)


def initial_iterate(
    start: Array, regularization: float, bias_regularization: float
) -> BiasedIterate:
    """Return the iterate until the statistics of the ratings are known: centre 0, no biases."""
    no_biases = np.zeros(len(start))
    model = BiasedModel(start, no_biases, 0.0, regularization, bias_regularization)
    return BiasedIterate(start, model=model)


def first_model(
    start: Array, statistics: RatingStatistics, regularization: float, bias_regularization: float
) -> BiasedModel:
    """Return the starting point: no biases, and factors of the length that A and W share evenly."""
    n_items, rank = start.shape
    length = math.sqrt(n_items * statistics.deviation / math.sqrt(max(rank, 1)))
    return BiasedModel(
        length * start, np.zeros(n_items), statistics.centre, regularization, bias_regularization
    )


def minimise(
    problem: BiasedCompletionProblem,
    statistics: RatingStatistics,
    model: BiasedModel,
    criteria: StoppingCriteria,
) -> Subprogram[tuple[Point, str]]:
    """Minimise F from a model; return the best point and the reason for stopping."""

    def evaluate(
        trial: BiasedIterate, best: BiasedIterate
    ) -> Subprogram[tuple[Point, BiasedIterate]]:
        """Evaluate F and its gradient; until the sum is there, observers see the best iterate.

        Return the point, which agents have in common, and its iterate with this agent's error.
        """
        mse: float | None = None

        def own() -> tuple[float, Array, Array, Array]:
            nonlocal mse
            found = problem.evaluate(trial.model)
            mse = found.squared_error / problem.n_values if problem.n_values else math.nan
            return found.cost, found.factor_gradient, found.bias_gradient, found.gram

        point = _point(trial, (yield from all_reduce(best, own)), statistics)
        return point, replace(point.iterate, mse=mse)

    first = BiasedIterate(model.factors, model=model)
    here, seen = yield from evaluate(first, first)
    line, step, costs = _steepest(here), 1.0, [here.cost]
    for _ in range(criteria.max_iter - 1):
        rounding = float(np.finfo(float).eps) * here.cost
        if not (yield from decide(-line.derivative * step > rounding)):
            left = 0.5 * float(np.vdot(here.gradient, here.preconditioned))
            return replace(here, iterate=seen), (yield from no_step_reason(left, here.cost))
        there, seen_there = yield from evaluate(_moved(here, line, step), seen)
        excess = there.cost - here.cost - step * line.derivative
        if (yield from decide(there.cost > here.cost + ARMIJO * step * line.derivative)):
            # The minimum of the parabola, safeguarded.
            shorter = -0.5 * step * line.derivative / max(excess, TINY)
            step = yield from agree(step * min(max(shorter, 0.1), 0.5))
            continue
        costs.append(there.cost)
        before = costs[-1 - N_ITER_NO_CHANGE] if len(costs) > N_ITER_NO_CHANGE else math.inf
        if (yield from decide(before - there.cost <= criteria.tol * there.cost)):
            return (
                replace(there, iterate=seen_there),
                f"the cost converged (regularization = {model.regularization:.4g}, "
                f"bias_regularization = {model.bias_regularization:.4g})",
            )
        secant = _secant(here, there, line)
        beta = yield from agree(secant.beta)
        step = yield from agree(step * secant.lengthening)
        conjugate = _conjugate(there, line, beta)
        downhill = yield from decide(conjugate.derivative < 0.0)
        here, seen, line = there, seen_there, conjugate if downhill else _steepest(there)
    return replace(here, iterate=seen), f"reached the limit of {criteria.max_iter} iterations"


@computed_once
def _orthonormal(model: BiasedModel) -> Array:
    return np.linalg.qr(model.factors)[0]


@computed_once
def _moved(here: Point, line: Line, step: float) -> BiasedIterate:
    """Return the iterate one step along a line."""
    model, change = here.model, step * line.direction
    moved = replace(
        model,
        factors=model.factors + change[:, :-1],
        item_biases=model.item_biases + change[:, -1],
    )
    return BiasedIterate(moved.factors, model=moved)


@computed_once
def _steepest(here: Point) -> Line:
    direction = -here.preconditioned
    return Line(direction, float(np.vdot(here.gradient, direction)))


@computed_once
def _conjugate(there: Point, line: Line, beta: float) -> Line:
    direction = beta * line.direction - there.preconditioned
    return Line(direction, float(np.vdot(there.gradient, direction)))


@computed_once
def _secant(here: Point, there: Point, line: Line) -> Secant:
    """Return the next conjugate direction and first step, from the gradients at both points."""
    curvature = float(np.vdot(there.gradient, line.direction)) - line.derivative
    if curvature <= 0.0:
        return Secant(0.0, 3.0)
    change = float(np.vdot(there.gradient - here.gradient, there.preconditioned))
    return Secant(
        beta=max(change / curvature, 0.0),
        lengthening=min(max(-line.derivative / curvature, 1 / 3), 3.0),
    )


@kept_with_state
@computed_once
def _point(trial: BiasedIterate, sums: Sequence[Array], statistics: RatingStatistics) -> Point:
    """Return F and its gradient from the sums over all agents."""
    (cost, by_factors, by_biases, gram), model = sums, trial.model
    mu, mu_b = model.regularization, model.bias_regularization
    total = float(
        cost
        + 0.5 * mu * np.vdot(model.factors, model.factors)
        + 0.5 * mu_b * model.item_biases @ model.item_biases
    )
    by_factors = by_factors + mu * model.factors
    by_biases = by_biases + mu_b * model.item_biases
    energies, axes = np.linalg.eigh(gram)
    divisors = np.outer(statistics.counts / statistics.n_users, np.maximum(energies, 0.0)) + mu
    gradient = np.column_stack([by_factors, by_biases])
    preconditioned = np.column_stack(
        [(by_factors @ axes / divisors) @ axes.T, by_biases / (statistics.counts + mu_b)]
    )
    norm = float(np.linalg.norm(gradient))
    return Point(replace(trial, cost=total, gradient_norm=norm), gradient, preconditioned)
