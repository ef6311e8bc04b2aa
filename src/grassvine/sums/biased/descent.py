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
from grassvine.sums.common import computed_once, kept_with_state
from grassvine.sums.program import Iterate, Program, ProgramOutcome, Subprogram, all_reduce
from grassvine.sums.statistics import RatingStatistics, rating_statistics

# The cost has converged when this many iterations together reduce it by less than the tolerance.
N_ITER_NO_CHANGE = 5
ARMIJO = 1e-4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BiasedIterate(Iterate):
    """The current model; its basis spans the factors."""

    model: BiasedModel

    def arrays(self) -> dict[str, Array]:
        """Return the basis and the model as named arrays."""
        return {"basis": self.basis, **self.model.arrays()}

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


@dataclass(frozen=True, slots=True, eq=False)
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
class Descent:
    """A descent after some passes: the best point, the next model to evaluate, or why it ended."""

    statistics: RatingStatistics
    criteria: StoppingCriteria
    here: Point | None
    trial: BiasedIterate
    direction: Array
    derivative: float  # the derivative along the direction
    step: float
    costs: tuple[float, ...] = ()
    n_passes: int = 0
    reason: str = ""


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
    descent = _first(model, statistics, criteria)
    while not descent.reason:
        trial = descent.trial

        def own(model: BiasedModel = trial.model) -> tuple[float, Array, Array, Array]:
            found = problem.evaluate(model)
            return found.cost, found.factor_gradient, found.bias_gradient, found.gram

        # Until the sum is there, observers see the best point.
        sums = yield from all_reduce(descent.here.iterate if descent.here else trial, own)
        descent = _next(descent, sums)
    assert descent.here is not None
    return descent.here, descent.reason


@computed_once
def _first(model: BiasedModel, statistics: RatingStatistics, criteria: StoppingCriteria) -> Descent:
    trial = BiasedIterate(np.linalg.qr(model.factors)[0], model=model)
    return Descent(
        statistics, criteria, None, trial, direction=np.zeros(0), derivative=0.0, step=1.0
    )


@kept_with_state
@computed_once
def _next(descent: Descent, sums: Sequence[Array]) -> Descent:
    """Accept the trial point or shorten the step; all agents compute the same."""
    criteria = descent.criteria
    here, direction, derivative, step = (
        descent.here,
        descent.direction,
        descent.derivative,
        descent.step,
    )
    there = _point(descent.trial, sums, descent.statistics)
    costs, reason = descent.costs, ""
    if here is None:
        here, direction = there, -there.preconditioned
        costs = (here.cost,)
    elif there.cost > here.cost + ARMIJO * step * derivative:
        # The minimum of the parabola, safeguarded.
        excess = there.cost - here.cost - step * derivative
        step *= min(max(-0.5 * step * derivative / excess, 0.1), 0.5)
    else:
        direction, step = _conjugate(here, there, direction, derivative, step)
        here, costs = there, (*costs, there.cost)
        before = costs[-1 - N_ITER_NO_CHANGE] if len(costs) > N_ITER_NO_CHANGE else math.inf
        if before - here.cost <= criteria.tol * here.cost:
            mu, mu_b = here.model.regularization, here.model.bias_regularization
            reason = (
                f"the cost converged (regularization = {mu:.4g}, bias_regularization = {mu_b:.4g})"
            )
    derivative = float(np.vdot(here.gradient, direction))
    n_passes = descent.n_passes + 1
    if not reason and n_passes == criteria.max_iter:
        reason = f"reached the limit of {criteria.max_iter} iterations"
    if not reason and not -derivative * step > np.finfo(float).eps * here.cost:
        reason = "no step reduces the cost any further"
    trial = here.iterate if reason else _moved(here.model, step * direction)
    return replace(
        descent,
        here=here,
        trial=trial,
        direction=direction,
        derivative=derivative,
        step=step,
        costs=costs,
        n_passes=n_passes,
        reason=reason,
    )


def _conjugate(
    here: Point, there: Point, direction: Array, derivative: float, step: float
) -> tuple[Array, float]:
    """Return the next direction and its first trial step, from an accepted step."""
    curvature_along = float(np.vdot(there.gradient, direction)) - derivative
    change = float(np.vdot(there.gradient - here.gradient, there.preconditioned))
    onward = (
        max(change / curvature_along, 0.0) * direction - there.preconditioned
        if curvature_along > 0.0
        else -there.preconditioned
    )
    step *= min(max(-derivative / curvature_along, 1 / 3), 3.0) if curvature_along > 0.0 else 3.0
    return (onward if np.vdot(onward, there.gradient) < 0.0 else -there.preconditioned), step


def _moved(model: BiasedModel, change: Array) -> BiasedIterate:
    model = replace(
        model,
        factors=model.factors + change[:, :-1],
        item_biases=model.item_biases + change[:, -1],
    )
    return BiasedIterate(np.linalg.qr(model.factors)[0], model=model)


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
