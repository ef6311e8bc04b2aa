from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings, tasks

import grassvine as gv
from grassvine.data import fold_ratings
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip
from grassvine.paper import Request
from grassvine.paper.scores import mean_squared_error
from grassvine.paper.tuning import (
    DECAYS,
    FACTORS,
    PRECONDITIONED,
    Fold,
    best,
    rating_fold,
    task_folds,
    with_best_step,
)
from grassvine.paper.variants import (
    Variant,
    describe_step,
    parallel_gossip,
    precon_stochastic_gossip,
    stochastic_gossip,
)
from grassvine.runs import Run


def short(variant: Variant, n_slots: int = 12) -> Variant:
    def method(n_agents: int) -> Any:
        made: Any = variant.method(n_agents)
        return replace(made, max_iter=n_slots)

    return replace(variant, method=method)


def named(name: str, rho: float = 1.0, n_slots: int = 4) -> Variant:
    return replace(short(precon_stochastic_gossip(rho), n_slots), name=name)


def problems() -> list[gv.CompletionProblem]:
    return [
        gv.CompletionProblem(part, unobserved=0.1) for part in gv.datasets.split_users(ratings(), 3)
    ]


def by_rho(errors: Mapping[float, float]) -> Fold:
    """A fold whose error is told by ρ of the plan."""

    def error(result: Run) -> float:
        assert isinstance(result.plan.method, Gossip)
        rho = result.plan.method.rho
        assert isinstance(rho, float)
        return errors[rho]

    return Fold(problems(), error)


REQUEST = Request()


@pytest.mark.parametrize("order", [(1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)])
def test_the_smallest_error_wins(order: tuple[float, ...]) -> None:
    fold = by_rho({1.0: 5.0, 2.0: 1.0, 3.0: 2.0})
    candidates = [named(f"ρ = {rho}", rho) for rho in order]
    assert best(candidates, [fold], 2, REQUEST).name == "ρ = 2.0"


def test_the_error_is_the_mean_over_the_folds() -> None:
    folds = [by_rho({1.0: 1.0, 2.0: 3.0}), by_rho({1.0: 9.0, 2.0: 3.0})]
    assert best([named("a", 1.0), named("b", 2.0)], folds, 2, REQUEST).name == "b"


@pytest.mark.parametrize(("error", "winner"), [(1.05, "agreeing"), (1.15, "exact")])
def test_of_errors_within_a_tenth_agreement_decides(error: float, winner: str) -> None:
    """Agents with a huge ρ agree better; how much worse they may be is the question."""
    fold = by_rho({1e-3: 1.0, 1e6: error})
    candidates = [named("exact", 1e-3, 30), named("agreeing", 1e6, 30)]
    assert best(candidates, [fold], 2, REQUEST).name == winner


class Overflowing(gv.geometry.Grassmann):
    """A space in which the first meeting fails, as it does where numbers overflow."""

    def log(self, point: Array, other: Array) -> Array:
        raise ValueError("numbers overflow")


@pytest.mark.parametrize("first", range(4))
def test_a_candidate_that_fails_or_yields_no_number_loses(first: int) -> None:
    # The sound one agrees worst.
    fold = by_rho({1e3: 0.0, 2e3: np.nan, 3e3: np.inf, 1e-3: 7.0})
    candidates = [
        replace(named("failing", 1e3), geometry=Overflowing()),
        named("not a number", 2e3, 30),
        named("infinite", 3e3, 30),
        named("sound", 1e-3, 30),
    ]
    order = candidates[first:] + candidates[:first]
    assert best(order, [fold], 2, REQUEST).name == "sound"


def test_where_all_fail_there_is_an_answer_all_the_same() -> None:
    candidates = [replace(named(name), geometry=Overflowing()) for name in "ab"]
    assert best(candidates, [by_rho({1.0: 0.0})], 2, REQUEST) in candidates


@pytest.mark.parametrize(
    ("variant", "plain"),
    [
        (stochastic_gossip(1.0), True),
        (parallel_gossip(1.0), True),
        (precon_stochastic_gossip(1.0), False),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_best_step_is_one_of_the_grid(variant: Variant, plain: bool) -> None:
    pair = fold_ratings(ratings(), 5, seed=1)[0]
    fold = rating_fold(*pair, 3)
    tuned = with_best_step(short(variant), [fold], 2, REQUEST)
    method = tuned.method(3)
    assert isinstance(method, Gossip)
    assert tuned.name == f"{variant.name}, tuned" and tuned.rho == variant.rho
    assert method.step.a is not None and method.step.b in DECAYS
    if plain:
        # The lengths are multiples of one length, the median of linearised steps of the start.
        begun = replace(short(variant).method(3), max_iter=12)  # type: ignore[type-var]
        plan = gv.Plan(N_ITEMS, 2, gv.networks.path(3), begun)
        steps = gv.run(plan, fold.problems).history["step"]
        unit = float(np.median(steps[steps > 0.0]))
        assert any(method.step.a == pytest.approx(factor * unit) for factor in FACTORS)
    else:
        assert method.step.a in PRECONDITIONED
    assert replace(method, step=gv.StepSize(0.5)) == replace(
        short(variant).method(3),
        step=gv.StepSize(0.5),  # type: ignore[type-var]
    )


def test_a_tuned_method_is_described_by_its_numbers() -> None:
    variant = stochastic_gossip(1.0)
    assert describe_step(variant.method(3)) == "linearised, b = 0"
    tuned = variant.with_step(gv.StepSize(0.01234, 0.001))
    assert describe_step(tuned.method(3)) == "a = 0.0123, b = 0.001"


def test_a_fold_of_ratings_scores_held_out_entries_by_the_agents_own_bases() -> None:
    train, test = fold_ratings(ratings(), 4, seed=3)[2]
    fold = rating_fold(train, test, 3)
    assert sum(problem.n_values for problem in fold.problems) == train.n_values
    result = gv.run(gv.Plan(N_ITEMS, 2, gv.networks.path(3), gv.Gossip(max_iter=3)), fold.problems)
    parts = [gv.CompletionProblem(part) for part in gv.datasets.split_users(train, 3)]
    wanted = mean_squared_error(parts, result.bases, gv.datasets.split_users(test, 3))
    assert fold.error(result) == pytest.approx(wanted, rel=1e-12)


def test_folds_of_tasks_leave_out_every_sample_once() -> None:
    given = tasks()
    folds = task_folds(given, 0.1, 3, REQUEST)
    assert len(folds) == 5
    left_out = [given.n_values - sum(p.n_values for p in fold.problems) for fold in folds]
    assert sum(left_out) == given.n_values
    result = gv.run(
        gv.Plan(N_ITEMS, 2, gv.networks.path(3), gv.Gossip(max_iter=3)), folds[0].problems
    )
    assert np.isfinite(folds[0].error(result))


def test_trials_are_watched_under_a_title() -> None:
    seen: list[tuple[str, int]] = []

    def watch(title: str, n_slots: int) -> nullcontext[None]:
        seen.append((title, n_slots))
        return nullcontext()

    fold = by_rho({1.0: 1.0})
    best([named("a"), named("b")], [fold], 2, Request(watch=watch))
    assert seen == [("a: candidate 1 of 2", 4), ("b: candidate 2 of 2", 4)]
