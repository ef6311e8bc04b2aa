from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, PROBLEMS, ratings, samples

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry
from grassvine.gossip import gossip_step
from grassvine.networks import Network
from grassvine.problems import LocalProblem

GRASSMANN = gv.geometry.Grassmann()
RANK = 3


def points(count: int, seed: int = 0, geometry: Geometry = GRASSMANN) -> list[Array]:
    return [geometry.random_point(N_ITEMS, RANK, stream(seed, "start", i)) for i in range(count)]


NETWORKS = {
    "path": gv.networks.path(5),
    "ring": gv.networks.ring(5),
    "star": gv.networks.star(5),
    "grid": gv.networks.grid(6),
    "complete": gv.networks.complete(4),
    "random": gv.networks.erdos_renyi(6, 0.5, seed=2),
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
@given(seed=st.integers(0, 2**32))
def test_the_costs_of_all_links_add_up_to_the_whole_objective(network: Network, seed: int) -> None:
    """Σ_e g_e = Σ_i f_i + ½ρ Σ_e d²: seen through the directions, which are its gradients."""
    rho = 7.0
    bases = points(network.n_agents, seed)
    problems = [
        gv.CompletionProblem(part, unobserved=0.1)
        for part in gv.datasets.split_users(ratings(seed), network.n_agents)
    ]
    # Without a preconditioner and with γ = 1e-9 a move is −γ times the gradient of its links.
    method = gv.gossip.stochastic(rho, step=gv.StepSize(1e-9))
    total = [np.zeros_like(basis) for basis in bases]
    for one, other in network.edges:
        for agent, neighbour in ((one, other), (other, one)):
            move = gossip_step(
                GRASSMANN,
                method,
                bases[agent],
                problems[agent].evaluate(bases[agent]),
                [bases[neighbour]],
                degree=network.degree(agent),
                slot=0,
            )
            total[agent] -= GRASSMANN.log(bases[agent], move.point) / 1e-9
    for agent, basis in enumerate(bases):
        task = GRASSMANN.project(basis, problems[agent].evaluate(basis).gradient)
        pulls = [GRASSMANN.log(basis, bases[j]) for j in network.neighbours(agent)]
        whole = task - rho * np.sum(pulls, axis=0)
        # A difference quotient with step 1e-9: rounding 1e-16/1e-9, relative to moves of size 10.
        np.testing.assert_allclose(total[agent], whole, atol=1e-5 * float(np.linalg.norm(whole)))


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("method", [gv.gossip.stochastic(5.0), gv.gossip.precon_stochastic(5.0)])
def test_a_step_follows_the_subspace_not_its_basis(make: object, method: gv.Gossip) -> None:
    problem: LocalProblem = make(0)  # type: ignore[operator]
    point, other = points(2)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((RANK, RANK)))[0]
    moves = [
        gossip_step(
            GRASSMANN, method, basis, problem.evaluate(basis), [other], degree=2, slot=0
        ).point
        for basis in (point, np.ascontiguousarray(point @ turn))
    ]
    assert GRASSMANN.distance(*moves) < 1e-9  # solves of condition below 1e6


@pytest.mark.parametrize("preconditioner", ["none", "gram", "curvature"])
@pytest.mark.parametrize("rho", [1e3, 1e10])
@pytest.mark.parametrize("n_neighbours", [1, 3])
def test_a_pull_never_goes_more_than_half_way(
    preconditioner: str, rho: float, n_neighbours: int
) -> None:
    """Two agents with no task at all meet in the middle, however large the step asked for."""
    start = points(1)[0]
    tangent = GRASSMANN.project(start, np.random.default_rng(3).standard_normal((N_ITEMS, RANK)))
    other = GRASSMANN.exp(start, 0.1 * tangent / np.linalg.norm(tangent))
    nothing = gv.CustomProblem(
        N_ITEMS, lambda basis: (0.0, np.zeros_like(basis), np.zeros((RANK, RANK)))
    )
    method = gv.Gossip(rho, preconditioner=preconditioner, step=gv.StepSize(50.0))  # type: ignore[arg-type]
    here = gossip_step(
        GRASSMANN,
        method,
        start,
        nothing.evaluate(start),
        [other] * n_neighbours,
        degree=n_neighbours,
        slot=0,
    )
    there = gossip_step(
        GRASSMANN, method, other, nothing.evaluate(other), [start], degree=1, slot=0
    )
    assert GRASSMANN.distance(start, here.point) == pytest.approx(0.05, rel=1e-9)
    assert GRASSMANN.distance(here.point, there.point) < 1e-12


def test_the_unit_step_of_the_curvature_is_the_linearised_one() -> None:
    point, other = points(2)
    # Where all items have the same scale; else what is divided must still be projected.
    evaluation = gv.PCAProblem(samples()).evaluate(point)
    for step in (gv.StepSize(1.0), gv.StepSize(None)):
        method = replace(gv.gossip.precon_stochastic(5.0), step=step)
        move = gossip_step(GRASSMANN, method, point, evaluation, [other], degree=2, slot=9)
        assert move.step == pytest.approx(1.0, rel=1e-12)


def test_a_step_reports_what_it_saw() -> None:
    point, one, other = points(3)
    evaluation = gv.CompletionProblem(ratings()).evaluate(point)
    method = gv.gossip.stochastic(2.0, step=gv.StepSize(1e-3, 0.5))
    move = gossip_step(GRASSMANN, method, point, evaluation, [one, other], degree=2, slot=6)
    assert move.step == 1e-3 / 4
    assert move.distances == (GRASSMANN.distance(point, one), GRASSMANN.distance(point, other))
    gradient = GRASSMANN.project(point, evaluation.gradient)
    assert move.gradient_norm == np.linalg.norm(gradient)


def test_without_weight_on_agreement_neighbours_do_not_matter() -> None:
    point, one, other = points(3)
    evaluation = gv.CompletionProblem(ratings(), unobserved=0.1).evaluate(point)
    moves = [
        gossip_step(
            GRASSMANN, gv.gossip.precon_stochastic(0.0), point, evaluation, [near], degree=1, slot=0
        ).point
        for near in (one, other)
    ]
    assert moves[0].tobytes() == moves[1].tobytes()
