r"""Implicit feedback fitted by sums: F of :mod:`grassvine.sums.implicit.model` is minimised.

Per evaluation the agents sum their users' costs, the gradient at the events (m×(r+1)) and the
users' second moments M = Σ_j (w_j, s_j)(w_j, s_j)ᵀ; everybody adds the terms of all pairs and of
the items, a₀XM + ρ_iX_i. The descent (:mod:`grassvine.sums.descent.rows`) is preconditioned by
((n_i/n + a₀)M + ρ_iI)⁻¹ for each item, about its second derivative at fixed users.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from grassvine.foundations.arrays import Array, as_matrix
from grassvine.problems.base import Problem
from grassvine.sums.descent.rows import Point, Stopping, minimise
from grassvine.sums.implicit.model import ImplicitModel, Strengths
from grassvine.sums.implicit.problem import ImplicitProblem, as_implicit_problem
from grassvine.sums.implicit.statistics import EventStatistics, event_statistics
from grassvine.sums.implicit.strengths import default_strengths
from grassvine.sums.implicit.validation import factors_are_better
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    agree,
    all_reduce,
    decide,
)

# Tables of less information (q) are validated: with this share of events held out, and so many
# iterations with all events at the end.
INFORMATIVE, HELD_OUT, REFINING = 3.5, 0.1, 5
# The entries of the first factors have about this standard deviation, divided by √r.
FIRST_SIZE = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class ImplicitIterate(Iterate):
    """The current model; its ``basis`` spans the factors, but is orthonormal only at the end."""

    model: ImplicitModel

    def arrays(self) -> dict[str, Array]:
        """Return an orthonormal basis and the model as named arrays."""
        return {"basis": self._orthonormal, **self.model.arrays()}

    @cached_property
    def _orthonormal(self) -> Array:
        return np.linalg.qr(self.model.factors)[0]

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's users."""
        evaluation = as_implicit_problem(problem).evaluate(self.model)
        return evaluation.cost, evaluation.squared_error


def fit_implicit(
    problem: ImplicitProblem,
    start: Array,
    unobserved: float | None,
    regularization: float | None,
    stopping: Stopping,
    seed: int = 0,
) -> Program:
    """Fit factors and popularity to the events of all agents, from an orthonormal start.

    ``unobserved`` (a₀/p) and ``regularization`` (a multiple of the noise) are the defaults for the
    size and the density of the table if they are None. Where the defaults cannot tell whether there
    is more than noise, the agents find out on held-out events (seeded), and go on with all events
    from there, or with popularity alone.
    """
    start = as_matrix(start, n_items=problem.n_items, name="start", allow_empty=True)
    given = own_problem(problem)
    both = Own(lambda data: data[given].hold_out(HELD_OUT, seed))
    rest, held = Own(lambda data: data[both][0]), Own(lambda data: data[both][1])
    statistics = yield from event_statistics(given, rest, Iterate(start))
    usual = default_strengths(statistics, unobserved, regularization)
    strengths = replace(
        usual,
        unobserved_weight=(yield from agree(usual.unobserved_weight)),
        ridge=(yield from agree(usual.ridge)),
        base_ridge=(yield from agree(usual.base_ridge)),
        mean_events=(yield from agree(usual.mean_events)),
    )
    initial = _model(_first_rows(start, statistics, strengths), strengths)
    iterate: Iterate = ImplicitIterate(initial.factors, model=initial)
    fit = partial(_fit, statistics=statistics, strengths=strengths)
    told = f"unobserved weight {strengths.unobserved_weight:.4g}, ridge {strengths.ridge:.4g}"
    if not (yield from decide(statistics.information < INFORMATIVE)):
        iterate, reason = yield from fit(given, initial.rows, iterate, stopping)
        return ProgramOutcome(iterate, f"{reason} ({told})")
    validating = replace(stopping, max_iter=max(stopping.max_iter - 1 - REFINING, 1))
    found, _ = yield from fit(rest, initial.rows, iterate, validating)
    assert isinstance(found, ImplicitIterate)
    if not (yield from factors_are_better(rest, held, found.model, statistics, found)):
        alone = _popularity_alone(initial)
        outcome = ImplicitIterate(alone.factors, model=alone)
        return ProgramOutcome(
            outcome, f"factors do not rank held-out events better than popularity ({told})"
        )
    known = replace(found, cost=math.nan, gradient_norm=math.nan)
    refining = replace(stopping, max_iter=min(REFINING, stopping.max_iter))
    iterate, _ = yield from fit(given, found.model.rows, known, refining)
    return ProgramOutcome(iterate, f"the factors found were refined with all events ({told})")


def _fit(
    problem: Own[ImplicitProblem],
    rows: Array,
    first: Iterate,
    stopping: Stopping,
    *,
    statistics: EventStatistics,
    strengths: Strengths,
) -> Subprogram[tuple[Iterate, str]]:
    """Minimise F over the events of all agents' problems, from rows X."""

    def evaluate(rows: Array, best: Iterate) -> Subprogram[tuple[Point, Iterate]]:
        model, mse = _model(rows, strengths), Own[float]()

        def own(data: Data) -> tuple[float, Array, Array]:
            found, count = data[problem].evaluate(model), data[problem].n_values
            data[mse] = found.squared_error / count if count else math.nan
            return found.cost, found.gradient, found.gram

        point = _point(model, (yield from all_reduce(best, own)), statistics)
        iterate = ImplicitIterate(
            model.factors, point.cost, point.gradient_norm, mse=mse, model=model
        )
        return point, iterate

    return minimise(evaluate, rows, first, stopping)


def _popularity_alone(initial: ImplicitModel) -> ImplicitModel:
    return replace(initial, factors=np.zeros_like(initial.factors))


def _first_rows(start: Array, statistics: EventStatistics, strengths: Strengths) -> Array:
    """Return small factors, and the popularity that is optimal without factors, at level 1."""
    n_items, rank = start.shape
    known = statistics.counts > 0.0
    length = FIRST_SIZE * math.sqrt(n_items / max(rank, 1))
    share = statistics.counts / statistics.n_users
    popularity = share / (share + strengths.unobserved_weight)
    return np.column_stack([length * start * known[:, None], popularity])


def _model(rows: Array, strengths: Strengths) -> ImplicitModel:
    return ImplicitModel(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), strengths)


def _point(model: ImplicitModel, sums: Sequence[Array], statistics: EventStatistics) -> Point:
    """Return F and its gradient from the sums over all agents."""
    (cost, by_events, moments), strengths = sums, model.strengths
    rows, a0 = model.rows, strengths.unobserved_weight
    share = statistics.counts / statistics.n_users
    ridges = strengths.ridge * statistics.n_users * (share + a0)
    half = by_events + a0 * (rows @ moments) + ridges[:, None] * rows
    energies, axes = np.linalg.eigh(moments)
    divisors = np.outer(share + a0, np.maximum(energies, 0.0)) + ridges[:, None]
    preconditioned = (half @ axes / divisors) @ axes.T
    total = float(cost) + float(ridges @ np.einsum("ir,ir->i", rows, rows))
    return Point(rows, total, 2.0 * half, preconditioned)
