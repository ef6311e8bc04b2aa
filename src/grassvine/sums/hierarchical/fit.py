"""Related regressions by empirical Bayes, as a program over sums.

Two sums tell the mean of the targets and the scales of features and targets. Then every sum is a
step of expectation maximisation (:mod:`grassvine.sums.hierarchical.full`), until the bound on the
log-likelihood of all samples rises by less than ``tol``, in nats: differences far below 1 are
unlikely to matter for any prediction.

With more than 200 features, the covariance is full in 100 directions only, and that of the
intercept; ten sums before find them. As they are chosen by the targets, the noise seems too small.
So all is done twice, first without a tenth of the samples, whose errors tell by how much all
variances are to be multiplied; predictions stay the same.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grassvine.data.split import hold_out_entries
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems.base import Problem
from grassvine.sums.hierarchical import full
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.prior import CoefficientPrior
from grassvine.sums.hierarchical.problem import HierarchicalProblem, as_hierarchical
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import Iterate, Program, ProgramOutcome, Subprogram, all_reduce, decide

# With more features than this, the covariance is full in so many directions of them.
MAX_FULL, BLOCK_WIDTH, N_BLOCKS = 200, 10, 10
HELD_OUT, TRIAL_TOL = 0.1, 1.0
SETUP_SUMS = 2 + N_BLOCKS
# Directions of the subspace that are shown if nobody asks for another number.
FEW_DIRECTIONS = 10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
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


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The start, the seed, the largest number of iterations, the tolerance, and intercepts."""

    start: Array
    seed: int
    max_iter: int
    tol: float
    intercepts: bool

    @property
    def n_items(self) -> int:
        """The number of features."""
        return len(self.start)

    @property
    def n_coefficients(self) -> int:
        """The number of coefficients of a task."""
        return self.n_items + self.intercepts


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Numbers of tasks and samples, scales of the coefficients, centre and scale of the targets."""

    n_tasks: float
    n_samples: float
    scales: Array
    centre: float
    scale: float


def default_rank(n_features: int) -> int:
    """Return how many directions there are in the subspace if nobody asks for fewer."""
    return n_features if n_features <= MAX_FULL else FEW_DIRECTIONS


def fit_hierarchical(
    problem: HierarchicalProblem, start: Array, seed: int, max_iter: int, tol: float
) -> Program:
    """Learn the distribution of the coefficients of the tasks of all agents."""
    plan, own = Options(start, seed, max_iter, tol, problem.intercepts), own_problem(problem)
    if problem.n_items <= MAX_FULL:
        return (yield from _fit(own, plan))
    both = Own(lambda data: _held_out(data[own], seed))
    rest = Own(lambda data: data[both][0])
    trial = yield from _fit(rest, replace(plan, tol=max(plan.tol, TRIAL_TOL)))
    assert isinstance(trial.iterate, HierarchicalIterate)
    prior = trial.iterate.prior
    squares, count = yield from all_reduce(
        trial.iterate, lambda data: _relative_squares(*data[both], prior)
    )
    # Without a held-out sample there is nothing to say.
    factor = max(float(squares) / float(count), 1.0) if float(count) else 1.0
    outcome = yield from _fit(own, plan)
    assert isinstance(outcome.iterate, HierarchicalIterate)
    ending = replace(outcome.iterate, prior=outcome.iterate.prior.spread_by(factor))
    return replace(outcome, iterate=ending)


def _fit(problem: Own[HierarchicalProblem], plan: Options) -> Program:
    start, n_coefficients = plan.start, plan.n_coefficients
    first = HierarchicalIterate(start, prior=full.first_parameters(n_coefficients).prior)
    units = yield from _units(problem, first, plan.intercepts)
    designs = Own(
        lambda data: data[problem].designs.scaled(units.scales, units.centre, units.scale)
    )
    directions: Array | None = None
    if plan.n_items > MAX_FULL:
        directions = yield from _directions(designs, first, plan)

    def own(parameters: full.Parameters, mse: Own[float], data: Data) -> tuple[Array | float, ...]:
        sums, squared_error = full.own_sums(data[designs], parameters)
        data[mse] = squared_error * units.scale**2 / max(data[problem].n_values, 1)
        return sums

    parameters = full.first_parameters(n_coefficients, directions)
    share, bound, first_gain = 0.0, -math.inf, 0.0
    seen = _iterate(parameters, units, start)
    for iteration in range(plan.max_iter):
        mse: Own[float] = Own()
        sums = yield from all_reduce(replace(seen, share=share), partial(own, parameters, mse))
        step = full.next_step(parameters, sums, units.n_tasks, units.n_samples)
        seen = replace(_iterate(parameters, units, start), cost=-step.bound, mse=mse)
        gain, bound = step.bound - bound, step.bound
        if (yield from decide(gain <= plan.tol)):
            return ProgramOutcome(seen, f"a step raised the bound by less than {plan.tol:g}")
        if iteration == 1:
            first_gain = max(gain, math.e * plan.tol)
        elif iteration > 1 and plan.tol > 0.0:
            share = max(share, math.log(first_gain / gain) / math.log(first_gain / plan.tol))
        parameters = step.parameters
    return ProgramOutcome(seen, f"reached the limit of {plan.max_iter} iterations")


def _held_out(problem: HierarchicalProblem, seed: int) -> tuple[HierarchicalProblem, Tasks]:
    """Return the problem without a random share of its samples, and those."""
    tasks = problem.tasks
    held = [
        hold_out_entries(np.column_stack([y, x]), HELD_OUT, seed)[:, 0]
        for x, y in zip(tasks.features, tasks.targets, strict=True)
    ]
    rest = tasks.take_samples([~chosen for chosen in held])
    return HierarchicalProblem(rest, problem.intercepts), tasks.take_samples(held)


def _relative_squares(
    rest: HierarchicalProblem, held: Tasks, prior: CoefficientPrior
) -> tuple[float, float]:
    """Return the squared errors of held-out samples over their variances, and the number."""
    samples = np.concatenate(held.features)
    if rest.intercepts:
        samples = np.column_stack([samples, np.ones(len(samples))])
    numbers = np.repeat(np.arange(held.n_tasks), [len(y) for y in held.targets])
    solved = prior.solve(rest.designs)[numbers]
    errors = np.sum(samples * solved, axis=1) - np.concatenate(held.targets)
    variances = prior.variances(rest.designs, numbers, samples)
    return float(np.sum(errors**2 / variances)), float(len(errors))


def _units(
    problem: Own[HierarchicalProblem], iterate: Iterate, intercepts: bool
) -> Subprogram[Units]:
    """Sum what makes features and targets of any unit alike."""

    def counts(data: Data) -> tuple[float, float, float]:
        targets = data[problem].tasks.targets
        filled = sum(1.0 for y in targets if len(y))
        return filled, float(data[problem].n_values), sum(float(y.sum()) for y in targets)

    n_tasks, n_samples, total = map(float, (yield from all_reduce(iterate, counts)))
    # A trial may be left without samples.
    n_tasks, n_samples = max(n_tasks, 1.0), max(n_samples, 1.0)
    centre = total / n_samples if intercepts else 0.0

    def squares(data: Data) -> tuple[Array, float]:
        tasks = data[problem].tasks
        each = [np.sum(x * x, axis=0) for x in tasks.features]
        return np.sum(each, axis=0), sum(float(np.sum((y - centre) ** 2)) for y in tasks.targets)

    of_features, of_targets = yield from all_reduce(iterate, squares)
    return _as_units(n_tasks, n_samples, centre, of_features, float(of_targets), intercepts)


def _directions(designs: Own[Designs], iterate: Iterate, plan: Options) -> Subprogram[Array]:
    """Return orthonormal directions of the coefficients, the last one being the intercept.

    The pooled coefficients lie in the Krylov space of Σ X_tᵀX_t and Σ X_tᵀy_t, in which conjugate
    gradients find them; the first block also has directions in which the X_tᵀy_t differ.
    """
    n_items = plan.n_items
    random = stream(plan.seed, "start", "directions").standard_normal((n_items, BLOCK_WIDTH - 1))

    def first(data: Data) -> tuple[Array]:
        gradients = data[designs].gradients()[:, :n_items]
        return (np.column_stack([gradients.sum(axis=0), gradients.T @ (gradients @ random)]),)

    def own(last: Array, data: Data) -> tuple[Array]:
        rows = data[designs].rows[:, :n_items]
        return (rows.T @ (rows @ last),)

    (columns,) = yield from all_reduce(iterate, first)
    basis = _extended(np.zeros((n_items, 0)), columns)
    for _ in range(N_BLOCKS - 1):
        (columns,) = yield from all_reduce(iterate, partial(own, basis[:, -BLOCK_WIDTH:]))
        basis = _extended(basis, columns)
    return _with_intercept(basis, plan.n_coefficients)


def _extended(basis: Array, columns: Array) -> Array:
    """Return a basis with further orthonormal columns."""
    scaled = columns / np.maximum(np.sqrt(np.sum(columns**2, axis=0)), 1e-300)
    for _ in range(2):
        scaled = np.linalg.qr(scaled - basis @ (basis.T @ scaled))[0]
    return np.hstack([basis, scaled])


def _with_intercept(basis: Array, n_coefficients: int) -> Array:
    n_items, size = basis.shape
    added = n_coefficients - n_items
    whole = np.zeros((n_coefficients, size + added))
    whole[:n_items, :size] = basis
    whole[n_items:, size:] = np.eye(added)
    return whole


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


def _iterate(parameters: full.Parameters, units: Units, start: Array) -> HierarchicalIterate:
    prior = parameters.of_coefficients().in_units(units.scales, units.centre, units.scale)
    return HierarchicalIterate(prior.directions(*start.shape), prior=prior)
