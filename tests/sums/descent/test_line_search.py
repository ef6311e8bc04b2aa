"""One evaluation is enough along a line that is a parabola, and a bad step does no harm."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.sums.descent.line_search import (
    LONGEST,
    MAX_SHORTER,
    Base,
    Found,
    line_search,
)
from grassvine.sums.descent.points import Point, evaluate
from grassvine.sums.own import Data, own_problem
from grassvine.sums.program import Iterate, Part, Subprogram

GRASSMANN = gv.geometry.Grassmann()
RNG = stream(1, "line search")
BASIS = GRASSMANN.random_point(N_ITEMS, 2, RNG)
PROBLEM = gv.CompletionProblem(ratings(), unobserved=0.1)


def finish(program: Subprogram[Found | None], problem: gv.CustomProblem | gv.CompletionProblem):  # type: ignore[no-untyped-def]
    """Run it; return what it found, and the number of evaluations."""
    request, data, n_sums = next(program), Data(problem), 0
    while True:
        n_sums += isinstance(request, Part)
        own = request.of(data) if isinstance(request, Part) else [request.value]
        try:
            request = program.send([np.asarray(one, dtype=np.float64) for one in own])
        except StopIteration as end:
            return end.value, n_sums


def start(problem: gv.CustomProblem | gv.CompletionProblem, basis: Array = BASIS) -> Point:
    """Return the point at a basis."""
    found: Point = finish(evaluate(own_problem(problem), basis, Iterate(basis)), problem)[0]  # type: ignore[arg-type]
    return found


def search(
    problem: gv.CustomProblem | gv.CompletionProblem, point: Point, direction: Array, step: float
) -> tuple[Found | None, int]:
    found, n_sums = finish(
        line_search(own_problem(problem), point, Base.at(point), direction, step), problem
    )
    return found, n_sums


def minimum(point: Point, direction: Array) -> float:
    """The step to the minimum of the second-order model, by the Hessian."""
    slope = float(np.sum(point.gradient * direction))
    product = PROBLEM.hessian_product(point.basis, direction)
    curvature = float(np.sum(direction * product))
    curvature -= float(np.sum(direction * (direction @ (point.basis.T @ point.euclidean_gradient))))
    return -slope / curvature


def near_the_optimum() -> Point:
    """A point from which a step to the minimum of a line is short, so that it is a parabola."""
    plan = gv.Plan(N_ITEMS, 2, gv.networks.path(1), gv.Exact(by_rank=False))
    found = gv.run(plan, [PROBLEM]).bases[0]
    tangent = GRASSMANN.project(found, RNG.standard_normal(found.shape))
    return start(PROBLEM, GRASSMANN.exp(found, 1e-4 * tangent))


@pytest.mark.parametrize("share", [0.6, 1.0, 2.0])
def test_on_a_parabola_one_evaluation_tells_the_minimum(share: float) -> None:
    point = near_the_optimum()
    direction = -point.gradient
    exact = minimum(point, direction)
    found, n_sums = search(PROBLEM, point, direction, share * exact)
    assert found is not None and n_sums == 1
    # The cost is a parabola up to the third power of an angle of about 1e-4.
    assert found.step == pytest.approx(exact, rel=1e-3)
    there = start(PROBLEM, found.minimum.basis)
    scale = float(np.linalg.norm(point.gradient))
    assert np.linalg.norm(there.gradient - found.minimum.gradient) < 1e-3 * scale
    saved = point.cost - there.cost
    assert found.minimum.cost == pytest.approx(there.cost, abs=1e-3 * saved)
    assert there.cost <= found.point.cost <= point.cost


@pytest.mark.parametrize("share", [0.02, 2.3])
def test_far_from_the_minimum_it_is_evaluated(share: float) -> None:
    point = near_the_optimum()
    direction = -point.gradient
    found, n_sums = search(PROBLEM, point, direction, share * minimum(point, direction))
    assert found is not None and n_sums == 2
    if share < 1.0:  # a longer one raises the cost, and is shortened
        assert found.minimum.basis is found.point.basis
    assert found.point.cost < point.cost


def two_valleys(basis: Array) -> tuple[float, Array]:
    """A cost with a ridge on the way."""
    angle = float(np.arctan2(basis[1, 0], basis[0, 0]))
    slope = -1.0 + 3.0 * np.cos(20.0 * angle)
    gradient = np.array([[-np.sin(angle)], [np.cos(angle)]]) * slope
    return -angle + 0.15 * float(np.sin(20.0 * angle)), gradient


def flat_but_for_rounding(basis: Array) -> tuple[float, Array]:
    """A cost that any step raises, whatever its gradient says."""
    angle = float(np.arctan2(basis[1, 0], basis[0, 0]))
    return abs(angle), np.array([[0.0], [-1.0]])


@pytest.mark.parametrize("step", [1e-3, 0.05, 0.2, 0.5, 5.0])
def test_the_cost_never_rises_where_it_is_no_parabola(step: float) -> None:
    problem = gv.CustomProblem(2, two_valleys)
    for angle in np.linspace(-0.5, 0.5, 21):
        point = start(problem, np.array([[np.cos(angle)], [np.sin(angle)]]))
        direction = -point.gradient
        found, _ = search(problem, point, direction, step)
        if float(np.linalg.norm(direction)) > 1e-6:
            assert found is not None and found.point.cost <= point.cost
            moved = GRASSMANN.distance(found.minimum.basis, point.basis)
            assert moved <= LONGEST + 1e-12


def test_where_no_step_helps_that_is_said() -> None:
    problem = gv.CustomProblem(2, flat_but_for_rounding)
    point = start(problem, np.array([[1.0], [0.0]]))
    found, n_sums = search(problem, point, np.array([[0.0], [1.0]]), 0.5)
    assert found is None and n_sums <= MAX_SHORTER


def test_a_descent_takes_about_one_evaluation_for_an_iteration() -> None:
    """With a curvature sum for each, it took two."""
    count = 0
    own: Callable[[Array], object] = PROBLEM.evaluate

    class Counted(gv.CompletionProblem):
        def evaluate(self, basis: Array):  # type: ignore[no-untyped-def]
            nonlocal count
            count += 1
            return own(basis)

        def hessian_product(self, basis: Array, direction: Array) -> Array:
            raise AssertionError("a pass for the curvature")

    problem = Counted(PROBLEM.ratings, unobserved=0.1)
    run = gv.run(gv.Plan(N_ITEMS, 2, gv.networks.path(1), gv.Exact(by_rank=False)), [problem])
    n_points = len(np.unique(run.history["cost"]))
    assert run.stop_reason == "the gradient norm fell to 1e-08 of its initial value"
    assert count <= 1.4 * n_points + 2
