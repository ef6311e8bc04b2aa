"""Related regressions by empirical Bayes, as a program over sums.

Three sums tell the means of the targets and the scales of features and targets. Then every sum is a
step of expectation maximisation (:mod:`grassvine.sums.hierarchical.full`), until the bound on the
log-likelihood of all samples rises by less than ``tol``, in nats: differences far below 1 are
unlikely to matter for any prediction.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import Problem
from grassvine.sums.common import computed_once
from grassvine.sums.hierarchical import full
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.prior import CoefficientPrior
from grassvine.sums.hierarchical.problem import HierarchicalProblem, as_hierarchical
from grassvine.sums.program import Iterate, Program, ProgramOutcome, Subprogram, all_reduce, decide

SETUP_SUMS = 2
# With more features the covariance is of low rank, besides a diagonal.
MAX_FULL, LOW_RANK = 200, 10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class HierarchicalIterate(Iterate):
    """The current prior; the basis has the directions in which coefficients vary most."""

    prior: CoefficientPrior

    def arrays(self) -> dict[str, Array]:
        """Return the basis and the prior as named arrays."""
        return {"basis": self.basis, **self.prior.arrays()}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's tasks."""
        evaluation = as_hierarchical(problem).evaluate(self.prior)
        return evaluation.cost, evaluation.squared_error


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Units:
    """Numbers of tasks and samples, scales of the coefficients, centre and scale of the targets."""

    n_tasks: float
    n_samples: float
    scales: Array
    centre: float
    scale: float


def default_rank(n_features: int) -> int:
    """Return how many directions there are in the subspace if nobody asks for fewer."""
    return n_features if n_features <= MAX_FULL else LOW_RANK


def fit_hierarchical(
    problem: HierarchicalProblem, start: Array, max_iter: int, tol: float
) -> Program:
    """Learn the distribution of the coefficients of the tasks of all agents."""
    parameters = full.first_parameters(problem.n_coefficients)
    first = HierarchicalIterate(start, prior=parameters.prior)
    units = yield from _units(problem, first)
    scaled: Designs | None = None
    share, bound, first_gain = 0.0, -math.inf, 0.0
    seen = _iterate(parameters, units, start)
    for iteration in range(max_iter):
        mse: float | None = None

        def own(parameters: full.Parameters = parameters) -> tuple[Array | float, ...]:
            nonlocal scaled, mse
            scaled = scaled or problem.designs.scaled(units.scales, units.centre, units.scale)
            sums, squared_error = full.own_sums(scaled, parameters.prior)
            mse = squared_error * units.scale**2 / problem.n_values
            return sums

        step = full.next_step(
            parameters,
            (yield from all_reduce(replace(seen, share=share), own)),
            units.n_tasks,
            units.n_samples,
        )
        seen = replace(_iterate(parameters, units, start), cost=-step.bound, mse=mse)
        gain, bound = step.bound - bound, step.bound
        if (yield from decide(gain <= tol)):
            return ProgramOutcome(seen, f"a step raised the bound by less than {tol:g}")
        if iteration == 1:
            first_gain = max(gain, math.e * tol)
        elif iteration > 1:
            share = max(share, math.log(first_gain / gain) / math.log(first_gain / tol))
        parameters = step.parameters
    return ProgramOutcome(seen, f"reached the limit of {max_iter} iterations")


def _units(problem: HierarchicalProblem, iterate: Iterate) -> Subprogram[Units]:
    """Sum what makes features and targets of any unit alike."""
    targets = problem.tasks.targets

    def counts() -> tuple[float, float, float]:
        filled = sum(1.0 for y in targets if len(y))
        return filled, float(problem.n_values), sum(float(y.sum()) for y in targets)

    n_tasks, n_samples, total = map(float, (yield from all_reduce(iterate, counts)))
    centre = total / n_samples if problem.intercepts else 0.0

    def squares() -> tuple[Array, float]:
        each = [np.sum(x * x, axis=0) for x in problem.tasks.features]
        return np.sum(each, axis=0), sum(float(np.sum((y - centre) ** 2)) for y in targets)

    of_features, of_targets = yield from all_reduce(iterate, squares)
    return _as_units(n_tasks, n_samples, centre, of_features, float(of_targets), problem.intercepts)


@computed_once
def _as_units(
    n_tasks: float,
    n_samples: float,
    centre: float,
    of_features: Array,
    of_targets: float,
    intercepts: bool,
) -> Units:
    scales = np.sqrt(of_features / n_samples)
    scales = np.append(scales, 1.0) if intercepts else scales
    scale = math.sqrt(of_targets / n_samples)
    # Targets that are constant up to rounding have no scale of their own.
    scale = scale if scale > 1e-14 * abs(centre) else max(abs(centre), 1.0)
    return Units(n_tasks, n_samples, np.where(scales > 0.0, scales, 1.0), centre, scale)


@computed_once
def _iterate(parameters: full.Parameters, units: Units, start: Array) -> HierarchicalIterate:
    prior = parameters.prior.in_units(units.scales, units.centre, units.scale)
    return HierarchicalIterate(prior.directions(*start.shape), prior=prior)
