"""Conjugate gradients over sums, on costs whose minima are known."""

from collections.abc import Callable

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.sums.descent.rows import Point, Stopping, minimise
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    all_reduce,
    run_pooled,
)

NOTHING = gv.PCAProblem(np.eye(3))  # the costs here are not those of a problem
Cost = Callable[[Array], tuple[float, Array]]


def program(cost: Cost, rows: Array, stopping: Stopping) -> Program:
    def evaluate(rows: Array, best: Iterate) -> Subprogram[tuple[Point, Iterate]]:
        value, gradient = yield from all_reduce(best, lambda _: cost(rows))
        point = Point(rows, float(value), gradient, gradient)
        return point, Iterate(rows, point.cost, point.gradient_norm)

    iterate, reason = yield from minimise(evaluate, rows, Iterate(rows), stopping)
    return ProgramOutcome(iterate, reason)


def quadratic(condition: float) -> tuple[Cost, Array]:
    rng = stream(1, "data", "quadratic")
    scales, wanted = np.geomspace(1.0, condition, 20)[:, None], rng.standard_normal((20, 3))

    def cost(rows: Array) -> tuple[float, Array]:
        change = rows - wanted
        return 1.0 + 0.5 * float(np.sum(scales * change**2)), scales * change

    return cost, wanted


@pytest.mark.parametrize("condition", [1.0, 100.0])
def test_it_finds_the_minimum_of_a_quadratic(condition: float) -> None:
    cost, wanted = quadratic(condition)
    found = run_pooled(program(cost, np.zeros((20, 3)), Stopping(300, 0.0)), NOTHING)
    np.testing.assert_allclose(found.iterate.basis, wanted, rtol=0, atol=1e-6)  # of a cost of 1
    assert found.reason in ("no step reduces the cost any further", "the cost converged")


def test_it_goes_back_where_a_step_is_too_long() -> None:
    """The gradient of a quartic grows faster than the first step expects."""

    def cost(rows: Array) -> tuple[float, Array]:
        return float(np.sum((rows - 1.0) ** 4)), 4.0 * (rows - 1.0) ** 3

    found = run_pooled(program(cost, np.full((3, 2), 9.0), Stopping(500, 1e-12)), NOTHING)
    # Of a quartic minimum, the distance is the fourth root of the cost.
    assert found.iterate.cost < 1e-6
    np.testing.assert_allclose(found.iterate.basis, 1.0, rtol=0, atol=0.05)


def test_it_stops_where_it_was_told() -> None:
    cost, _ = quadratic(1e6)
    found = run_pooled(program(cost, np.zeros((20, 3)), Stopping(7, 0.0)), NOTHING)
    assert found.reason == "reached the limit of 7 iterations"
    with pytest.raises(PlanError, match="max_iter is 0"):
        Stopping(0, 0.0)
