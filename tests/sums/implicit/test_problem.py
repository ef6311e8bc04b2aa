"""The kernels of implicit feedback, held against dense algebra written here user by user."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, scarce_ratings

import grassvine as gv
from grassvine.checks.derivatives import taylor_slope
from grassvine.foundations.errors import BasisError, DataError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.problems.blocks import LEAST_VALUES_IN_BLOCK
from grassvine.sums.implicit import ImplicitModel, ImplicitProblem
from grassvine.sums.implicit.model import Strengths

STRENGTHS = Strengths(0.3, 0.05, 0.4, 1.7, 4.0, 3.0)


def somewhere(rank: int, seed: int = 0, strengths: Strengths = STRENGTHS) -> ImplicitModel:
    rng = stream(seed, "start", "implicit")
    return ImplicitModel(0.5 * rng.standard_normal((N_ITEMS, rank)), rng.random(N_ITEMS), strengths)


def counted(seed: int = 0) -> gv.Ratings:
    """Users 0 and 1 have no events."""
    table = scarce_ratings(seed)
    counts = 0.1 + 5.0 * stream(seed, "data", "counts").random(table.n_values)
    return table.with_values(counts)


def by_the_book(table: gv.Ratings, model: ImplicitModel) -> dict[str, Any]:
    """Everything straight from the definition, over all pairs of users and items."""
    strengths, rank = model.strengths, model.factors.shape[1]
    gradient, gram = np.zeros((N_ITEMS, rank + 1)), np.zeros((rank + 1, rank + 1))
    solutions = np.zeros((table.n_users, rank + 1))
    cost = squared_error = 0.0
    for user in range(table.n_users):
        mine = slice(table.starts[user], table.starts[user + 1])
        items, count = table.items[mine], int(table.starts[user + 1] - table.starts[user])
        level = (count + strengths.prior_events) / (strengths.mean_events + strengths.prior_events)
        solutions[user, rank] = level
        if not count:
            continue
        ridge = strengths.ridge * count + strengths.base_ridge
        confidence = np.zeros(N_ITEMS)
        confidence[items] = np.log2(1.0 + table.values[mine] / strengths.typical_count)
        offset = level * model.popularity
        design = np.vstack(
            [
                np.sqrt(confidence)[:, None] * model.factors,
                np.sqrt(strengths.unobserved_weight) * model.factors,
                np.sqrt(ridge) * np.eye(rank),
            ]
        )
        wanted = np.concatenate(
            [
                np.sqrt(confidence) * (1.0 - offset),
                -np.sqrt(strengths.unobserved_weight) * offset,
                np.zeros(rank),
            ]
        )
        weights = np.linalg.lstsq(design, wanted)[0]
        score = offset + model.factors @ weights
        at_events = float(confidence @ (1.0 - score) ** 2)
        squared_error += at_events
        cost += at_events + strengths.unobserved_weight * score @ score + ridge * weights @ weights
        own = np.append(weights, level)
        solutions[user] = own
        gradient -= np.outer(confidence * (1.0 - score), own)
        gram += np.outer(own, own)
    return {
        "cost": cost,
        "gradient": gradient,
        "gram": gram,
        "squared_error": squared_error,
        "solutions": solutions,
    }


@given(
    rank=st.integers(0, 7),
    a0=st.sampled_from([0.01, 0.3, 5.0]),
    ridge=st.sampled_from([0.001, 0.05, 2.0]),
    seed=st.integers(0, 2**32),
)
def test_the_kernels_follow_the_definition(rank: int, a0: float, ridge: float, seed: int) -> None:
    table, strengths = counted(seed), Strengths(a0, ridge, 5.0 * ridge * a0, 1.7, 4.0, 3.0)
    model, problem = somewhere(rank, seed, strengths), ImplicitProblem(table)
    book, found = by_the_book(table, model), problem.evaluate(model)
    # The systems have condition numbers up to about 1e4, and the solve squares none of them.
    for name in ("cost", "gradient", "gram", "squared_error"):
        size = float(np.linalg.norm(book[name]))
        np.testing.assert_allclose(getattr(found, name), book[name], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(problem.solve(model), book["solutions"], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rank", [5, 12, 31])
def test_users_are_solved_in_the_smaller_of_two_spaces(rank: int) -> None:
    table, model = counted(), somewhere(rank)
    counts = np.diff(table.starts)
    few = 4 * counts[counts > 0] <= 3 * rank
    assert few.any() and few.all() == (rank == 31)
    # As above: condition numbers of 1e4.
    found, wanted = ImplicitProblem(table).solve(model), by_the_book(table, model)["solutions"]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


@given(rank=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_the_gradient_is_that_of_the_cost(rank: int, seed: int) -> None:
    """Half of it is the part at the events, and half of it a₀X·gram."""
    problem, model = ImplicitProblem(counted(seed)), somewhere(rank, seed)
    found = problem.evaluate(model)
    a0 = model.strengths.unobserved_weight
    gradient = 2.0 * (found.gradient + a0 * model.rows @ found.gram)
    direction = stream(seed, "direction").standard_normal(gradient.shape)
    slope = float(np.vdot(gradient, direction))

    def error(step: float) -> tuple[float, float]:
        rows = model.rows + step * direction
        there = problem.evaluate(ImplicitModel(rows[:, :-1], rows[:, -1], model.strengths))
        return abs(there.cost - found.cost - step * slope), abs(found.cost)

    assert 1.9 <= taylor_slope(error) <= 2.1


def test_threads_and_parts_of_users_add_up() -> None:
    table, model = counted(), somewhere(4)
    whole = ImplicitProblem(table).evaluate(model)
    parts = [ImplicitProblem(part).evaluate(model) for part in gv.datasets.split_users(table, 7)]
    for name in ("cost", "gradient", "gram", "squared_error"):
        total = sum(getattr(part, name) for part in parts)
        np.testing.assert_allclose(total, getattr(whole, name), rtol=1e-12, atol=1e-12)


def test_the_number_of_threads_changes_no_bit() -> None:
    rng = stream(0, "data", "many events")
    n_users = 4 * LEAST_VALUES_IN_BLOCK // 10
    items = np.argsort(rng.random((n_users, N_ITEMS)), axis=1)[:, :10]
    users = np.repeat(np.arange(n_users), 10)
    table = gv.Ratings.from_arrays(users, items.ravel(), np.ones(users.size), n_items=N_ITEMS)
    model = somewhere(3)
    one, two = (ImplicitProblem(table, threads).evaluate(model) for threads in (1, 2))
    assert one.gradient.tobytes() == two.gradient.tobytes() and one.cost == two.cost


def test_confidences_are_one_for_equal_counts_and_have_no_unit() -> None:
    strengths = replace(STRENGTHS, typical_count=7.0)
    table = counted().with_values(np.full(counted().n_values, 7.0))
    assert (strengths.confidences(table) == 1.0).all()
    scaled = table.with_values(3600.0 * table.values)
    same = replace(strengths, typical_count=3600.0 * 7.0)
    np.testing.assert_allclose(same.confidences(scaled), 1.0, rtol=1e-15)


def test_what_is_wrong_is_refused() -> None:
    table = counted()
    for bad in (0.0, -1.0, np.nan):
        values = table.values.copy()
        values[3] = bad
        with pytest.raises(DataError, match="counts are not positive"):
            ImplicitProblem(table.with_values(values))
    with pytest.raises(BasisError, match="the model has 3 items"):
        ImplicitProblem(table).evaluate(ImplicitModel(np.ones((3, 2)), np.ones(3), STRENGTHS))
    with pytest.raises(BasisError, match="one per item"):
        ImplicitModel(np.ones((3, 2)), np.ones(4), STRENGTHS)
    with pytest.raises(DataError, match="ridge is 0"):
        replace(STRENGTHS, ridge=0.0)
    plan = gv.Plan(N_ITEMS, 2, gv.networks.path(1), gv.sums.ImplicitFactorization())
    with pytest.raises(PlanError, match="pass ImplicitProblem"):
        plan.agent(0, gv.BiasedCompletionProblem(table))
