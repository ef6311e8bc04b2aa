"""Completion with biases: what many agents find by sums is what one owner of all data finds."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.samples import PROBLEMS

import grassvine as gv
from grassvine.data import hold_out_of_users, hold_out_ratings
from grassvine.engines.in_process import LocalEngine, ThreadsEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.protocol.observers import AllFinished
from grassvine.sums import BiasedModel
from grassvine.sums.biased import BiasedFactorization
from grassvine.sums.biased.descent import BiasedIterate, StoppingCriteria, fit_biased
from grassvine.sums.biased.selection import (
    STRENGTH_RATIO,
    STRENGTHS,
    Candidate,
    Trial,
    choose_biased,
    most_sums,
    search,
)
from grassvine.sums.own import Data
from grassvine.sums.program import (
    Decision,
    Program,
    first_part,
    flat,
    next_part,
    run_pooled,
    shaped,
)

RANK = 3
CANDIDATE_COLUMNS = "rank", "regularization", "bias_regularization", "rmse", "n_sums", "chosen"
NETWORKS = {
    "pair": gv.networks.path(2),
    "path": gv.networks.path(7),
    "ring": gv.networks.ring(6),
    "star": gv.networks.star(5),
    "complete": gv.networks.complete(4),
    "random": gv.networks.erdos_renyi(9, 0.4, seed=3),
}


def table(seed: int = 0, n_users: int = 250, n_items: int = 40, noise: float = 0.4) -> gv.Ratings:
    """A third of a table of rank two with offsets and biases, and noise."""
    rng = stream(seed, "data", "ratings with offsets")
    truth = rng.standard_normal((n_users, 2)) @ rng.standard_normal((2, n_items))
    truth += 3.5 + 0.6 * rng.standard_normal(n_items) + 0.5 * rng.standard_normal((n_users, 1))
    users, items = np.nonzero(rng.random(truth.shape) < 0.33)
    values = truth[users, items] + noise * rng.standard_normal(len(users))
    return gv.Ratings.from_arrays(users, items, values, n_users=n_users, n_items=n_items)


def plan(method: BiasedFactorization, network: gv.networks.Network, seed: int = 2) -> gv.Plan:
    return gv.Plan(40, RANK, network, method, seed=seed)


def learned(plan: gv.Plan, ratings: gv.Ratings, engine: Any = None) -> tuple[Any, str]:
    """The agents' states, and why they stopped."""
    parts = gv.datasets.split_users(ratings, plan.network.n_agents)
    makers = [
        partial(plan.agent, i, gv.BiasedCompletionProblem(part)) for i, part in enumerate(parts)
    ]
    outcome = (engine or LocalEngine()).run(makers, plan.timetable, AllFinished(len(makers)))
    return outcome.states, outcome.stop_reason


def pooled(
    fit: Callable[..., Program], problem: gv.BiasedCompletionProblem, *given: Any, **options: Any
) -> tuple[BiasedModel, str]:
    ending = run_pooled(fit(problem, *given, **options), problem)
    assert isinstance(ending.iterate, BiasedIterate)
    return ending.iterate.model, ending.reason


def costs_of(program: Program, problem: gv.BiasedCompletionProblem) -> list[float]:
    part, costs, data = first_part(program), [], Data(problem)
    while True:
        try:
            part = next_part(program, shaped(*flat(part.of(data))))
            costs.append(part.iterate.cost)
        except StopIteration as end:
            return [*costs, end.value.iterate.cost]


def test_error(model: BiasedModel, train: gv.Ratings, test: gv.Ratings) -> float:
    guess = gv.BiasedCompletionProblem(train).predict(model, test)
    return float(np.sqrt(np.mean((guess - test.values) ** 2)))


test_error.__test__ = False  # type: ignore[attr-defined]


def start(seed: int = 2) -> Array:
    return plan(BiasedFactorization(), gv.networks.path(2), seed).start(0)


@pytest.mark.parametrize("regularization", [2.0, "auto"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_many_agents_find_what_one_would(network: gv.networks.Network, regularization: Any) -> None:
    ratings = table()
    states, reason = learned(plan(BiasedFactorization(regularization), network), ratings)
    if regularization == "auto":
        model, why = pooled(choose_biased, gv.BiasedCompletionProblem(ratings), start(), seed=2)
    else:
        model, why = pooled(
            fit_biased, gv.BiasedCompletionProblem(ratings), start(), regularization, 3.0
        )
    assert why in reason
    for state in states:
        # Rounding of the sums, let grow by some fifty iterations that stop short of the minimum.
        np.testing.assert_allclose(
            state["regularization"], [model.regularization, model.bias_regularization], rtol=1e-12
        )
        np.testing.assert_allclose(state["centre"], model.centre, rtol=1e-13)
        np.testing.assert_allclose(state["item_biases"], model.item_biases, atol=1e-8)
        np.testing.assert_allclose(state["factors"], model.factors, atol=1e-8)
        np.testing.assert_array_equal(state["factors"], states[0]["factors"])


def test_the_end_is_a_minimum() -> None:
    """At a tight tolerance the gradient of the whole cost vanishes, from any start alike."""
    ratings = table()
    criteria = StoppingCriteria(400, 1e-14)
    problem = gv.BiasedCompletionProblem(ratings)
    programs = [fit_biased(problem, start(seed), 3.0, 2.0, criteria) for seed in (0, 1)]
    iterates = [run_pooled(program, problem).iterate for program in programs]
    ends = [iterate.model for iterate in iterates if isinstance(iterate, BiasedIterate)]
    for model in ends:
        there = problem.evaluate(model)
        by_factors, by_biases = 3.0 * model.factors, 2.0 * model.item_biases
        # A relative change of the cost of 1e-14 is one of its gradient of about 1e-7.
        error = np.linalg.norm(there.factor_gradient + by_factors)
        assert error < 1e-5 * np.linalg.norm(by_factors)
        error = np.linalg.norm(there.bias_gradient + by_biases)
        assert error < 1e-5 * np.linalg.norm(by_biases)
    np.testing.assert_allclose(iterates[0].cost, iterates[1].cost, rtol=1e-9)
    # Of many A and W with the same product the penalties take those of equal Gram matrices.
    weights, _ = problem.solve(ends[0])
    gram = ends[0].factors.T @ ends[0].factors
    np.testing.assert_allclose(weights.T @ weights, gram, atol=1e-5 * float(np.trace(gram)))


@pytest.mark.parametrize("regularization", [0.5, 5.0, 50.0])
def test_costs_never_rise(regularization: float) -> None:
    problem, criteria = gv.BiasedCompletionProblem(table()), StoppingCriteria(60, 1e-9)
    program = fit_biased(problem, start(), regularization, 3.0, criteria)
    costs = np.array(costs_of(program, problem))
    costs = costs[np.isfinite(costs)]
    assert len(costs) > 10 and (np.diff(costs) <= 0.0).all()


def test_the_same_plan_has_the_same_bits_on_every_engine() -> None:
    ratings, agreed = table(), plan(BiasedFactorization(), gv.networks.ring(5))
    one, _ = learned(agreed, ratings)
    two, _ = learned(agreed, ratings, ThreadsEngine(2))
    for first, second in zip(one, two, strict=True):
        assert set(first) == {
            "basis",
            "updates",
            "factors",
            "item_biases",
            "centre",
            "regularization",
            *(f"candidate_{name}" for name in CANDIDATE_COLUMNS),
        }
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])


def test_run_takes_the_method_and_reports_the_cost_of_each_agent() -> None:
    ratings, network = table(), gv.networks.star(4)
    parts = gv.datasets.split_users(ratings, 4)
    run = gv.run(
        plan(BiasedFactorization(2.0), network),
        [gv.BiasedCompletionProblem(part) for part in parts],
    )
    problem = gv.BiasedCompletionProblem(ratings)
    iterate = run_pooled(fit_biased(problem, start(), 2.0, 3.0), problem).iterate
    assert isinstance(iterate, BiasedIterate)
    model = iterate.model
    last = run.history["cost"][-4:]  # without the penalties of the items
    regularization = np.sum(model.factors**2) + 1.5 * np.sum(model.item_biases**2)
    np.testing.assert_allclose(last.sum() + regularization, iterate.cost, rtol=1e-9)
    assert "the cost converged" in run.stop_reason and run.neighbour_distance < 1e-7


@pytest.mark.parametrize("regularization", [2.0, "auto"])
def test_agents_have_a_model_from_the_beginning(regularization: Any) -> None:
    """A checkpoint identifies the data by the cost before slot 0; and a run may be stopped."""
    parts = gv.datasets.split_users(table(), 2)
    problems = [gv.BiasedCompletionProblem(part) for part in parts]
    own = plan(BiasedFactorization(regularization), gv.networks.path(2))
    makers = [partial(own.agent, i, problem) for i, problem in enumerate(problems)]
    gv.checks.check_agent(makers[0], makers[1]())
    costs = [make().conclude(0).cost for make in makers]
    assert np.isfinite(costs).all() and costs[0] != costs[1]
    run = gv.run(own, problems, observers=[lambda _: "enough"])
    assert run.n_slots == 1
    model = BiasedModel.from_arrays(run.states[0])
    assert run.history["cost"][-2] == problems[0].evaluate(model).cost


def test_auto_is_about_as_good_as_the_best_of_many_on_test() -> None:
    train, test = hold_out_ratings(table(n_users=500), 0.2, seed=1)
    model, _ = pooled(choose_biased, gv.BiasedCompletionProblem(train), start())
    others = [
        pooled(fit_biased, gv.BiasedCompletionProblem(train), start(), regularization, 3.0)[0]
        for regularization in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    ]
    errors = [test_error(other, train, test) for other in others]
    assert test_error(model, train, test) < 1.03 * min(errors) < 0.8 * max(errors)


def test_auto_chooses_among_ranks() -> None:
    train, test = hold_out_ratings(table(n_users=500), 0.2, seed=1)
    model, _ = pooled(choose_biased, gv.BiasedCompletionProblem(train), start(), ranks=(1, 2, 3))
    assert model.factors.shape[1] == 2  # that of the table
    fixed, _ = pooled(choose_biased, gv.BiasedCompletionProblem(train), start()[:, :1])
    assert test_error(model, train, test) < 0.8 * test_error(fixed, train, test)


def test_auto_does_not_depend_on_the_unit_of_the_ratings() -> None:
    ratings = table()
    model, _ = pooled(choose_biased, gv.BiasedCompletionProblem(ratings), start())
    scaled = gv.Ratings(ratings.n_items, ratings.starts, ratings.items, 100.0 * ratings.values)
    other, _ = pooled(choose_biased, gv.BiasedCompletionProblem(scaled), start())
    np.testing.assert_allclose(other.regularization, 100.0 * model.regularization, rtol=1e-9)
    np.testing.assert_allclose(other.item_biases, 100.0 * model.item_biases, atol=1e-5)


def test_noise_is_left_alone() -> None:
    """Where nothing but biases is to be learned, auto learns nothing else."""
    rng = stream(0, "data", "noise")
    ratings = table()
    noise = gv.Ratings(
        ratings.n_items, ratings.starts, ratings.items, rng.standard_normal(ratings.n_values)
    )
    train, test = hold_out_ratings(noise, 0.2)
    model, _ = pooled(choose_biased, gv.BiasedCompletionProblem(train), start())
    assert test_error(model, train, test) < 1.02 * float(np.std(test.values))


def test_what_is_held_out_does_not_depend_on_who_holds_the_users() -> None:
    ratings = table()
    _, whole = hold_out_of_users(ratings, 0.2, seed=5)
    parts = [hold_out_of_users(part, 0.2, seed=5) for part in gv.datasets.split_users(ratings, 4)]
    np.testing.assert_array_equal(whole.values, np.concatenate([held.values for _, held in parts]))
    assert all(rest.n_users == held.n_users for rest, held in parts)
    # About a share: four standard deviations of a binomial draw.
    spread = 4.0 * np.sqrt(0.16 / ratings.n_values)
    assert abs(whole.n_values / ratings.n_values - 0.2) < spread
    _, other = hold_out_of_users(ratings, 0.2, seed=6)
    assert not np.array_equal(whole.values, other.values)


def test_there_is_time_for_all_sums() -> None:
    criteria = StoppingCriteria(max_iter=4, tol=0.0)
    problem = gv.BiasedCompletionProblem(table())
    program = choose_biased(problem, start(), ranks=(1, 2, 3), criteria=criteria)
    n_sums = len(costs_of(program, problem))
    assert n_sums <= most_sums(criteria, 3)
    _, reason = learned(
        plan(BiasedFactorization(max_iter=4, tol=0.0), gv.networks.path(3)), table()
    )
    assert "reached the limit of 4 iterations" in reason


def test_extreme_tables_are_fitted() -> None:
    ratings = table()
    equal = gv.Ratings(ratings.n_items, ratings.starts, ratings.items, np.ones(ratings.n_values))
    few = ratings.take_values(np.arange(ratings.n_values) % 97 == 0)  # most users have nothing
    for extreme in (equal, few):
        model, _ = pooled(choose_biased, gv.BiasedCompletionProblem(extreme), start())
        assert np.isfinite(model.factors).all() and np.isfinite(model.item_biases).all()
        assert learned(plan(BiasedFactorization(), gv.networks.path(3)), extreme)[1]


@pytest.mark.parametrize(
    "options",
    [
        {"regularization": 0.0},
        {"regularization": -1.0},
        {"regularization": "other"},
        {"regularization": 1.0, "bias_regularization": 0.0},
        {"max_iter": 0},
        {"tol": -1.0},
        {"share": 0.0},
        {"share": 1.0},
        {"ranks": (-1,)},
        {"regularization": 1.0, "ranks": (1, 2)},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=r"choose|pass|give"):
        BiasedFactorization(**options)


def test_wrong_problems_are_refused() -> None:
    agreed = gv.Plan(20, RANK, gv.networks.path(2), BiasedFactorization(1.0))
    for name in ("multitask", "completion, λ > 0", "completion, μ > 0"):
        with pytest.raises(PlanError, match="pass BiasedCompletionProblem"):
            agreed.agent(0, PROBLEMS[name](0))
    with pytest.raises(PlanError, match="rank"):
        plan(BiasedFactorization(ranks=(RANK + 1,)), gv.networks.path(2)).agent(
            0, gv.BiasedCompletionProblem(table())
        )


@pytest.mark.parametrize("best", [2.0**-4, 2.0**-0.5, 1.0, 2.0**1.5, 2.0**3])
def test_the_search_goes_outward_until_the_best_value_is_inside_the_grid(best: float) -> None:
    tried: list[float] = []

    def at(value: float) -> Candidate:
        tried.append(value)
        nothing: Any = None
        return Candidate(value, nothing, abs(np.log(value / best)), 0)

    def fit(value: float, before: Candidate) -> Trial:
        yield from ()  # a program without sums
        return at(value)

    searching = search(at(1.0), 1.0, STRENGTH_RATIO, STRENGTHS, fit)
    decision = next(searching)
    assert isinstance(decision, Decision)
    with pytest.raises(StopIteration) as end:
        next_part(searching, [np.array(decision.value)])
    assert end.value.value.strength == pytest.approx(best)
    assert min(tried) < best * 0.99 and max(tried) > best * 1.01


def test_factors_must_beat_the_biases_alone() -> None:
    """On tables of biases and noise no rank is chosen, and a given rank has factors of 0."""
    rng = stream(4, "data", "biases")
    truth = 3.0 + rng.standard_normal(40) + rng.standard_normal((300, 1))
    users, items = np.nonzero(rng.random(truth.shape) < 0.2)
    values = truth[users, items] + rng.standard_normal(len(users))
    ratings = gv.Ratings.from_arrays(users, items, values, n_users=300, n_items=40)
    problem = gv.BiasedCompletionProblem(ratings)
    chosen, _ = pooled(choose_biased, problem, start(), ranks=(0, 1, 3))
    assert chosen.factors.shape == (40, 0)
    given, _ = pooled(choose_biased, problem, start())
    assert given.factors.shape == (40, RANK) and not given.factors.any()
    alone, _ = pooled(choose_biased, problem, start(), ranks=(0,))
    np.testing.assert_allclose(given.item_biases, alone.item_biases, atol=1e-6)


def test_the_biases_alone_are_those_of_a_direct_solution() -> None:
    """Rank 0 minimises the same cost as a ridge regression on user and item indicators."""
    ratings = table(n_users=30, n_items=12)
    criteria = StoppingCriteria(300, 1e-15)
    problem = gv.BiasedCompletionProblem(ratings)
    model, _ = pooled(fit_biased, problem, np.zeros((12, 0)), 1.0, 2.0, criteria)
    design = np.zeros((ratings.n_values, 12 + 30))
    design[np.arange(len(design)), ratings.items] = 1.0
    design[np.arange(len(design)), 12 + ratings.users_of_values()] = 1.0
    gram = design.T @ design + 2.0 * np.eye(42)
    wanted = np.linalg.solve(gram, design.T @ (ratings.values - model.centre))
    # A relative change of the cost of 1e-15 leaves about its square root in the biases.
    np.testing.assert_allclose(model.item_biases, wanted[:12], atol=1e-6)
