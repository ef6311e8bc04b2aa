"""D-LMaFit, held against LMaFit of all data in one place, written here densely."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, PROBLEMS, ratings

import grassvine as gv
from grassvine.averaging.dlmafit import FAST_RATIO, DLMaFit, DLMaFitAgent
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.networks.mixing import plain_mixing
from grassvine.protocol import Message

NOISE_FLOOR = 1e-12  # the mean square of the noise, whose standard deviation is 1e-6

NETWORKS = {
    "pair": gv.networks.path(2),
    "path": gv.networks.path(6),
    "ring": gv.networks.ring(5),
    "star": gv.networks.star(6),
    "grid": gv.networks.grid(6),
    "complete": gv.networks.complete(5),
    "random": gv.networks.erdos_renyi(8, 0.4, seed=3),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def agents(
    network: gv.networks.Network,
    max_omega: float = 12.0,
    rank: int = 3,
    table: gv.Ratings | None = None,
) -> list[DLMaFitAgent]:
    table = table or ratings()
    method = DLMaFit(max_omega=max_omega)
    plan = gv.Plan(table.n_items, rank, network, method, seed=4)
    parts = gv.datasets.split_users(table, network.n_agents)
    return [method.agent(plan, i, gv.CompletionProblem(part)) for i, part in enumerate(parts)]


def meet_all(team: list[DLMaFitAgent], network: gv.networks.Network, slot: int) -> list[float]:
    """One slot, in two phases; returns ω of each agent."""
    mail = [agent.outgoing(slot) for agent in team]
    inboxes = [[mail[other] for other in network.neighbours(agent.id)] for agent in team]
    return [agent.meet(slot, box).step for agent, box in zip(team, inboxes, strict=True)]


def basis_of(agent: DLMaFitAgent) -> Array:
    return agent.state()["basis"].astype(np.float64)


def dense(table: gv.Ratings) -> tuple[Array, Array]:
    """The items×users table, 0 where nothing is known, and 1 where something is."""
    values, known = np.zeros((2, table.n_items, table.n_users))
    values[table.items, table.users_of_values()] = table.values
    known[table.items, table.users_of_values()] = 1.0
    return values, known


# Mixing


@every_network
def test_trackers_keep_the_sums_at_every_slot(network: gv.networks.Network) -> None:
    """The sum of what is sent is that of A = X(YYᵀ) + ωSYᵀ and of B = YYᵀ over the agents."""
    team = agents(network)
    parts = gv.datasets.split_users(ratings(), network.n_agents)
    for slot in range(8):
        sums = np.zeros((N_ITEMS, 3)), np.zeros((3, 3))
        for agent, part in zip(team, parts, strict=True):
            values, known = dense(part)
            x, y = agent._factor, agent._coordinates
            sums[0][:] += x @ y @ y.T + agent._omega * ((values - known * (x @ y)) @ y.T)
            sums[1][:] += y @ y.T
        sent = [agent.outgoing(slot).arrays for agent in team]
        for wanted, name in zip(sums, ("products", "gram"), strict=True):
            found = sum(arrays[name] for arrays in sent)
            # A few slots of sums of some sixty products, each rounded to 2.2e-16 of itself.
            np.testing.assert_allclose(found, wanted, atol=1e-13 * np.abs(wanted).max())
        meet_all(team, network, slot)


@pytest.mark.parametrize("n_agents", [1, 2])
@pytest.mark.parametrize("max_omega", [1.0, 12.0])
def test_one_or_two_agents_take_the_steps_of_lmafit_on_all_data(
    max_omega: float, n_agents: int
) -> None:
    """Z = XY + ωP_Ω(D − XY); X = ZYᵀ(YYᵀ)⁻¹; Y = X⁺Z, an agent's users having its X and ω."""
    table, network = ratings(), gv.networks.complete(n_agents)
    team = agents(network, max_omega, table=table)
    plan = gv.Plan(N_ITEMS, 3, network, DLMaFit(max_omega=max_omega), seed=4)
    values, known = dense(table)
    owner = np.arange(table.n_users) * n_agents // table.n_users
    masks = [owner == agent for agent in range(n_agents)]
    completed = np.zeros_like(values)
    factors = [plan.start(agent) for agent in range(n_agents)]
    y = np.zeros((3, table.n_users))
    for x, mine in zip(factors, masks, strict=True):
        y[:, mine] = x.T @ values[:, mine]
    seen: list[float] = []
    for slot in range(12):
        for x, mine, agent in zip(factors, masks, team, strict=True):
            residual = (known * (values - x @ y))[:, mine]
            mse = float(np.sum(residual**2) / known[:, mine].sum())
            # Twelve times least squares with Gram matrices of condition at most some thousands.
            assert agent.conclude(slot).mse == pytest.approx(mse, rel=1e-9)
            assert gv.geometry.Grassmann().distance(basis_of(agent), np.linalg.qr(x)[0]) < 1e-9
        omegas = meet_all(team, network, slot)
        seen += omegas
        for x, mine, omega in zip(factors, masks, omegas, strict=True):
            model = x @ y
            full = model + omega * known * (values - model)
            completed[:, mine] = full[:, mine]
        new = completed @ np.linalg.pinv(y)
        y = np.linalg.pinv(new) @ completed
        factors = [new] * n_agents
    assert (max(seen) > 1.5) == (max_omega > 1.0)


def test_a_single_agent_runs_and_sends_nothing() -> None:
    data = gv.datasets.low_rank_ratings(30, 60, 2, oversampling=4.0, noise=0.0, seed=5).ratings
    plan = gv.Plan(30, 2, gv.networks.path(1), DLMaFit(200), seed=1)
    result = gv.run(plan, [gv.CompletionProblem(data)])
    assert result.messages == result.bytes == 0
    assert result.history.final()["mse"][0] < 1e-12 * np.mean(data.values**2)


def test_extrapolation_is_the_default_and_saves_most_iterations() -> None:
    data = gv.datasets.low_rank_ratings(60, 120, 3, oversampling=4.0, noise=0.0, seed=5).ratings
    needed = []
    for method in (DLMaFit(), DLMaFit(max_omega=1.0)):
        plan = gv.Plan(60, 3, gv.networks.path(1), method, seed=1)
        errors = gv.run(plan, [gv.CompletionProblem(data)]).history["mse"]
        needed.append(int(np.argmax(errors < 1e-8 * np.mean(data.values**2))))
    assert 0 < 2 * needed[0] < needed[1]


# Solutions


def full_table() -> tuple[gv.Ratings, Array]:
    data = gv.datasets.low_rank_ratings(6, 8, 2, oversampling=2.0, noise=0.0, seed=5)
    assert data.ratings.density == 1.0
    return data.ratings, data.subspace


def two_tastes() -> tuple[gv.Ratings, Array]:
    """Users rate only items of their own kind, a part of the table: XᵀD is the right Y at once."""
    x = np.kron(np.eye(2), np.ones((3, 1))) / np.sqrt(3.0)
    users = np.repeat(np.arange(8), 3)
    items = np.tile(np.arange(3), 8) + 3 * (users % 2)
    return gv.Ratings.from_arrays(users, items, 1.0 + users, n_items=6), x


@pytest.mark.parametrize("make", [full_table, two_tastes])
def test_a_solution_is_a_fixed_point(make: object) -> None:
    table, truth = make()  # type: ignore[operator]
    network = gv.networks.path(4)
    team = [
        DLMaFitAgent(number, part, truth, plain_mixing(network), 12.0)
        for number, part in enumerate(gv.datasets.split_users(table, 4))
    ]
    for slot in range(20):
        meet_all(team, network, slot)
    size = float(table.values @ table.values) / table.n_values
    for agent in team:
        # Residuals are rounding, and agents without other users' coordinates amplify it a little.
        assert agent.conclude(20).mse <= 1e-24 * size
        assert gv.geometry.Grassmann().distance(basis_of(agent), truth) <= 1e-12


@pytest.fixture(scope="module")
def low_rank_runs() -> dict[float, gv.Run]:
    data = gv.datasets.low_rank_ratings(50, 400, 3, oversampling=5.0, seed=2)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 4)]
    plan = gv.Plan(50, 3, gv.networks.path(4), seed=12)
    return {
        omega: gv.run(replace(plan, method=DLMaFit(180, omega)), problems) for omega in (1.0, 12.0)
    }


def test_extrapolation_reaches_the_noise_floor_where_plain_steps_are_far_above(
    low_rank_runs: dict[float, gv.Run],
) -> None:
    reached = {o: run.history.final()["mse"].max() for o, run in low_rank_runs.items()}
    assert reached[12.0] <= NOISE_FLOOR
    assert reached[1.0] > 100 * NOISE_FLOOR


def test_agents_with_starts_of_their_own_reach_consensus(
    low_rank_runs: dict[float, gv.Run],
) -> None:
    """With the change of A added after mixing they would keep their differences for ever."""
    result = low_rank_runs[12.0]
    starts = [result.plan.start(agent) for agent in range(4)]
    assert gv.geometry.Grassmann().distance(*starts[:2]) > 1.0
    assert result.neighbour_distance < 1e-6


@pytest.mark.parametrize(
    "network", [gv.networks.path(6), gv.networks.ring(6)], ids=["path", "ring"]
)
def test_plain_steps_reach_consensus_too(network: gv.networks.Network) -> None:
    data = gv.datasets.low_rank_ratings(30, 180, 2, oversampling=8.0, seed=1)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
    distances = [
        gv.run(gv.Plan(30, 2, network, DLMaFit(max_iter), seed=9), problems).neighbour_distance
        for max_iter in (0, 250)
    ]
    assert distances[0] > 1.0 and distances[1] < 1e-6


# ω


@pytest.mark.parametrize("max_omega", [1.0, 2.5, 12.0])
def test_omega_grows_while_the_residual_falls_slowly_and_returns_to_one_when_it_rises(
    max_omega: float,
) -> None:
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings(), 4)]
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), DLMaFit(60, max_omega), seed=1)
    history = gv.run(plan, problems).history
    rises = 0
    for number in range(4):
        mine = history.of_agent(number)
        omega, residual = mine["step"][:-1], np.sqrt(2.0 * mine["cost"])
        assert omega[0] == 1.0 and omega.min() >= 1.0 and omega.max() <= max_omega
        # The residual after a move decides about ω of the next one.
        for before, after, ratio in zip(
            omega, omega[1:], residual[1:] / residual[:-1], strict=False
        ):
            if ratio >= 1.0:
                rises += 1
                assert after == 1.0
            elif ratio > FAST_RATIO:
                assert after > before or after == max_omega
            else:
                assert after == before
    assert rises > 10  # noise all over: extrapolation goes too far now and then
    assert history["step"].max() == max_omega or max_omega == 12.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_omega": 0.5}, "max_omega is 0.5; choose a finite number of at least 1"),
        ({"max_omega": np.inf}, "max_omega is inf; choose a finite number"),
        ({"max_iter": -1}, "max_iter is -1; choose a number of at least 0"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        DLMaFit(**options)  # type: ignore[arg-type]


# Agents and messages


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "completion"])
def test_other_problems_are_refused(name: str) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), DLMaFit())
    with pytest.raises(PlanError, match="agent 2 has no plain completion problem, and D-LMaFit"):
        plan.agent(2, PROBLEMS[name](0))


def test_flat_space_is_refused() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), DLMaFit(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match=r"use the plan's default geometry, Grassmann\(\)"):
        plan.agent(0, PROBLEMS["completion"](0))


def test_an_agent_keeps_to_what_engines_rely_on() -> None:
    gv.checks.check_agent(lambda: agents(gv.networks.path(2))[0], agents(gv.networks.path(2))[1])


def test_messages_are_both_trackers_and_a_report_counts_them() -> None:
    network = gv.networks.star(4)
    team = agents(network)
    sizes = {"products": (N_ITEMS, 3), "gram": (3, 3)}
    for agent in team:
        assert agent.expected(0) == sizes
        assert {n: a.shape for n, a in agent.outgoing(0).arrays.items()} == sizes
    report = team[0].meet(0, [agent.outgoing(0) for agent in team[1:]])
    assert (report.messages, report.bytes) == (3, 3 * 8 * (N_ITEMS * 3 + 9))


def test_a_report_names_the_farthest_neighbour() -> None:
    one, _, far = agents(gv.networks.complete(3))
    own, gram = one.outgoing(0).arrays["products"], one.outgoing(0).arrays["gram"]
    report = one.meet(0, [Message(1, 0, {"products": 2.0 * own, "gram": gram}), far.outgoing(0)])
    bases = [np.linalg.qr(a)[0] for a in (own, far.outgoing(0).arrays["products"])]
    assert report.neighbour == 2
    assert report.distance == pytest.approx(gv.geometry.Grassmann().distance(*bases), rel=1e-12)


@pytest.mark.parametrize(
    ("products", "gram", "complaint"),
    [
        (np.ones((N_ITEMS, 2)), np.eye(3), "products that agent 1 sent at slot 8 has shape 20×2"),
        (
            np.full((N_ITEMS, 3), np.nan),
            np.eye(3),
            "products that agent 1 sent at slot 8 contains nan",
        ),
        (np.ones((N_ITEMS, 3)), np.ones((2, 3)), "Gram matrix that agent 1 sent at slot 8 has"),
        (np.ones((N_ITEMS, 3)), np.eye(4), "Gram matrix that agent 1 sent at slot 8 has shape 4×4"),
        (
            np.ones((N_ITEMS, 3)),
            np.full((3, 3), np.inf),
            "Gram matrix that agent 1 sent at slot 8 contains inf",
        ),
    ],
)
def test_a_bad_message_is_refused_and_moves_nothing(
    products: Array, gram: Array, complaint: str
) -> None:
    message = Message(1, 8, {"products": products, "gram": gram})
    one = agents(gv.networks.path(2))[0]
    before = one.outgoing(8).arrays["products"].tobytes(), one.state()["basis"].tobytes()
    with pytest.raises(MessageError, match=complaint):
        one.meet(8, [message])
    assert before == (one.outgoing(8).arrays["products"].tobytes(), one.state()["basis"].tobytes())
    assert one.state()["updates"] == [0]


def test_agents_with_fewer_users_than_the_rank_work_with_the_others() -> None:
    """One user each, and one agent whose user rated nothing."""
    whole = ratings(n_users=10)
    table = whole.take_values(whole.users_of_values() != 4)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 10)]
    plan = gv.Plan(N_ITEMS, 3, gv.networks.ring(10), DLMaFit(150, 12.0), seed=2)
    history = gv.run(plan, problems).history
    costs = [history.where(history["slot"] == slot)["cost"].sum() for slot in (0, 150)]
    assert costs[1] < 0.5 * costs[0]
    assert np.isnan(history.of_agent(4)["mse"]).all()


# Plans


@given(
    max_iter=st.integers(0, 30),
    max_omega=st.floats(1.0, 1e6),
    n_agents=st.integers(2, 6),
    seed=st.integers(0, 2**63 - 1),
)
def test_a_plan_survives_toml(max_iter: int, max_omega: float, n_agents: int, seed: int) -> None:
    plan = gv.Plan(9, 2, gv.networks.path(n_agents), DLMaFit(max_iter, max_omega), seed=seed)
    again = gv.Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.fingerprint() == plan.fingerprint()


def test_a_fingerprint_distinguishes_methods_and_options() -> None:
    methods: list[DLMaFit | gv.Gossip] = [
        DLMaFit(10),
        DLMaFit(11),
        DLMaFit(10, 2.0),
        gv.Gossip(max_iter=10, schedule=gv.networks.AllEdges()),
    ]
    plans = [gv.Plan(9, 2, gv.networks.path(3), method) for method in methods]
    assert plans[0].timetable.digest() == plans[3].timetable.digest()
    assert len({plan.fingerprint() for plan in plans}) == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"d-lmafit"', '"d-lmafitt"', "unknown method.kind 'd-lmafitt'; did you mean 'd-lmafit'?"),
        (
            '"d-lmafit"',
            '"admm"',
            "unknown method.kind 'admm'; choose from .*biased-factorization, d-lmafit",
        ),
        (
            'kind = "d-lmafit"\n',
            "",
            "unknown method.kind None; choose from .*biased-factorization, d-lmafit",
        ),
        ('"d-lmafit"', "3", "unknown method.kind 3; choose from .*biased-factorization, d-lmafit"),
        ('"d-lmafit"', '"gossip"', "step is missing or not a table"),
        ("max_omega", "omega", "method.omega: unknown key 'omega'; did you mean 'max_omega'"),
        ("max_omega = 2.0", "max_omega = 0.0", "max_omega is 0; choose a finite number of at"),
        ("max_iter = 10", "rho = 1.0", "method.rho: unknown key 'rho'"),
        pytest.param(
            '"d-lmafit"',
            '["d-lmafit"]',
            r"unknown method.kind \['d-lmafit'\]",
        ),
    ],
)
def test_a_wrong_plan_file_is_refused_with_the_place(old: str, new: str, message: str) -> None:
    text = gv.Plan(9, 2, gv.networks.path(3), DLMaFit(10, 2.0)).to_toml()
    assert old in text
    with pytest.raises(PlanError, match=message):
        gv.Plan.from_toml(text.replace(old, new))
