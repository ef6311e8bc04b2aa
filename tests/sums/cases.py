"""Every method by sums with data for it, and what agents of different arithmetic must agree on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tests.samples import N_ITEMS, ratings, scarce_ratings, tasks
from tests.sums.biased.test_method import table
from tests.sums.components.test_eigenspace import sorted_samples
from tests.sums.hierarchical.task_sets import N_FEATURES, alike
from tests.sums.implicit.choices import events
from tests.sums.incomplete.sample_sets import low_rank, with_holes
from tests.sums.test_validated import ITEMS, noisy, truth

import grassvine as gv
from grassvine.engines.base import Engine
from grassvine.foundations.arrays import Array
from grassvine.problems import Problem
from grassvine.protocol import StepReport
from grassvine.protocol.observers import AllFinished, CombinedObserver
from grassvine.sums import (
    EASE,
    BayesianCompletionProblem,
    BayesianFactorization,
    BiasedFactorization,
    EmpiricalBayes,
    Exact,
    HierarchicalProblem,
    ImplicitFactorization,
    IncompletePCA,
    IncompleteSamples,
    SumAgent,
    Validated,
)
from grassvine.sums.program import Decision, Program, ProgramOutcome

GRASSMANN = gv.geometry.Grassmann()
DISCRETE = "candidate_rank", "candidate_n_sums", "candidate_chosen"


@dataclass(frozen=True)
class Case:
    """A method, and data for it."""

    n_items: int
    rank: int
    method: Any
    data: Any
    split: Callable[..., Any]
    problem: Callable[[Any], Any]

    def plan(self, network: gv.networks.Network) -> gv.Plan:
        """Return the plan for a network."""
        return gv.Plan(self.n_items, self.rank, network, self.method, seed=5)

    def problems(self, n_agents: int) -> list[Any]:
        """Return the problem of each agent."""
        return [self.problem(part) for part in self.split(self.data, n_agents)]


def completion(n_items: int, data: Any, method: Any = None, **options: Any) -> Case:
    make = partial(gv.CompletionProblem, **options)
    return Case(n_items, 3, method or Exact(), data, gv.datasets.split_users, make)


def components(n_samples: int, spread: Array, share: float = 0.0) -> Case:
    method = Exact(explained_variance_ratio=share)
    samples = sorted_samples(n_samples, spread)
    return Case(len(spread), 4, method, samples, gv.datasets.split_samples, gv.PCAProblem)


def biased(seed: int = 0, **options: Any) -> Case:
    method = BiasedFactorization(**options)
    return Case(40, 3, method, table(seed), gv.datasets.split_users, gv.BiasedCompletionProblem)


def descent_to_rounding(seed: int = 0) -> Case:
    """A descent that ends when no step reduces the cost: a decision about its last digits."""
    return biased(seed, regularization=2.0, tol=0.0)


def implicit(method: Any, **options: Any) -> Case:
    table = events(**options)
    return Case(40, 3, method, table, gv.datasets.split_users, gv.ImplicitProblem)


def bayesian(data: Any = None, n_items: int = 40, **options: Any) -> Case:
    method = BayesianFactorization(**options)
    data = table() if data is None else data
    return Case(n_items, 3, method, data, gv.datasets.split_users, BayesianCompletionProblem)


def incomplete(**options: Any) -> Case:
    samples = with_holes(low_rank(60))
    split = gv.datasets.split_samples
    return Case(samples.shape[1], 3, IncompletePCA(**options), samples, split, IncompleteSamples)


LOW = gv.datasets.low_rank_ratings(60, 500, 3, oversampling=5.0, seed=1).ratings
HARD = gv.datasets.low_rank_ratings(60, 300, 3, oversampling=1.7, condition=50.0, seed=2).ratings
STUCK = gv.datasets.low_rank_ratings(
    200, 200, 3, oversampling=1.8, noise=0.0, condition=10.0, least_entries=3, seed=3
).ratings
WIDE = np.r_[np.arange(1.0, 121.0) ** -0.7, np.zeros(1900)]
CASES = {
    "by rank": completion(60, LOW),
    "by rank, few entries": completion(60, HARD),
    "by rank, restarted": completion(N_ITEMS, ratings()),
    "by rank, variational": completion(200, STUCK),
    "by rank, λ > 0": completion(N_ITEMS, ratings(), unobserved=0.1),
    "by rank, μ > 0": completion(N_ITEMS, scarce_ratings(), tikhonov=0.5),
    "random start": completion(60, LOW, Exact(by_rank=False)),
    "tasks": Case(
        N_ITEMS,
        2,
        Exact(),
        tasks(),
        gv.datasets.split_tasks,
        partial(gv.MultitaskProblem, alpha=0.5),
    ),
    "components, one sum": components(300, np.geomspace(3.0, 0.3, 30)),
    "components, blocks": components(300, np.geomspace(3.0, 0.3, 150)),
    "components, restarted": components(400, np.linspace(1.5, 1.0, 300)),
    "components, few samples": components(20, np.linspace(2.0, 1.0, 300)),
    "share of variance, one sum": components(300, np.geomspace(3.0, 0.3, 30), 0.9),
    "share of variance, blocks": components(300, WIDE, 0.6),
    "hierarchical": Case(
        N_FEATURES, 2, EmpiricalBayes(), alike(20), gv.datasets.split_tasks, HierarchicalProblem
    ),
    "incomplete": incomplete(),
    "incomplete, share of variance": incomplete(explained_variance_ratio=0.8),
    "validated": completion(ITEMS, noisy(truth()), Validated(any_rank=True)),
    "validated, λ given": completion(ITEMS, noisy(truth()), Validated(unobserved=0.1)),
    "biased": biased(regularization=2.0),
    "biased, to rounding": descent_to_rounding(),
    "biased, auto": biased(),
    "biased, auto, ranks": biased(ranks=(0, 1, 3)),
    "implicit": implicit(ImplicitFactorization(), n_users=500, per_user=30.0, counted=True),
    "implicit, few events": implicit(ImplicitFactorization(), per_user=5.0, taste=12.0),
    "implicit, noise": implicit(ImplicitFactorization(), per_user=4.0, taste=1.0),
    "regressions between items": implicit(EASE(), counted=True),
    "bayesian": bayesian(),
    "bayesian, biases alone": bayesian(ranks=(0,)),
    "bayesian, ranks": bayesian(ranks=(0, 1, 3)),
    "bayesian, few ratings": bayesian(scarce_ratings(), N_ITEMS),
}


def agent_of(
    plan: gv.Plan,
    problem: Problem,
    number: int,
    change: Callable[[Program], Program] = lambda program: program,
) -> SumAgent:
    """Return an agent whose program is changed."""
    method: Any = plan.method
    program = method.program(problem, plan.start(0), plan.seed)
    return SumAgent(number, problem, change(program), plan.network.tree)


def learned(
    case: Case,
    network: gv.networks.Network,
    engine: Engine,
    change: Callable[[Program], Program] | None = None,
) -> tuple[Sequence[Any], list[str]]:
    """Run a case; return the states of the agents, and why each of them stopped."""
    plan, reasons = case.plan(network), dict.fromkeys(range(network.n_agents), "")
    makers = [
        partial(agent_of, plan, problem, number, *([change] if change else []))
        for number, problem in enumerate(case.problems(network.n_agents))
    ]

    def note(report: StepReport) -> None:
        reasons[report.agent] = report.finished or reasons[report.agent]

    note.only_watches = True  # type: ignore[attr-defined]
    observe = CombinedObserver(note, AllFinished(network.n_agents))
    outcome = engine.run(makers, plan.timetable, observe)
    return outcome.states, list(reasons.values())


def deciding_itself(program: Program) -> Program:
    """Run a program without the rule: every agent takes its own decisions."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            return ending
        if isinstance(request, Decision):
            answer = [np.array(request.value)]
        else:
            answer = yield request


def assert_equal_up_to_rounding(states: Sequence[Any]) -> None:
    """Check the number of sums, the candidates and the shared parts.

    1e-8 is what users are promised. Processes with other libraries differed by 3e-13 at most, in
    components whose eigenvalues are close; rounding perturbed on purpose is coarser.
    """
    first = states[0]
    for state in states:
        assert state.keys() == first.keys()
        assert state["updates"] == first["updates"]
        for name in first.keys() & {*DISCRETE}:
            np.testing.assert_array_equal(state[name], first[name])
    assert largest_difference(states) < 1e-8


def largest_difference(states: Sequence[Any]) -> float:
    """Return by how much the shared parts of agents differ from those of the first.

    The columns of a basis may have other signs, so it counts as a subspace; a number x counts with
    its difference over 1 + |x|.
    """
    found = [0.0]
    for state in states[1:]:
        for name, wanted in states[0].items():
            array = state[name]
            if name == "basis":
                found.append(GRASSMANN.distance(array, wanted))
            elif wanted.size:
                assert array.shape == wanted.shape
                same = (array == wanted) | (np.isnan(array) & np.isnan(wanted))
                with np.errstate(invalid="ignore"):
                    difference = np.abs(array - wanted) / (1.0 + np.abs(wanted))
                found.append(float(np.where(same, 0.0, difference).max()))
    return float(np.max(found))  # NaN counts as well


# Factors are rejected, and what remains are counts.
WITHOUT_ROUNDING = ("implicit, noise",)


def assert_arithmetic_differs(name: str, states: Sequence[Any]) -> None:
    """Check that some shared part has other bits at another agent; else nothing was tried."""
    differs = any(
        array.tobytes() != state[key].tobytes()
        for state in states[1:]
        for key, array in states[0].items()
    )
    assert differs or name in WITHOUT_ROUNDING
