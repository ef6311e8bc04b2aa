"""Choose among variants by error on held-out training data, as the paper chose a, b and ρ."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grassvine.data import Ratings, Tasks, fold_samples, split_tasks, split_users
from grassvine.foundations.errors import AgentError
from grassvine.gossip import Gossip, StepSize
from grassvine.networks import path
from grassvine.paper.case import Request
from grassvine.paper.scores import mean_squared_error, normalised_errors
from grassvine.paper.variants import Variant
from grassvine.problems import CompletionProblem, LocalProblem, MultitaskProblem
from grassvine.runs import Plan, Run, run

N_FOLDS = 5
DECAYS = (0.0, 1e-3, 1e-2)  # b
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # a, in units of the initial linearised step
PRECONDITIONED = (0.25, 0.5, 1.0)  # a, for preconditioned directions
# Errors within this factor of the best count as equal; the agents' agreement then decides.
TIE_FACTOR = 1.1


@dataclass(frozen=True, slots=True)
class Fold:
    """The agents' problems without their held-out data, and the error on that data."""

    problems: Sequence[LocalProblem]
    error: Callable[[Run], float]


def best(
    candidates: Sequence[Variant], folds: Sequence[Fold], rank: int, request: Request
) -> Variant:
    """Return the variant with the smallest error on held-out data.

    Among variants within 10% of the smallest error, the one whose agents agree best wins.
    """
    trials = []
    for number, candidate in enumerate(candidates, 1):
        title = f"{candidate.name}: candidate {number} of {len(candidates)}"
        trials.append((*_trial(candidate, folds, rank, request, title), candidate))
    smallest = min(error for error, _, _ in trials)
    good = [trial for trial in trials if trial[0] <= TIE_FACTOR * smallest]
    return min(good or trials, key=lambda trial: trial[1])[2]


def with_best_step(variant: Variant, folds: Sequence[Fold], rank: int, request: Request) -> Variant:
    """Return a gossip variant with a and b chosen by cross-validation."""
    method = variant.method(len(folds[0].problems))
    assert isinstance(method, Gossip)
    if method.preconditioner == "none":
        unit = _initial_step(variant, folds[0], rank, request)
        lengths = [factor * unit for factor in FACTORS]
    else:
        lengths = list(PRECONDITIONED)
    candidates = [variant.with_step(StepSize(a, b)) for a in lengths for b in DECAYS]
    return best(candidates, folds, rank, request)


def _trial(
    variant: Variant, folds: Sequence[Fold], rank: int, request: Request, title: str
) -> tuple[float, float]:
    """Return the mean error on held-out data and the largest distance between neighbours."""
    errors, distances = [], []
    for fold in folds:
        plan = _plan(variant, fold, rank, request)
        with request.watch(title, plan.timetable.n_slots) as observer:
            observers = () if observer is None else (observer,)
            try:
                result = run(plan, fold.problems, engine=request.engine, observers=observers)
            except AgentError:  # the step is so long that numbers overflow
                return math.inf, math.inf
        errors.append(fold.error(result))
        distances.append(result.neighbour_distance)
    mean = float(np.mean(errors))
    return (mean, max(distances)) if math.isfinite(mean) else (math.inf, math.inf)


def _initial_step(variant: Variant, fold: Fold, rank: int, request: Request) -> float:
    """Return the median linearised step over the first meetings."""
    plan = _plan(variant, fold, rank, request)
    method = plan.method
    assert isinstance(method, Gossip)
    short = replace(method, step=StepSize(None), max_iter=4 * plan.network.n_agents)
    result = run(replace(plan, method=short), fold.problems, engine=request.engine)
    steps = result.history["step"]
    return float(np.median(steps[steps > 0.0]))


def _plan(variant: Variant, fold: Fold, rank: int, request: Request) -> Plan:
    n_agents = len(fold.problems)
    return Plan(
        n_items=fold.problems[0].n_items,
        rank=rank,
        network=path(n_agents),
        method=variant.method(n_agents),
        geometry=variant.geometry,
        seed=request.seed,
    )


def rating_fold(train: Ratings, test: Ratings, n_agents: int) -> Fold:
    """Return a fold of ratings, where each agent predicts the entries of its own users."""
    problems = [CompletionProblem(part) for part in split_users(train, n_agents)]
    tests = split_users(test, n_agents)
    return Fold(problems, lambda result: mean_squared_error(problems, result.bases, tests))


def task_folds(tasks: Tasks, alpha: float, n_agents: int, request: Request) -> list[Fold]:
    """Return folds of the samples of every task, where each agent predicts its own tasks."""
    pairs = fold_samples(tasks, N_FOLDS, seed=request.seed)
    return [_task_fold(train, test, alpha, n_agents) for train, test in pairs]


def _task_fold(train: Tasks, test: Tasks, alpha: float, n_agents: int) -> Fold:
    problems = [MultitaskProblem(part, alpha=alpha) for part in split_tasks(train, n_agents)]
    tests = split_tasks(test, n_agents)

    def error(result: Run) -> float:
        each = map(normalised_errors, problems, result.bases, tests)
        return float(np.concatenate(list(each)).mean())

    return Fold(problems, error)
