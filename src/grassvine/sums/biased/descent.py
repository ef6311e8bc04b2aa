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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.problems.base import Problem
from grassvine.sums.biased.problem import (
    BiasedCompletionProblem,
    BiasedModel,
    as_biased_problem,
)
from grassvine.sums.descent import rows as descent
from grassvine.sums.descent.rows import Point
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    all_reduce,
)
from grassvine.sums.statistics import RatingStatistics, rating_statistics


@dataclass(frozen=True, eq=False, kw_only=True)
class BiasedIterate(Iterate):
    """The current model. ``basis`` are its factors, orthonormal only where a state is asked for."""

    model: BiasedModel

    def arrays(self) -> dict[str, Array]:
        """Return an orthonormal basis of the span of the factors, and the model, by name."""
        return {"basis": self._orthonormal, **self.model.arrays()}

    @cached_property
    def _orthonormal(self) -> Array:
        return np.linalg.qr(self.model.factors)[0]

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's users."""
        evaluation = as_biased_problem(problem).evaluate(self.model)
        return evaluation.cost, evaluation.squared_error


@dataclass(frozen=True, slots=True)
class StoppingCriteria(descent.Stopping):
    """When to stop a fit; by default after 100 iterations, or when five reduce F by 5e-5 of it."""

    max_iter: int = 100
    tol: float = 5e-5


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
    own = own_problem(problem)
    statistics = yield from rating_statistics(Own(lambda data: data[own].ratings), initial)
    model = first_model(start, statistics, regularization, bias_regularization)
    iterate, reason = yield from minimise(own, statistics, model, criteria or StoppingCriteria())
    return ProgramOutcome(iterate, reason)


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
    problem: Own[BiasedCompletionProblem],
    statistics: RatingStatistics,
    model: BiasedModel,
    criteria: StoppingCriteria,
) -> Subprogram[tuple[BiasedIterate, str]]:
    """Minimise F from a model; return the best iterate and the reason for stopping."""

    def evaluate(rows: Array, best: Iterate) -> Subprogram[tuple[Point, Iterate]]:
        """Evaluate F and its gradient; until the sum is there, observers see the best iterate."""
        trial, mse = _iterate(rows, model), Own[float]()

        def own(data: Data) -> tuple[float, Array, Array, Array]:
            found, count = data[problem].evaluate(trial.model), data[problem].n_values
            data[mse] = found.squared_error / count if count else math.nan
            return found.cost, found.factor_gradient, found.bias_gradient, found.gram

        point = _point(trial, (yield from all_reduce(best, own)), statistics)
        norm = point.gradient_norm
        return point, replace(trial, cost=point.cost, gradient_norm=norm, mse=mse)

    rows = _rows(model)
    iterate, reason = yield from descent.minimise(evaluate, rows, _iterate(rows, model), criteria)
    assert isinstance(iterate, BiasedIterate)
    if reason == descent.CONVERGED:
        mu, mu_b = model.regularization, model.bias_regularization
        reason += f" (regularization = {mu:.4g}, bias_regularization = {mu_b:.4g})"
    return iterate, reason


def _rows(model: BiasedModel) -> Array:
    """Return the rows [A_i, c_i]."""
    return np.column_stack([model.factors, model.item_biases])


def _iterate(rows: Array, like: BiasedModel) -> BiasedIterate:
    """Return the iterate with these rows, and all else of a model."""
    model = replace(like, factors=rows[:, :-1], item_biases=rows[:, -1])
    return BiasedIterate(model.factors, model=model)


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
    return Point(_rows(model), total, gradient, preconditioned)
