"""Check of an engine: it must reproduce ``LocalEngine`` bit for bit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grassvine.averaging import REXTRA, DeEPCA, DLMaFit, Tracked
from grassvine.checks.assertions import require
from grassvine.data import Ratings, split_samples, split_tasks, split_users
from grassvine.datasets import low_rank_ratings, subspace_tasks
from grassvine.engines.base import Engine
from grassvine.engines.in_process import LocalEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, CheckFailed
from grassvine.foundations.seeds import stream
from grassvine.gossip import Gossip, parallel, precon_parallel, precon_stochastic, stochastic
from grassvine.networks import AllEdges, erdos_renyi, path
from grassvine.problems import (
    CompletionProblem,
    Evaluation,
    LocalProblem,
    MultitaskProblem,
    PCAProblem,
    Problem,
)
from grassvine.protocol import StepReport
from grassvine.runs import Plan
from grassvine.runs.run import Run, run
from grassvine.sums import (
    EASE,
    BayesianCompletionProblem,
    BayesianFactorization,
    BiasedCompletionProblem,
    BiasedFactorization,
    EmpiricalBayes,
    Exact,
    HierarchicalProblem,
    ImplicitFactorization,
    ImplicitProblem,
    IncompletePCA,
    IncompleteSamples,
    Validated,
)

RANK = 3
N_AGENTS = 6


def check_engine(engine: Engine) -> None:
    """Run every method on an engine and compare the results with ``LocalEngine``, bit for bit.

    Gossip with every schedule and preconditioning, D-LMaFit, and the exact and averaging methods
    complete ratings on a path and on a random network; gossip and sums also fit regression tasks.
    Ratings, events, tasks and samples are also fitted by their own models, and some by fixed-point
    sums. An early stop and a failing agent are tested as well. Raises :class:`CheckFailed` if a
    check fails.

    Examples
    --------
    >>> import grassvine as gv
    >>> class Forgetful:  # an engine that runs nothing
    ...     def run(self, factories, timetable, observe):
    ...         states = tuple(make().state() for make in factories)
    ...         return gv.engines.EngineResult(states, 0, "the timetable ended")
    >>> try:
    ...     gv.checks.check_engine(Forgetful())
    ... except gv.CheckFailed as failure:
    ...     print("not an engine")
    not an engine
    """
    completion, plain = _completion_problems(0.01), _completion_problems(0.0)
    networks = (path(N_AGENTS), erdos_renyi(N_AGENTS, 0.6, seed=1))
    methods = (
        stochastic(max_iter=30),
        precon_stochastic(max_iter=30),
        parallel(max_iter=20),
        precon_parallel(max_iter=20),
        Gossip(max_iter=10, schedule=AllEdges()),
        DLMaFit(max_iter=10, max_omega=12.0),
        Exact(max_iter=60),
        Validated(any_rank=True, max_iter=60),
        Tracked(max_iter=4),
        REXTRA(max_iter=20),
    )
    for network in networks:
        for method in methods:
            plan = Plan(completion[0].n_items, RANK, network, method, seed=3)
            problems = plain if isinstance(method, DLMaFit | Validated) else completion
            _check_run(engine, plan, problems, f"{method} on {len(network.edges)} links")
    biased = [BiasedCompletionProblem(problem.ratings) for problem in completion]
    for regularization in (2.0, "auto"):
        with_biases = BiasedFactorization(regularization=regularization, max_iter=10)
        plan = Plan(biased[0].n_items, RANK, path(N_AGENTS), with_biases, seed=3)
        _check_run(engine, plan, biased, f"biases, regularization={regularization}")
    ratings = [BayesianCompletionProblem(problem.ratings) for problem in completion]
    for ranks in ((RANK,), (0, RANK)):
        plan = Plan(
            ratings[0].n_items, RANK, path(N_AGENTS), BayesianFactorization(ranks, 3), seed=3
        )
        _check_run(engine, plan, ratings, f"ratings by variational Bayes, ranks={ranks}")
    events = [ImplicitProblem(_with_counts(problem.ratings)) for problem in completion]
    for implicit in (ImplicitFactorization(max_iter=10), EASE()):
        plan = Plan(events[0].n_items, RANK, path(N_AGENTS), implicit, seed=3)
        _check_run(engine, plan, events, f"{implicit} on events")
    for with_words, parts in ((Exact(max_iter=20), completion), (with_biases, biased)):
        plan = Plan(parts[0].n_items, RANK, networks[1], with_words, seed=3, sums="fixed")
        _check_run(engine, plan, parts, f"{with_words} by fixed-point sums")
    samples = _pca_problems()
    for components in (Exact(), DeEPCA(max_iter=5)):
        plan = Plan(samples[0].n_items, RANK, path(N_AGENTS), components, seed=3)
        _check_run(engine, plan, samples, f"{components} on samples")
    holes = [IncompleteSamples(_with_holes(problem.samples)) for problem in samples]
    plan = Plan(samples[0].n_items, RANK, path(N_AGENTS), IncompletePCA(max_iter=5), seed=3)
    _check_run(engine, plan, holes, "samples with missing values")
    tasks = _multitask_problems()
    hierarchical = [HierarchicalProblem(problem.tasks) for problem in tasks]
    plan = Plan(tasks[0].n_items, RANK, path(N_AGENTS), EmpiricalBayes(max_iter=5), seed=3)
    _check_run(engine, plan, hierarchical, "tasks by empirical Bayes")
    plan = Plan(tasks[0].n_items, RANK, path(N_AGENTS), Exact(max_iter=60), seed=3)
    _check_run(engine, plan, tasks, "tasks by sums")
    plan = Plan(tasks[0].n_items, RANK, path(N_AGENTS), precon_parallel(max_iter=20), seed=3)
    _check_run(engine, plan, tasks, "tasks")
    _check_early_stop(engine, plan, tasks)
    _check_failure(engine, plan, tasks)


def _check_run(engine: Engine, plan: Plan, problems: Sequence[Problem], where: str) -> None:
    seen: list[StepReport] = []
    wanted = run(plan, problems, engine=LocalEngine())
    found = run(plan, problems, engine=engine, observers=[seen.append])
    _require_same(found, wanted, where)
    require(len(seen) == len(found.history), "an observer must receive every report", where)
    ordered = all((a.slot, a.agent) < (b.slot, b.agent) for a, b in pairwise(seen))
    require(ordered, "reports must be ordered by slot, then agent", where)


def _require_same(found: Run, wanted: Run, where: str) -> None:
    for agent, (one, other) in enumerate(zip(found.bases, wanted.bases, strict=True)):
        require(
            one.tobytes() == other.tobytes(),
            "an engine must return the same bases as LocalEngine",
            f"the basis of agent {agent} differs by {np.abs(one - other).max(initial=0.0):.1e} "
            f"({where})",
        )
    for name, column in wanted.history.columns.items():
        same = np.array_equal(found.history[name], column, equal_nan=True)
        require(
            same,
            "an engine must return the same history as LocalEngine",
            f"{name} differs ({where})",
        )
    require(
        (found.n_slots, found.stop_reason) == (wanted.n_slots, wanted.stop_reason),
        "an engine must stop at the same slot and for the same reason as LocalEngine",
        f"after {found.n_slots} slots, not {wanted.n_slots} ({where})",
    )


def _check_early_stop(engine: Engine, plan: Plan, problems: Sequence[LocalProblem]) -> None:
    def stop_at_7(report: StepReport) -> str | None:
        return "enough" if report.slot == 7 else None

    wanted = run(plan, problems, engine=LocalEngine(), observers=[stop_at_7])
    found = run(plan, problems, engine=engine, observers=[stop_at_7])
    _require_same(found, wanted, "early stop")
    require(
        found.n_slots == 8,
        "a run must stop after the slot at which an observer stops it",
        f"{found.n_slots} slots ran",
    )


@dataclass(frozen=True)
class _Failing:
    """A problem whose methods raise an error."""

    n_items: int
    n_values: int = 1

    def evaluate(self, basis: Array) -> Evaluation:
        raise ValueError("a deliberate failure")

    def weights(self, basis: Array) -> Array:
        raise ValueError("a deliberate failure")


def _check_failure(engine: Engine, plan: Plan, problems: Sequence[LocalProblem]) -> None:
    broken = [*problems[:2], _Failing(plan.n_items), *problems[3:]]
    try:
        result = run(plan, broken, engine=engine)
    except AgentError as error:
        require(error.agent == 2, "an error must name the failed agent", str(error))
        require(
            "a deliberate failure" in error.cause, "an error must contain its cause", str(error)
        )
    else:
        raise CheckFailed(
            f"a failing agent must stop the run: it ended normally, {result.stop_reason}."
        )


def _completion_problems(unobserved: float) -> list[CompletionProblem]:
    ratings = low_rank_ratings(30, 100, RANK, oversampling=3.0, noise=0.1, seed=11).ratings
    parts = split_users(ratings, N_AGENTS)
    return [CompletionProblem(part, unobserved=unobserved) for part in parts]


def _with_counts(ratings: Ratings) -> Ratings:
    """Return the same pairs as events with counts from 1 to 3."""
    return ratings.with_values(np.arange(ratings.n_values) % 3 + np.ones(ratings.n_values))


def _with_holes(samples: Array) -> Array:
    return np.where(stream(11, "holes").random(samples.shape) < 0.2, np.nan, samples)


def _multitask_problems() -> list[MultitaskProblem]:
    tasks = subspace_tasks(12, 20, RANK, samples=(4, 20), noise=0.1, seed=11).tasks
    return [MultitaskProblem(part, alpha=0.1) for part in split_tasks(tasks, N_AGENTS)]


def _pca_problems() -> list[PCAProblem]:
    samples = stream(11, "samples").standard_normal((90, 12)) * np.geomspace(3.0, 0.3, 12)
    return [PCAProblem(part) for part in split_samples(samples - samples.mean(0), N_AGENTS)]
