"""Completion with λ and rank chosen on held-out entries: by many agents as by one."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.real_data import movielens_100k
from tests.samples import N_ITEMS, PROBLEMS

import grassvine as gv
from grassvine.data import hold_out_of_users, hold_out_ratings
from grassvine.engines.in_process import LocalEngine, ThreadsEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.protocol.observers import AllFinished
from grassvine.sums import Validated, validation
from grassvine.sums.descent.points import Point
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    ProgramOutcome,
    Subprogram,
    first_part,
    flat,
    next_part,
    run_pooled,
    shaped,
)
from grassvine.sums.validation import HeldOut, ValidatedIterate

ITEMS, MOST_RANK, LEVEL = 40, 4, 3.5
GRASSMANN = gv.geometry.Grassmann()


def truth(n_users: int = 200) -> Array:
    """A table of rank two about a level."""
    rng = stream(0, "data", "table of rank two")
    return LEVEL + rng.standard_normal((n_users, 2)) @ rng.standard_normal((2, ITEMS))


def noisy(whole: Array, known: float = 0.3, noise: float = 0.8, seed: int = 0) -> gv.Ratings:
    rng = stream(seed, "data", "noise on a table")
    users, items = np.nonzero(rng.random(whole.shape) < known)
    values = whole[users, items] + noise * rng.standard_normal(len(users))
    return gv.Ratings.from_arrays(users, items, values, n_users=len(whole), n_items=ITEMS)


def plan(method: Validated, network: gv.networks.Network, rank: int = MOST_RANK) -> gv.Plan:
    return gv.Plan(ITEMS, rank, network, method, seed=2)


def learned(plan: gv.Plan, ratings: gv.Ratings, engine: Any = None) -> tuple[Any, str]:
    """The agents' states, and why they stopped."""
    parts = gv.datasets.split_users(ratings, plan.network.n_agents)
    makers = [partial(plan.agent, i, gv.CompletionProblem(part)) for i, part in enumerate(parts)]
    outcome = (engine or LocalEngine()).run(makers, plan.timetable, AllFinished(len(makers)))
    return outcome.states, outcome.stop_reason


def pooled(method: Validated, ratings: gv.Ratings, rank: int = MOST_RANK) -> ProgramOutcome:
    start = plan(method, gv.networks.path(2), rank).start(0)
    problem = gv.CompletionProblem(ratings)
    return run_pooled(method.program(problem, start, seed=2), problem)


def model_of(ending: ProgramOutcome) -> ValidatedIterate:
    assert isinstance(ending.iterate, ValidatedIterate)
    return ending.iterate


def guess(basis: Array, centre: float, unobserved: float, ratings: gv.Ratings) -> Array:
    problem = gv.CompletionProblem(ratings.shifted(-centre), unobserved=unobserved)
    return centre + problem.weights(basis) @ basis.T


def from_truth(model: ValidatedIterate, ratings: gv.Ratings, whole: Array) -> float:
    found = guess(model.basis, model.centre, model.unobserved, ratings)
    return float(np.sqrt(np.mean((found - whole) ** 2)))


@pytest.mark.parametrize(
    ("method", "network"),
    [
        (Validated(), gv.networks.ring(5)),
        (Validated(any_rank=True), gv.networks.star(4)),
        (Validated(unobserved=0.01), gv.networks.path(2)),
    ],
    ids=["λ", "λ and rank", "early stop alone"],
)
def test_many_agents_choose_and_find_what_one_would(
    method: Validated, network: gv.networks.Network
) -> None:
    ratings = noisy(truth())
    states, reason = learned(plan(method, network), ratings)
    ending = pooled(method, ratings)
    model = model_of(ending)
    assert reason == ending.reason  # rank, λ and error
    for state in states:
        np.testing.assert_allclose(state["unobserved"], model.unobserved, rtol=1e-12)
        np.testing.assert_allclose(state["centre"], model.centre, rtol=1e-13)
        # Rounding of the sums, let grow by some hundred iterations, each from a chosen point.
        assert GRASSMANN.distance(state["basis"], model.basis) < 1e-7
        np.testing.assert_array_equal(state["basis"], states[0]["basis"])


def test_all_descents_stop_at_the_same_iteration_at_any_number_of_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_agents = 5
    watches: list[HeldOut] = []

    class Noted(HeldOut):
        def __init__(self, *arguments: Any):
            super().__init__(*arguments)
            watches.append(self)

    monkeypatch.setattr(validation, "HeldOut", Noted)
    ratings, method = noisy(truth()), Validated(any_rank=True)
    pooled(method, ratings)
    alone_saw = [monitor.seen for monitor in watches]
    watches.clear()
    learned(plan(method, gv.networks.path(n_agents)), ratings)
    assert len(watches) == n_agents * len(alone_saw)
    # Agents start their descents one after the other: each has a watch of its own.
    for place, monitor in enumerate(watches):
        np.testing.assert_allclose(monitor.seen, alone_saw[place // n_agents], rtol=1e-8)


def test_an_early_stop_is_nearer_the_truth_than_the_full_descent() -> None:
    whole = truth()
    ratings = noisy(whole, known=0.25, noise=1.5)
    stopped = model_of(pooled(Validated(unobserved=0.01), ratings))
    centred = gv.CompletionProblem(ratings.shifted(-stopped.centre), unobserved=0.01)
    start = plan(Validated(), gv.networks.path(2)).start(0)
    full = run_pooled(gv.Exact().program(centred, start, seed=2), centred).iterate.basis
    centre = stopped.centre
    to_the_end = ValidatedIterate(full, centre=centre, unobserved=0.01)
    assert from_truth(stopped, ratings, whole) < 0.97 * from_truth(to_the_end, ratings, whole)


def test_the_rank_of_the_table_is_found() -> None:
    whole = truth()
    ratings = noisy(whole)
    chosen = model_of(pooled(Validated(any_rank=True), ratings))
    assert chosen.basis.shape == (ITEMS, 2)
    highest = model_of(pooled(Validated(), ratings))
    assert highest.basis.shape == (ITEMS, MOST_RANK)
    assert from_truth(chosen, ratings, whole) < 0.9 * from_truth(highest, ratings, whole)


def test_the_chosen_strength_is_about_the_best_of_many() -> None:
    whole = truth()
    ratings = noisy(whole)
    chosen = from_truth(model_of(pooled(Validated(), ratings, 2)), ratings, whole)
    others = [
        from_truth(model_of(pooled(Validated(unobserved=value), ratings, 2)), ratings, whole)
        for value in (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.6)
    ]
    assert max(others) > 1.5 * min(others)  # there is something to choose
    assert chosen < 1.05 * min(others)


def test_without_noise_the_least_strength_is_chosen_and_the_table_found() -> None:
    whole = truth()
    ratings = noisy(whole, noise=0.0)
    model = model_of(pooled(Validated(any_rank=True), ratings.shifted(-LEVEL)))
    assert model.basis.shape[1] in (2, 3)  # the mean of the entries is not quite that of the table
    assert from_truth(model, ratings.shifted(-LEVEL), whole - LEVEL) < 0.05


def test_the_choice_depends_neither_on_unit_nor_on_level() -> None:
    ratings = noisy(truth())
    model = model_of(pooled(Validated(any_rank=True), ratings))
    scaled = gv.Ratings(ITEMS, ratings.starts, ratings.items, 100.0 * ratings.values - 70.0)
    other = model_of(pooled(Validated(any_rank=True), scaled))
    np.testing.assert_allclose(other.unobserved, model.unobserved, rtol=1e-12)
    np.testing.assert_allclose(other.centre, 100.0 * model.centre - 70.0, rtol=1e-12)
    assert GRASSMANN.distance(other.basis, model.basis) < 1e-7


def test_the_watch_counts_the_error_at_entries_that_were_not_fitted() -> None:
    rest, held = hold_out_of_users(noisy(truth()), 0.1, seed=2)
    problem = gv.CompletionProblem(rest, unobserved=0.02)
    basis = plan(Validated(), gv.networks.path(2)).start(0)
    found = (problem.weights(basis) @ basis.T)[held.users_of_values(), held.items]
    expected = float(np.sum((held.values - found) ** 2))
    watch = HeldOut(own_problem(problem), Own(lambda _: held), n_iter_no_change=1)
    assert watch.count(Data(problem), basis) == pytest.approx(expected, rel=1e-12)


def test_held_out_values_reach_a_descent_by_nothing_but_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a patience that never ends, other values at the held-out entries move no point."""
    ratings = noisy(truth())
    _, held = hold_out_of_users(ratings, 0.1, seed=2)
    at = set(zip(held.users_of_values(), held.items, strict=True))
    hidden = [pair in at for pair in zip(ratings.users_of_values(), ratings.items, strict=True)]
    other = gv.Ratings(ITEMS, ratings.starts, ratings.items, np.where(hidden, 99.0, ratings.values))
    seen: dict[str, list[tuple[float, float]]] = {}

    def passed(name: str, given: gv.Ratings) -> None:
        class Noted(HeldOut):
            def check(self, point: Point) -> Subprogram[str]:
                seen.setdefault(name, []).append((point.cost, point.monitored))
                return super().check(point)

        monkeypatch.setattr(validation, "HeldOut", Noted)
        pooled(
            Validated(unobserved=0.02, n_iter_no_change=10_000, max_descent_iter=8), given, rank=1
        )

    passed("one", ratings)
    passed("other", other)
    costs, errors = np.transpose(seen["one"])
    other_costs, other_errors = np.transpose(seen["other"])
    assert len(costs) > 5
    np.testing.assert_array_equal(costs, other_costs)
    assert (other_errors > 100.0 * errors).all()


def test_sums_grow_by_one_number() -> None:
    """Watching the held-out entries costs no sum of its own, and no message but sums is sent."""
    method, ratings = Validated(unobserved=0.1), noisy(truth())
    start = plan(method, gv.networks.path(2), 1).start(0)
    problem = gv.CompletionProblem(ratings)
    program, data = method.program(problem, start, seed=2), Data(problem)
    sizes, part = [], first_part(program)
    while True:
        own = flat(part.of(data))
        sizes.append(own[0].size)
        try:
            part = next_part(program, shaped(*own))
        except StopIteration:
            break
    statistics, one = ITEMS + 3, 1
    assert set(sizes) == {statistics, one, 2, ITEMS, ITEMS + 1 + 3, ITEMS + 1 + 2}


def test_the_same_plan_has_the_same_bits_on_every_engine() -> None:
    ratings, agreed = noisy(truth(100)), plan(Validated(any_rank=True), gv.networks.ring(3))
    one, _ = learned(agreed, ratings)
    two, _ = learned(agreed, ratings, ThreadsEngine(2))
    for first, second in zip(one, two, strict=True):
        columns = "rank", "regularization", "rmse", "n_sums", "chosen"
        candidates = {f"candidate_{name}" for name in columns}
        assert set(first) == {"basis", "updates", "centre", "unobserved"} | candidates
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])


def test_a_run_reports_what_was_chosen_and_the_cost_of_each_agent() -> None:
    ratings = noisy(truth(100))
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings, 4)]
    result = gv.run(plan(Validated(any_rank=True), gv.networks.ring(4)), problems)
    model = model_of(pooled(Validated(any_rank=True), ratings))
    rank = model.basis.shape[1]
    assert f"at rank {rank} and λ = {model.unobserved:.4g}" in result.stop_reason
    np.testing.assert_allclose(result.history["cost"][-4:].sum(), model.cost, rtol=1e-9)
    assert result.mean.shape == (ITEMS, rank)


@pytest.mark.parametrize("max_iter", [1, 2, 5, 40])
def test_a_run_that_ends_early_leaves_a_model_of_the_full_rank(max_iter: int) -> None:
    problems = [
        gv.CompletionProblem(part) for part in gv.datasets.split_users(noisy(truth(100)), 3)
    ]
    result = gv.run(plan(Validated(max_iter=max_iter), gv.networks.path(3)), problems)
    assert result.stop_reason == "the timetable ended"
    models = [ValidatedIterate.from_arrays(state) for state in result.states]
    assert {model.basis.shape for model in models} == {(ITEMS, MOST_RANK)}
    assert np.isfinite(result.history.final()["cost"]).all()


def test_extreme_tables_are_fitted() -> None:
    ratings = noisy(truth(100))
    equal = gv.Ratings(ITEMS, ratings.starts, ratings.items, np.ones(ratings.n_values))
    few = ratings.take_values(np.arange(ratings.n_values) % 97 == 0)  # most users have nothing
    for extreme in (equal, few):
        model = model_of(pooled(Validated(any_rank=True), extreme))
        assert np.isfinite(model.basis).all() and math.isfinite(model.cost)
        assert learned(plan(Validated(), gv.networks.path(3)), extreme)[1]


@pytest.mark.slow
def test_movielens_is_predicted_about_as_well_as_by_the_best_of_many_settings() -> None:
    train, test = hold_out_ratings(movielens_100k(), 0.2, seed=1)
    bounds = float(train.values.min()), float(train.values.max())

    def rmse(basis: Array, unobserved: float, centre: float) -> float:
        found = guess(basis, centre, unobserved, train)[test.users_of_values(), test.items]
        return float(np.sqrt(np.mean((np.clip(found, *bounds) - test.values) ** 2)))

    start = gv.Plan(train.n_items, 10, gv.networks.path(2)).start(0)
    problem = gv.CompletionProblem(train)
    program = Validated(any_rank=True).program(problem, start, seed=0)
    model = model_of(run_pooled(program, problem))
    others = []
    for rank in (3, 5):
        for value in (0.006, 0.02):
            exact = gv.Exact(tol=1e-3)
            fixed = gv.CompletionProblem(train, unobserved=value)
            fitting = exact.program(fixed, start[:, :rank], seed=0)
            basis = run_pooled(fitting, fixed).iterate.basis
            others.append(rmse(basis, value, 0.0))
    assert rmse(model.basis, model.unobserved, model.centre) < 1.01 * min(others)


@pytest.mark.parametrize(
    "options",
    [
        {"unobserved": 1.0},
        {"unobserved": -0.1},
        {"unobserved": "other"},
        {"any_rank": 3},
        {"share": 0.0},
        {"share": 1.0},
        {"n_iter_no_change": 0},
        {"tol": -1.0},
        {"max_iter": 0},
        {"max_descent_iter": 0},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=rf"{next(iter(options))} .*(choose|pass|give)"):
        Validated(**options)


def test_wrong_problems_are_refused() -> None:
    agreed = gv.Plan(N_ITEMS, 3, gv.networks.path(2), Validated())
    for name in ("multitask", "completion, λ > 0", "completion, μ > 0"):
        with pytest.raises(PlanError, match="is not plain completion, and this method chooses"):
            agreed.agent(0, PROBLEMS[name](0))
    flat = gv.Plan(N_ITEMS, 3, gv.networks.path(2), Validated(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match="Grassmann geometry; omit geometry"):
        flat.agent(0, PROBLEMS["completion"](0))


def test_a_plan_with_it_goes_through_toml() -> None:
    for method in (Validated(), Validated(0.02, any_rank=True, share=0.05, n_iter_no_change=3)):
        agreed = plan(method, gv.networks.ring(5))
        assert gv.Plan.from_toml(agreed.to_toml()) == agreed
