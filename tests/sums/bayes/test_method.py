"""Variational Bayes: what many agents find by sums is what one owner of all data finds."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.sums.biased.test_method import NETWORKS, table

import grassvine as gv
from grassvine.data import hold_out_ratings
from grassvine.engines.in_process import LocalEngine, ThreadsEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.protocol.observers import AllFinished
from grassvine.sums import BayesianCompletionProblem, BayesianFactorization, BayesianModel
from grassvine.sums.bayes.fit import SET_UP_SUMS, BayesianIterate
from grassvine.sums.bayes.method import LARGEST_RANK, usual_rank
from grassvine.sums.bayes.selection import SCALES, scale_of
from grassvine.sums.own import Data
from grassvine.sums.program import Program, first_part, flat, next_part, run_pooled, shaped

RANK = 3


def plan(method: BayesianFactorization, network: gv.networks.Network, seed: int = 2) -> gv.Plan:
    return gv.Plan(40, RANK, network, method, seed=seed)


def learned(plan: gv.Plan, ratings: gv.Ratings, engine: Any = None) -> tuple[Any, str]:
    """The agents' states, and why they stopped."""
    parts = gv.datasets.split_users(ratings, plan.network.n_agents)
    makers = [
        partial(plan.agent, i, BayesianCompletionProblem(part)) for i, part in enumerate(parts)
    ]
    outcome = (engine or LocalEngine()).run(makers, plan.timetable, AllFinished(len(makers)))
    return outcome.states, outcome.stop_reason


def pooled(
    method: BayesianFactorization,
    problem: BayesianCompletionProblem,
    start: np.ndarray,
    seed: int = 0,
) -> BayesianModel:
    iterate = run_pooled(method.program(problem, start, seed), problem).iterate
    assert isinstance(iterate, BayesianIterate)
    return iterate.model


def fitted(train: gv.Ratings, rank: int = RANK, **options: Any) -> BayesianModel:
    start = plan(BayesianFactorization(), gv.networks.path(1)).start(0)
    method = BayesianFactorization(ranks=options.pop("ranks", (rank,)), **options)
    return pooled(method, BayesianCompletionProblem(train), start, 2)


def test_error(model: BayesianModel, train: gv.Ratings, test: gv.Ratings) -> float:
    wrong = BayesianCompletionProblem(train).predict(model, test) - test.values
    return float(np.sqrt(np.mean(wrong**2)))


test_error.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("ranks", [(RANK,), (0,), (0, 1, RANK)], ids=str)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_many_agents_find_what_one_would(
    network: gv.networks.Network, ranks: tuple[int, ...]
) -> None:
    ratings = table()
    method = BayesianFactorization(ranks=ranks)
    states, reason = learned(plan(method, network), ratings)
    assert "iterations at rank" in reason
    for state in states[1:]:  # all agents end with the same bits
        for name, array in states[0].items():
            np.testing.assert_array_equal(state[name], array)
    start = plan(method, network).start(0)
    wanted = pooled(method, BayesianCompletionProblem(ratings), start, 2)
    found = BayesianModel.from_arrays(states[0])
    problem = BayesianCompletionProblem(ratings)
    everything = problem.predict(found, ratings), problem.predict(wanted, ratings)
    np.testing.assert_allclose(*everything, rtol=0, atol=1e-9)
    users, items = ratings.users_of_values(), ratings.items
    variances = problem.variances(found, users, items), problem.variances(wanted, users, items)
    np.testing.assert_allclose(*variances, rtol=1e-9)


def costs_of(program: Program, problem: BayesianCompletionProblem) -> list[float]:
    """The cost that a program reports after each sum; NaN during the set-up."""
    data = Data(problem)
    part, costs = first_part(program), list[float]()
    while True:
        try:
            part = next_part(program, shaped(*flat(part.of(data))))
        except StopIteration as end:
            return [*costs, end.value.iterate.cost]
        costs.append(part.iterate.cost)


def test_the_cost_falls_and_the_sums_are_few() -> None:
    method = BayesianFactorization()
    problem = BayesianCompletionProblem(table())
    start = plan(method, gv.networks.path(1)).start(0)
    costs = costs_of(method.program(problem, start, 2), problem)
    assert len(costs) == SET_UP_SUMS + method.max_iter
    fit = np.array(costs[SET_UP_SUMS:])
    assert (np.diff(fit[2:]) < 1e-6 * np.abs(fit[2:-1])).all()


def test_the_same_plan_has_the_same_bits_on_every_engine() -> None:
    one = plan(BayesianFactorization(), gv.networks.ring(4))
    states, _ = learned(one, table())
    others, _ = learned(one, table(), ThreadsEngine())
    for state, other in zip(states, others, strict=True):
        for name, array in state.items():
            np.testing.assert_array_equal(other[name], array)


def test_agents_have_a_model_from_the_beginning() -> None:
    """A run that is stopped in its first slots can be read."""
    one = plan(BayesianFactorization(), gv.networks.path(2))
    problems = [BayesianCompletionProblem(part) for part in gv.datasets.split_users(table(), 2)]
    run = gv.run(one, problems, observers=[lambda report: "enough"])
    assert BayesianModel.from_arrays(run.states[0]).rank == RANK
    assert np.isfinite(run.history.final()["cost"]).all()


def test_it_predicts_better_than_the_posterior_mode() -> None:
    """On five tables of rank two with noise, and with variances nobody told it."""
    gains = []
    for seed in range(5):
        train, test = hold_out_ratings(table(seed), 0.2, seed=seed)
        problem = gv.BiasedCompletionProblem(train)
        found = gv.sums.BiasedFactorization(ranks=(RANK,)).program(
            problem,
            plan(BayesianFactorization(), gv.networks.path(1)).start(0),
            2,
        )
        mode = run_pooled(found, problem).iterate.model  # type: ignore[attr-defined]
        wrong = problem.predict(mode, test) - test.values
        gains.append(np.sqrt(np.mean(wrong**2)) - test_error(fitted(train), train, test))
    assert np.mean(gains) > 0.0


def test_variances_are_those_of_the_errors() -> None:
    """90 % intervals contain 90 % of held-out ratings, and so do those of the widest fifth."""
    inside, widths = [], []
    for seed in range(6):
        train, test = hold_out_ratings(table(seed), 0.2, seed=seed)
        model = fitted(train)
        problem = BayesianCompletionProblem(train)
        deviations = np.sqrt(problem.variances(model, test.users_of_values(), test.items))
        errors = np.abs(problem.predict(model, test) - test.values)
        inside.append(errors <= 1.645 * deviations)
        widths.append(deviations)
    contained, width = np.concatenate(inside), np.concatenate(widths)
    # 4000 ratings: two standard errors are .01; the posterior is an approximation.
    assert 0.87 <= contained.mean() <= 0.93
    assert contained[width >= np.quantile(width, 0.8)].mean() >= 0.84


def test_ranks_are_chosen_on_held_out_ratings() -> None:
    one = plan(BayesianFactorization(ranks=(0, 1, 2, RANK)), gv.networks.path(2))
    problems = [BayesianCompletionProblem(part) for part in gv.datasets.split_users(table(), 2)]
    path = gv.run(one, problems).validation_path
    assert path is not None and path.keys() == {"rank", "rmse", "n_sums", "chosen"}
    assert path["rank"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert path["rmse"][2] < path["rmse"][1] < path["rmse"][0]
    assert path["chosen"].sum() == 1.0 and path["rank"][path["chosen"] > 0] >= 2.0


def test_noise_is_left_alone() -> None:
    rng = stream(0, "data", "noise")
    users, items = np.nonzero(rng.random((200, 40)) < 0.3)
    noise = gv.Ratings.from_arrays(users, items, 3.0 + rng.standard_normal(len(users)))
    train, test = hold_out_ratings(noise, 0.2, seed=1)
    assert fitted(train, ranks=(0, 1, RANK)).rank == 0
    spread = float(np.std(test.values))
    assert test_error(fitted(train), train, test) < 1.03 * spread  # rank 3 without a choice


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (-3.0, 1e6), (0.0, 1e-6)])
def test_it_does_not_depend_on_the_unit_of_the_ratings(shift: float, scale: float) -> None:
    ratings = table()
    moved = ratings.with_values(shift + scale * ratings.values)
    first, other = fitted(ratings), fitted(moved)
    predicted = BayesianCompletionProblem(moved).predict(other, moved)
    wanted = shift + scale * BayesianCompletionProblem(ratings).predict(first, ratings)
    # Ratings near 1e6 have ten digits left, and so do their predictions.
    np.testing.assert_allclose(predicted, wanted, rtol=0, atol=1e-7 * scale)


HOSTILE: dict[str, Callable[..., Array]] = {
    "equal": lambda rng, u, i: np.full(len(u), 0.1),
    "noise-free": lambda rng, u, i: np.sin(1.0 + u) * np.cos(2.0 + i),
    "outliers": lambda rng, u, i: rng.standard_normal(len(u)) + 100.0 * (rng.random(len(u)) < 0.01),
    "heavy tails": lambda rng, u, i: rng.standard_cauchy(len(u)),
    "one user apart": lambda rng, u, i: 1e6 * (u == 0) + rng.standard_normal(len(u)),
}
SHAPES = {
    "few items": (60, 2, 1.0),
    "few users": (3, 60, 0.8),
    "one rating a user": (200, 30, 0.03),
    "full": (50, 30, 1.0),
    "sparse": (80, 60, 0.1),
}


@pytest.mark.parametrize("rank", [0, 1, None])
@pytest.mark.parametrize(("values", "shape"), [*itertools.product(HOSTILE, SHAPES)])
def test_hostile_tables_have_finite_sensible_predictions(
    values: str, shape: str, rank: int | None
) -> None:
    n_users, n_items, share = SHAPES[shape]
    rng = stream(0, "data", values)
    known = rng.random((n_users, n_items)) < share
    if shape == "one rating a user":
        known = np.arange(n_items) == rng.integers(0, n_items, (n_users, 1))
    users, items = np.nonzero(known)
    given = HOSTILE[values](rng, users, items)
    ratings = gv.Ratings.from_arrays(users, items, given, n_users=n_users, n_items=n_items)
    size = usual_rank(n_items, n_users, len(users)) if rank is None else rank
    start = gv.geometry.Grassmann().random_point(n_items, max(size, 1), stream(1, "start"))
    problem = BayesianCompletionProblem(ratings)
    method = BayesianFactorization(ranks=(size,))
    model = pooled(method, problem, start, 0)
    everywhere = np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users)
    deviations = np.sqrt(problem.variances(model, *everywhere))
    assert np.isfinite(deviations).all() and (deviations > 0.0).all()
    predicted = problem.predict(
        model, gv.Ratings.from_arrays(*everywhere, np.zeros(len(deviations)))
    )
    spread = float(np.ptp(given)) or 1e-9
    assert (np.abs(predicted - given.mean()) <= 3.0 * spread).all()


def test_low_noise_and_few_ratings_of_an_item_do_not_make_steps_diverge() -> None:
    """Items with fewer ratings than factors; without shorter steps the error grew to the spread."""
    for seed in range(3):
        rng = stream(seed, "data", "low noise")
        users, items = np.nonzero(rng.random((62, 184)) < 0.1)
        values = rng.standard_normal(62)[users] * rng.standard_normal(184)[items]
        ratings = gv.Ratings.from_arrays(users, items, values, n_users=62, n_items=184)
        train, test = hold_out_ratings(ratings, 0.2, seed=seed)
        start = gv.geometry.Grassmann().random_point(184, 8, stream(seed, "start"))
        model = pooled(BayesianFactorization(), BayesianCompletionProblem(train), start, 0)
        assert test_error(model, train, test) < 0.35 * np.std(test.values)


def test_new_users_with_one_rating_are_not_extrapolated() -> None:
    """Users of the fit chose many items that they like; the choice of one says much less."""
    rng = stream(0, "data", "chosen")
    tastes, items_of = rng.standard_normal((500, 2)), rng.standard_normal((2, 60))
    liking = tastes @ items_of
    users, items = np.nonzero(rng.random(liking.shape) < 0.8 / (1.0 + np.exp(-4.0 * liking)))
    values = liking[users, items] + 0.7 * rng.standard_normal(len(users))
    ratings = gv.Ratings.from_arrays(users, items, values, n_users=500, n_items=60)
    old, new = ratings.take_users(0, 400), ratings.take_users(400, 500)
    start = gv.geometry.Grassmann().random_point(60, 2, stream(0, "start"))
    model = pooled(BayesianFactorization(), BayesianCompletionProblem(old), start, 0)
    place = np.arange(new.n_values) - new.starts[new.users_of_values()]
    one, rest = new.take_values(place < 1), new.take_values(place >= 1)
    rows = np.column_stack([model.factors, np.ones(60)])[rest.items]
    of_mean_user = model.item_biases[rest.items] + rows @ model.mean_user
    unknown = model.centre + model.scale * of_mean_user - rest.values
    # Without the pseudo-counts: .995.
    assert test_error(model, one, rest) < 0.96 * np.sqrt(np.mean(unknown**2))


@pytest.mark.parametrize(
    ("size", "rank"),
    [
        ((3706, 6040, 800_000), LARGEST_RANK),
        ((1682, 943, 80_000), 15),
        ((1200, 900, 8_000), 2),
        ((848, 708, 2_377), 1),
        ((499, 430, 780), 0),
        ((100, 24_983, 1_448_364), 29),
        ((2, 500, 900), 1),
        ((1, 500, 500), 0),
        ((0, 0, 0), 0),
    ],
)
def test_the_rank_follows_the_size_of_the_table(size: tuple[int, int, int], rank: int) -> None:
    assert usual_rank(*size) == rank


def test_intervals_are_scaled_only_if_the_held_out_ratings_say_so() -> None:
    def within(ratios: Array) -> Array:
        return np.searchsorted(np.sort(ratios), SCALES, side="right").astype(float)

    rng = stream(0, "data", "ratios")
    exact = np.abs(rng.standard_normal(4000)) / 1.6449
    assert scale_of(within(exact), 4000.0) == 1.0
    for factor in (0.5, 2.0):
        scale = scale_of(within(factor * exact), 4000.0)
        assert scale == pytest.approx(factor, rel=0.05)
    assert scale_of(within(exact[:0]), 0.0) == 1.0
    assert scale_of(within(np.full(50, 1e9)), 50.0) == SCALES[-1]


def test_sparse_tables_are_calibrated() -> None:
    """Ratings of two kinds of users, most with one: the scale is found with sums, and saved."""
    one = plan(BayesianFactorization(ranks=(1,)), gv.networks.path(2))
    rng = stream(0, "data", "bimodal")
    users, items = np.repeat(np.arange(600), 2), rng.integers(0, 20, 1200) * 2
    items[1::2] += 1
    values = 50.0 + 49.0 * np.sign(rng.standard_normal(1200))
    ratings = gv.Ratings.from_arrays(users, items, values, n_users=600, n_items=40)
    states, _ = learned(one, ratings)
    scale = BayesianModel.from_arrays(states[0]).interval_scale
    assert scale < 0.9  # ratings at two points lie well inside 1.645 standard deviations
    assert states[0]["updates"] == 2 * (SET_UP_SUMS + 20) + 2


@pytest.mark.parametrize(
    "options", [{"max_iter": 0}, {"share": 0.0}, {"share": 1.0}, {"ranks": 3}, {"ranks": (-1,)}]
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=r"choose|use"):
        BayesianFactorization(**options)


def test_wrong_problems_are_refused() -> None:
    one = plan(BayesianFactorization(), gv.networks.path(2))
    with pytest.raises(PlanError, match="pass BayesianCompletionProblem"):
        one.agent(0, gv.BiasedCompletionProblem(table()))
    with pytest.raises(PlanError, match="the plan's is 3"):
        plan(BayesianFactorization(ranks=(7,)), gv.networks.path(2)).agent(
            0, BayesianCompletionProblem(table())
        )
