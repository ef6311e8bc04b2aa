"""DeEPCA, held against the eigenvectors of the pooled samples."""

from functools import cache, partial

import numpy as np
import pytest
from tests.samples import N_ITEMS, PROBLEMS

import grassvine as gv
from grassvine.averaging import DeEPCA, NeighbourAgent
from grassvine.averaging.program import FRAME
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks.mixing import fast_mixing

NETWORKS = {
    "pair": gv.networks.path(2),
    "path": gv.networks.path(6),
    "ring": gv.networks.ring(6),
    "star": gv.networks.star(6),
    "grid": gv.networks.grid(6),
    "exponential": gv.networks.exponential(8),
    "random": gv.networks.erdos_renyi(8, 0.4, seed=3),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
RANK = 3


@cache
def samples() -> Array:
    """Sorted by their first item, so that agents hold very different samples."""
    spread = np.array([5.0, 4.0, 3.0, *np.linspace(2.0, 0.5, N_ITEMS - 3)])
    values = stream(4, "data", "deepca").standard_normal((120, N_ITEMS)) * spread
    return np.ascontiguousarray(values[np.argsort(values[:, 0])])


def leading() -> Array:
    return np.ascontiguousarray(np.linalg.eigh(samples().T @ samples())[1][:, -RANK:])


def problems(n_agents: int) -> list[gv.PCAProblem]:
    return [gv.PCAProblem(part) for part in gv.datasets.split_samples(samples(), n_agents)]


def team_of(network: gv.networks.Network, method: DeEPCA) -> list[NeighbourAgent]:
    plan = gv.Plan(N_ITEMS, RANK, network, method, seed=6)
    parts = enumerate(problems(network.n_agents))
    return [method.agent(plan, i, problem) for i, problem in parts]


def meet_all(team: list[NeighbourAgent], network: gv.networks.Network, slot: int) -> list[str]:
    mail = [agent.outgoing(slot) for agent in team]
    return [
        agent.meet(slot, [mail[j] for j in network.neighbours(agent.id)]).finished for agent in team
    ]


@every_network
def test_all_reach_the_leading_eigenspace_and_stop_together(network: gv.networks.Network) -> None:
    plan = gv.Plan(N_ITEMS, RANK, network, DeEPCA(150), seed=6)
    result = gv.run(plan, problems(network.n_agents))
    assert result.stop_reason == "no basis moved by more than 1e-12, and all agents agree"
    assert len(set(result.history.final()["update"])) == 1
    for basis in result.bases:
        # A last step of 1e-12 at a rate of about a half, and the rounding of eigenvectors.
        assert gv.geometry.Grassmann().distance(basis, leading()) <= 1e-11


@every_network
def test_the_sum_of_what_is_tracked_is_that_of_the_products(network: gv.networks.Network) -> None:
    team = team_of(network, DeEPCA())
    n_rounds = fast_mixing(network, DeEPCA().contraction).n_rounds
    parts = problems(network.n_agents)
    for slot in range(4 * n_rounds):
        sent = sum(agent.outgoing(slot).arrays[FRAME] for agent in team)
        products = sum(
            part.samples.T @ (part.samples @ agent.state()["basis"].astype(np.float64))
            for agent, part in zip(team, parts, strict=True)
        )
        # Rounding of numbers of some thousand in some dozens of rounds.
        np.testing.assert_allclose(sent, products, atol=1e-12 * np.abs(products).max())
        meet_all(team, network, slot)


def test_a_leading_eigenspace_is_a_fixed_point() -> None:
    class At(gv.Plan):
        def start(self, agent: int) -> Array:
            return leading()

    network = gv.networks.path(6)
    plan = At(N_ITEMS, RANK, network, DeEPCA(4, contraction=1e-6, tol=0.0))
    result = gv.run(plan, problems(6))
    # Agents know the average but for 1e-6 of how much they differ at first.
    assert max(gv.geometry.Grassmann().distance(basis, leading()) for basis in result.bases) <= 1e-6


def test_an_iteration_shrinks_the_distance_by_the_ratio_of_eigenvalues_on_any_network() -> None:
    values = np.linalg.eigvalsh(samples().T @ samples())
    ratio = values[-RANK - 1] / values[-RANK]
    for network in (gv.networks.path(6), gv.networks.ring(6)):
        bases = [
            gv.run(gv.Plan(N_ITEMS, RANK, network, DeEPCA(n, tol=0.0), seed=6), problems(6)).bases
            for n in (20, 30)
        ]
        far, near = (
            max(gv.geometry.Grassmann().distance(b, leading()) for b in some) for some in bases
        )
        assert (near / far) ** 0.1 == pytest.approx(ratio, rel=0.05)


def test_tolerance_zero_goes_on_to_the_end_and_an_ended_agent_can_still_be_met() -> None:
    network = gv.networks.ring(6)
    plan = gv.Plan(N_ITEMS, RANK, network, DeEPCA(5, tol=0.0), seed=6)
    result = gv.run(plan, problems(6))
    assert result.n_slots == 5 * fast_mixing(network, 0.03).n_rounds
    assert set(result.history.final()["update"]) == {5}
    team = team_of(network, DeEPCA(tol=10.0))
    n_rounds = fast_mixing(network, 0.03).n_rounds
    ends = [meet_all(team, network, slot) for slot in range(2 * n_rounds + 3)]
    ended = [all(slot) for slot in ends]
    assert [any(slot) for slot in ends] == ended  # all at the same slot
    assert ended.index(True) == 2 * n_rounds - 1 and all(ended[2 * n_rounds :])
    assert team[0].outgoing(99).arrays == {} == team[0].expected(99)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "pca"])
def test_other_problems_are_refused(name: str) -> None:
    plan = gv.Plan(N_ITEMS, RANK, gv.networks.path(4), DeEPCA())
    with pytest.raises(
        PlanError, match="agent 2 has no PCA problem, and DeEPCA finds only principal"
    ):
        plan.agent(2, PROBLEMS[name](0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": -1}, "max_iter is -1"),
        ({"tol": -1.0}, "tol is -1"),
        ({"contraction": 0.0}, "contraction is 0, which no mixing reaches"),
        ({"contraction": 1.0}, "contraction is 1; choose a finite number of at least 0 and below"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        DeEPCA(**options)  # type: ignore[arg-type]


def test_flat_space_is_refused() -> None:
    plan = gv.Plan(N_ITEMS, RANK, gv.networks.path(4), DeEPCA(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match="DeEPCA averages orthonormal bases"):
        plan.agent(0, PROBLEMS["pca"](0))


def test_an_agent_keeps_to_what_engines_rely_on() -> None:
    team = partial(team_of, gv.networks.path(2), DeEPCA())
    gv.checks.check_agent(lambda: team()[0], team()[1])


def test_threads_give_the_same_bits() -> None:
    plan = gv.Plan(N_ITEMS, RANK, gv.networks.grid(6), DeEPCA(8), seed=3)
    one, other = (gv.run(plan, problems(6), engine=e) for e in (None, gv.ThreadsEngine()))
    assert [b.tobytes() for b in one.bases] == [b.tobytes() for b in other.bases]


def test_a_plan_survives_toml() -> None:
    plan = gv.Plan(9, 2, gv.networks.path(3), DeEPCA(17, 1e-9, 0.1), seed=4)
    assert 'kind = "deepca"' in plan.to_toml()
    again = gv.Plan.from_toml(plan.to_toml())
    assert again == plan and again.fingerprint() == plan.fingerprint()
