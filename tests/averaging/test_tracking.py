"""Tracked L-BFGS: what is tracked, its parts, and where it ends."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from tests.samples import N_ITEMS, PROBLEMS, ratings, scarce_ratings

import grassvine as gv
from grassvine.averaging import NeighbourAgent, Tracked
from grassvine.averaging.lbfgs import Pairs
from grassvine.averaging.preconditioner import Preconditioner
from grassvine.averaging.program import FRAME
from grassvine.averaging.tracking import FIRST_MIXINGS
from grassvine.baselines.rtrmc import rtrmc
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks.mixing import fast_mixing
from grassvine.problems import LocalProblem

NETWORKS = {
    "pair": gv.networks.path(2),
    "path": gv.networks.path(5),
    "ring": gv.networks.ring(5),
    "star": gv.networks.star(5),
    "grid": gv.networks.grid(6),
    "random": gv.networks.erdos_renyi(6, 0.5, seed=3),
}


@cache
def table() -> gv.Ratings:
    return gv.datasets.low_rank_ratings(30, 240, 2, oversampling=5.0, noise=1e-3, seed=3).ratings


@cache
def some_tasks() -> gv.Tasks:
    """Features of very different scales: a condition that plain gradients would feel."""
    tasks = gv.datasets.subspace_tasks(12, 40, 2, samples=(14, 30), noise=0.1, seed=2).tasks
    scales = np.logspace(0.0, 1.5, 12)
    return gv.Tasks.from_arrays([x * scales for x in tasks.features], tasks.targets)


@cache
def samples() -> Array:
    spread = np.array([4.0, 3.0, *np.linspace(2.0, 0.5, 10)])
    values = stream(5, "data", "tracking").standard_normal((80, 12)) * spread
    return np.ascontiguousarray(values[np.argsort(values[:, 0])])


def own_problem(part: Array) -> gv.CustomProblem:
    def function(basis: Array) -> tuple[float, Array]:
        weights = part @ basis
        return -0.5 * float(np.sum(weights**2)), -(part.T @ weights)

    return gv.CustomProblem(part.shape[1], function)


Kind = tuple[Callable[[], LocalProblem], Callable[[int], Sequence[LocalProblem]]]
KINDS: dict[str, Kind] = {
    "completion": (
        lambda: gv.CompletionProblem(table(), unobserved=0.01),
        lambda n: [
            gv.CompletionProblem(p, unobserved=0.01) for p in gv.datasets.split_users(table(), n)
        ],
    ),
    "multitask": (
        lambda: gv.MultitaskProblem(some_tasks(), alpha=0.1),
        lambda n: [
            gv.MultitaskProblem(p, alpha=0.1) for p in gv.datasets.split_tasks(some_tasks(), n)
        ],
    ),
    "pca": (
        lambda: gv.PCAProblem(samples()),
        lambda n: [gv.PCAProblem(p) for p in gv.datasets.split_samples(samples(), n)],
    ),
    # A problem of somebody's own that tells no Gram matrix and no curvature.
    "own": (
        lambda: gv.PCAProblem(samples()),
        lambda n: [own_problem(p) for p in gv.datasets.split_samples(samples(), n)],
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def pooled(kind: str) -> Array:
    """The optimum of one owner of all data."""
    whole = KINDS[kind][0]()
    start = gv.Plan(whole.n_items, 2, gv.networks.path(2), seed=2).start(0)
    return rtrmc(whole, start, tol=1e-12, max_outer=40, max_inner=60).basis


def team_of(plan: gv.Plan, tasks: Sequence[LocalProblem]) -> list[NeighbourAgent]:
    return [plan.agent(i, task) for i, task in enumerate(tasks)]  # type: ignore[misc]


def meet_all(team: list[NeighbourAgent], network: gv.networks.Network, slot: int) -> list[str]:
    mail = [agent.outgoing(slot) for agent in team]
    return [
        agent.meet(slot, [mail[j] for j in network.neighbours(agent.id)]).finished for agent in team
    ]


# Where it ends


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        *((network, "completion") for network in NETWORKS.values()),
        *((NETWORKS[name], kind) for name in ("path", "ring") for kind in ("multitask", "pca")),
        (NETWORKS["ring"], "own"),
    ],
)
def test_all_reach_the_optimum_of_all_data_and_stop_together(
    network: gv.networks.Network, kind: str
) -> None:
    tasks = KINDS[kind][1](network.n_agents)
    plan = gv.Plan(tasks[0].n_items, 2, network, Tracked(120), seed=2)
    result = gv.run(plan, tasks)
    assert "the gradient norm fell to 1e-09 of its initial value" in result.stop_reason
    assert len(set(result.history.final()["update"])) == 1
    for basis in result.bases:
        # A gradient of 1e-9, times a condition of up to some hundreds.
        assert gv.geometry.Grassmann().distance(basis, pooled(kind)) <= 1e-7
    assert result.neighbour_distance <= 1e-9


def test_the_number_of_iterations_does_not_depend_on_the_network() -> None:
    counts = []
    for network in (gv.networks.path(6), gv.networks.ring(6), gv.networks.complete(6)):
        result = gv.run(gv.Plan(30, 2, network, Tracked(120), seed=2), KINDS["completion"][1](6))
        counts.append(int(result.history.final()["update"][0]))
    assert max(counts) <= min(counts) + 3


def test_agents_of_very_different_sizes_and_one_without_data() -> None:
    cuts = [0, 3, 40, 240]
    parts = [table().take_users(a, b) for a, b in pairwise(cuts)]
    empty = parts[0].take_values(np.zeros(parts[0].n_values, dtype=np.bool_))
    tasks = [gv.CompletionProblem(part, unobserved=0.01) for part in [*parts, empty]]
    result = gv.run(gv.Plan(30, 2, gv.networks.path(4), Tracked(120), seed=2), tasks)
    assert "all agents agree" in result.stop_reason
    assert (
        max(gv.geometry.Grassmann().distance(b, pooled("completion")) for b in result.bases) <= 1e-7
    )


def test_tolerance_zero_goes_on_to_the_last_iteration() -> None:
    network = gv.networks.ring(5)
    plan = gv.Plan(30, 2, network, Tracked(4, tol=0.0), seed=2)
    result = gv.run(plan, KINDS["completion"][1](5))
    assert result.n_slots == (FIRST_MIXINGS + 4) * fast_mixing(network, 0.003).n_rounds
    assert set(result.history.final()["update"]) == {4}


def test_an_agent_that_is_not_content_keeps_all_at_work() -> None:
    """The word of the last agent of a path comes to the first within one mixing."""
    network = gv.networks.path(4)
    plan = gv.Plan(12, 2, network, Tracked(100, tol=1e3), seed=2)
    n_rounds = fast_mixing(network, 0.003).n_rounds
    for doubtful in (False, True):
        team = team_of(plan, KINDS["pca"][1](4))
        for slot in range((FIRST_MIXINGS + 1) * n_rounds):
            mail = [agent.outgoing(slot) for agent in team]
            if doubtful:
                mail[3].arrays["content"][:] = 0.0
            ends = [
                a.meet(slot, [mail[j] for j in network.neighbours(a.id)]).finished for a in team
            ]
        assert [bool(end) for end in ends] == [not doubtful] * 4


# What is tracked


@pytest.mark.parametrize("kind", ["completion", "multitask", "pca"])
@pytest.mark.parametrize(
    "network", [gv.networks.path(4), gv.networks.star(5)], ids=["path", "star"]
)
def test_sums_are_kept(network: gv.networks.Network, kind: str) -> None:
    """While agents mix after a move, the sums are those of their tasks where they moved to."""
    tasks = KINDS[kind][1](network.n_agents)
    plan = gv.Plan(tasks[0].n_items, 2, network, Tracked(), seed=2)
    team = team_of(plan, tasks)
    n_rounds = fast_mixing(network, 0.003).n_rounds
    for slot in range((FIRST_MIXINGS + 3) * n_rounds):
        sent = [agent.outgoing(slot).arrays for agent in team]
        if slot % n_rounds == 0:
            points = [arrays.get(FRAME, plan.start(0)) for arrays in sent]
            looks = [t.evaluate(p) for t, p in zip(tasks, points, strict=True)]
        for name in ("gradient", "gram"):
            wanted = sum(getattr(look, name) for look in looks)
            found = sum(arrays[name] for arrays in sent)
            size = max(float(np.abs(getattr(look, name)).max()) for look in looks)
            # Some hundred rounds, each rounding the largest numbers that were ever tracked.
            np.testing.assert_allclose(found, wanted, atol=1e-11 * max(size, 1e3))
        meet_all(team, network, slot)


# The preconditioner


def test_the_facts_of_completion_are_shares_of_users() -> None:
    data = scarce_ratings()
    preconditioner = Preconditioner.of(gv.CompletionProblem(data, unobserved=0.1, tikhonov=0.2))
    apply_inverse = preconditioner.build(
        preconditioner.statistics / 4, 4
    )  # the average of four agents
    counts = np.bincount(data.items, minlength=N_ITEMS)
    gram = np.array([[2.0, 0.5], [0.5, 1.0]])
    tangent = stream(1, "data", "tangent").standard_normal((N_ITEMS, 2))
    scales = np.maximum(counts, 1) / data.n_users + 0.3
    wanted = (tangent / scales[:, None]) @ np.linalg.inv(gram)
    np.testing.assert_allclose(apply_inverse(tangent, gram), wanted, rtol=1e-12)


def test_the_facts_of_multitask_are_the_mean_of_moments() -> None:
    problem = gv.MultitaskProblem(some_tasks(), alpha=0.5)
    preconditioner = Preconditioner.of(problem)
    apply_inverse = preconditioner.build(preconditioner.statistics / 3, 3)
    mean = sum(x.T @ x for x in some_tasks().features) / some_tasks().n_tasks
    gram = np.array([[2.0, 0.5], [0.5, 1.0]])
    tangent = stream(1, "data", "tangent").standard_normal((12, 2))
    wanted = np.linalg.solve(mean + 0.5 * np.eye(12), tangent) @ np.linalg.inv(gram)
    np.testing.assert_allclose(apply_inverse(tangent, gram), wanted, rtol=1e-8)


def test_problems_without_statistics_use_their_gram_matrix_even_if_it_is_singular() -> None:
    tangent = stream(1, "data", "tangent").standard_normal((N_ITEMS, 2))
    preconditioner = Preconditioner.of(PROBLEMS["own"](0))
    assert preconditioner.statistics.size == 0
    apply_inverse = preconditioner.build(preconditioner.statistics, 3)
    assert np.array_equal(apply_inverse(tangent, np.zeros((0, 0))), tangent)
    np.testing.assert_allclose(apply_inverse(tangent, np.diag([2.0, 4.0])), tangent / [2.0, 4.0])
    preconditioner = Preconditioner.of(gv.CompletionProblem(ratings()))
    apply_inverse = preconditioner.build(preconditioner.statistics, 1)
    for gram in (np.zeros((2, 2)), np.diag([1.0, 0.0])):
        assert np.isfinite(apply_inverse(tangent, gram)).all()


# L-BFGS


def test_pairs_of_a_quadratic_give_its_inverse() -> None:
    """With as many pairs as dimensions along conjugate directions, H is the inverse Hessian."""
    rng = stream(3, "data", "pairs")
    matrix = rng.standard_normal((6, 6))
    hessian = matrix @ matrix.T + np.eye(6)
    pairs = Pairs(6)
    for direction in np.linalg.eigh(hessian)[1].T:
        pairs.add(direction[:, None], hessian @ direction[:, None])
    gradient = rng.standard_normal((6, 1))
    wanted = np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(pairs.apply(gradient, lambda g: g), wanted, rtol=1e-9)


def test_pairs_are_few_curved_upwards_and_can_be_forgotten() -> None:
    pairs = Pairs(2)
    one = np.eye(3)[:, :1]
    pairs.add(one, -one)
    assert not pairs.kept
    for scale in (1.0, 2.0, 3.0):
        pairs.add(one, scale * one)
    assert [float(change[0, 0]) for _, change in pairs.kept] == [2.0, 3.0]
    pairs.forget()
    assert np.array_equal(pairs.apply(one, lambda g: 5.0 * g), 5.0 * one)
    none = Pairs(0)
    none.add(one, one)
    assert not none.kept


# Options, agents, plans


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": -1}, "max_iter is -1"),
        ({"tol": -1.0}, "tol is -1"),
        ({"memory": -1}, "memory is -1"),
        ({"contraction": 0.0}, "contraction is 0, which no mixing reaches"),
        ({"contraction": 1.5}, "contraction is 1.5"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Tracked(**options)  # type: ignore[arg-type]


def test_flat_space_is_refused() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), Tracked(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match="Tracked averages orthonormal bases"):
        plan.agent(0, PROBLEMS["pca"](0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_agent_keeps_to_what_engines_rely_on(name: str) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(2), Tracked())
    one, other = (partial(plan.agent, i, PROBLEMS[name](i)) for i in range(2))
    gv.checks.check_agent(one, other())


@every_kind
def test_threads_give_the_same_bits(kind: str) -> None:
    tasks = KINDS[kind][1](5)
    plan = gv.Plan(tasks[0].n_items, 2, gv.networks.star(5), Tracked(5), seed=3)
    one, other = (gv.run(plan, tasks, engine=e) for e in (None, gv.ThreadsEngine()))
    assert [b.tobytes() for b in one.bases] == [b.tobytes() for b in other.bases]


def test_a_plan_survives_toml() -> None:
    plan = gv.Plan(9, 2, gv.networks.path(3), Tracked(17, 1e-7, 0.1, 4), seed=4)
    assert 'kind = "tracked"' in plan.to_toml()
    again = gv.Plan.from_toml(plan.to_toml())
    assert again == plan and again.fingerprint() == plan.fingerprint()
