"""REXTRA, and what all agents that talk to all their neighbours keep to."""

from functools import cache, partial

import numpy as np
import pytest
from tests.samples import N_ITEMS, PROBLEMS, ratings

import grassvine as gv
from grassvine.averaging import REXTRA, NeighbourAgent
from grassvine.averaging.program import FRAME, polar
from grassvine.baselines.rtrmc import rtrmc
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.networks.mixing import metropolis_matrix
from grassvine.problems import Evaluation, LocalProblem
from grassvine.protocol import Message, checked_message

NETWORKS = {
    "path": gv.networks.path(4),
    "ring": gv.networks.ring(5),
    "star": gv.networks.star(5),
    "grid": gv.networks.grid(6),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


@cache
def table() -> gv.Ratings:
    return gv.datasets.low_rank_ratings(30, 240, 2, oversampling=10.0, noise=1e-3, seed=3).ratings


@cache
def pooled() -> Array:
    """The optimum of one owner of all data."""
    problem = gv.CompletionProblem(table(), unobserved=0.01)
    return rtrmc(problem, gv.Plan(30, 2, gv.networks.path(2)).start(0), tol=1e-12).basis


def problems(n_agents: int) -> list[LocalProblem]:
    parts = gv.datasets.split_users(table(), n_agents)
    return [gv.CompletionProblem(part, unobserved=0.01) for part in parts]


def team_of(plan: gv.Plan, tasks: list[LocalProblem]) -> list[NeighbourAgent]:
    return [plan.agent(i, task) for i, task in enumerate(tasks)]  # type: ignore[misc]


def meet_all(team: list[NeighbourAgent], network: gv.networks.Network, slot: int) -> None:
    mail = [agent.outgoing(slot) for agent in team]
    for agent in team:
        agent.meet(slot, [mail[other] for other in network.neighbours(agent.id)])


def basis_of(agent: NeighbourAgent) -> Array:
    return agent.state()["basis"].astype(np.float64)


# The iteration


@every_network
def test_agents_take_the_steps_of_the_paper(network: gv.networks.Network) -> None:
    """x⁺ = P(Wx + s), s⁺ = s + (W−V)x − α(∇f(x⁺) − ∇f(x)), with all agents in one array."""
    n_agents = network.n_agents
    tasks = problems(n_agents)
    plan = gv.Plan(30, 2, network, REXTRA())
    team = team_of(plan, tasks)
    w = metropolis_matrix(network)
    space = gv.geometry.Grassmann()

    def pulls(x: Array, largest: Array) -> tuple[Array, Array]:
        looks = [task.evaluate(point) for task, point in zip(tasks, x, strict=True)]
        own = [np.linalg.eigvalsh(e.curvature)[-1] * e.item_scales.max() for e in looks]
        largest = np.maximum(largest, own)
        grads = [space.project(p, e.gradient) for p, e in zip(x, looks, strict=True)]
        return np.stack([0.5 / c * g for c, g in zip(largest, grads, strict=True)]), largest

    x = np.stack([plan.start(0)] * n_agents)
    pull, largest = pulls(x, np.zeros(n_agents))
    s = -pull
    for slot in range(12):
        wx = np.tensordot(w, x, 1)
        new = np.stack([polar(z) for z in wx + s])
        heard = np.where(w > 0.0, largest, 0.0).max(axis=1)
        new_pull, largest = pulls(new, heard)
        s = s + (wx - 0.5 * (x + wx)) - (new_pull - pull)
        x, pull = new, new_pull
        meet_all(team, network, slot)
        for agent, point in zip(team, x, strict=True):
            # Rounding of a dozen steps.
            np.testing.assert_allclose(basis_of(agent), point, atol=1e-12)


def test_polar_is_orthonormal_nearest_and_leaves_a_basis_where_it_is() -> None:
    plan = gv.Plan(12, 3, gv.networks.path(2))
    basis = plan.start(0)
    np.testing.assert_allclose(polar(basis), basis, atol=1e-15)
    stretch = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])  # positive definite
    np.testing.assert_allclose(polar(basis @ stretch), basis, atol=1e-14)


@every_network
def test_all_reach_the_optimum_of_all_data(network: gv.networks.Network) -> None:
    plan = gv.Plan(30, 2, network, REXTRA(300), seed=2)
    result = gv.run(plan, problems(network.n_agents))
    for basis in result.bases:
        # The pooled optimum is known to 1e-12 of its first gradient, times a condition of some ten.
        assert gv.geometry.Grassmann().distance(basis, pooled()) <= 1e-9
    assert result.neighbour_distance <= 1e-9


def test_the_optimum_of_tasks_that_share_a_minimum_is_a_fixed_point() -> None:
    truth = gv.Plan(20, 2, gv.networks.path(2), seed=7).start(1)

    class Shared:
        n_items, n_values = 20, 1

        def evaluate(self, basis: Array) -> Evaluation:
            gradient = -truth @ (truth.T @ basis)
            cost = -0.5 * float(np.sum((truth.T @ basis) ** 2))
            return Evaluation(cost, gradient, np.eye(2), np.eye(2), np.ones(20))

        def weights(self, basis: Array) -> Array:
            return np.zeros((0, 2))

    class At(gv.Plan):
        def start(self, agent: int) -> Array:
            return truth

    network = gv.networks.path(3)
    plan = At(20, 2, network, REXTRA())
    team = team_of(plan, [Shared() for _ in range(3)])
    for slot in range(30):
        meet_all(team, network, slot)
    for agent in team:
        assert gv.geometry.Grassmann().distance(basis_of(agent), truth) <= 1e-13  # rounding


def test_all_learn_the_largest_curvature_in_as_many_slots_as_the_network_is_wide() -> None:
    network = gv.networks.path(4)
    team = team_of(gv.Plan(30, 2, network, REXTRA()), problems(4))
    known = []
    for slot in range(60):
        known.append([float(agent.outgoing(slot).arrays["curvature"][0]) for agent in team])
        meet_all(team, network, slot)
    largest = np.array(known).max(axis=1)
    assert np.all(np.array(known[3:]).min(axis=1) >= largest[:-3])
    assert (np.diff(known, axis=0) >= 0.0).all()


def test_an_agent_without_data_goes_with_the_others() -> None:
    some = table().take_users(0, 3)
    empty = some.take_values(np.zeros(some.n_values, dtype=np.bool_))
    parts: list[LocalProblem] = [*problems(4), gv.CompletionProblem(empty, unobserved=0.01)]
    result = gv.run(gv.Plan(30, 2, gv.networks.ring(5), REXTRA(300)), parts)
    assert max(gv.geometry.Grassmann().distance(basis, pooled()) for basis in result.bases) <= 1e-9


# Options and refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": -1}, "max_iter is -1; choose a number of at least 0"),
        ({"step": 0.0}, "step is 0, so no basis would move"),
        ({"step": -1.0}, "step is -1; choose a finite number"),
        ({"step": np.inf}, "step is inf; choose a finite number"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        REXTRA(**options)  # type: ignore[arg-type]


def test_flat_space_is_refused() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), REXTRA(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match=r"REXTRA averages orthonormal bases; .* Grassmann\(\)"):
        plan.agent(0, PROBLEMS["completion"](0))


def test_a_problem_that_hides_its_curvature_is_refused() -> None:
    def plain(basis: Array) -> tuple[float, Array]:
        return 0.5 * float(np.sum(basis**2)), basis.copy()

    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), REXTRA())
    with pytest.raises(PlanError, match="agent 1 provides no curvature"):
        plan.agent(1, gv.CustomProblem(N_ITEMS, plain))


# Agents and messages


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_agent_keeps_to_what_engines_rely_on(name: str) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(2), REXTRA())
    one, other = (partial(plan.agent, i, PROBLEMS[name](i)) for i in range(2))
    gv.checks.check_agent(one, other())


def test_all_start_at_the_same_basis() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(3), REXTRA(), seed=5)
    for agent in team_of(plan, [gv.CompletionProblem(ratings(i)) for i in range(3)]):
        assert np.array_equal(basis_of(agent), plan.start(0))


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        (
            {FRAME: np.ones((N_ITEMS, 2)), "curvature": np.ones(1)},
            "agent 1 .* frame 20×2, not",
        ),
        (
            {FRAME: np.full((N_ITEMS, 3), np.nan), "curvature": np.ones(1)},
            "'frame' .* nan",
        ),
        ({FRAME: np.ones((N_ITEMS, 3))}, "contains frame 20×3, not curvature 1, frame 20×3"),
    ],
)
def test_an_agent_expects_what_its_neighbours_send(
    arrays: dict[str, Array], complaint: str
) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(2), REXTRA())
    one = plan.agent(0, gv.CompletionProblem(ratings()))
    with pytest.raises(MessageError, match=complaint):
        checked_message(Message(1, 8, arrays), one.expected(8), sender=1, slot=8)


def test_a_report_counts_messages_and_names_the_farthest_neighbour() -> None:
    network = gv.networks.star(4)
    team = team_of(gv.Plan(30, 2, network, REXTRA()), problems(4))
    meet_all(team, network, 0)
    mail = [agent.outgoing(1) for agent in team]
    distances = [
        gv.geometry.Grassmann().distance(basis_of(team[0]), basis_of(agent)) for agent in team[1:]
    ]
    report = team[0].meet(1, mail[1:])
    assert (report.messages, report.bytes) == (3, 3 * 8 * (30 * 2 + 1))
    assert report.neighbour == 1 + int(np.argmax(distances))
    assert report.distance == pytest.approx(max(distances), rel=1e-9)
    assert report.update == 1


def test_threads_give_the_same_bits() -> None:
    plan = gv.Plan(30, 2, gv.networks.star(5), REXTRA(25), seed=3)
    one, other = (gv.run(plan, problems(5), engine=e) for e in (None, gv.ThreadsEngine()))
    assert [b.tobytes() for b in one.bases] == [b.tobytes() for b in other.bases]


def test_a_plan_survives_toml() -> None:
    plan = gv.Plan(9, 2, gv.networks.path(3), REXTRA(17, 0.25), seed=4)
    assert 'kind = "rextra"' in plan.to_toml()
    again = gv.Plan.from_toml(plan.to_toml())
    assert again == plan and again.fingerprint() == plan.fingerprint()
