from functools import partial

import numpy as np
import pytest
from tests.samples import N_ITEMS, own_function, ratings, tasks

import grassvine as gv
from grassvine.baselines import rtrmc
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.networks.tree import spanning_tree
from grassvine.protocol import Message, StepReport, checked_message
from grassvine.sums.agent import SumAgent
from grassvine.sums.descent.conjugate_gradient import (
    Descent,
    DescentResult,
    StoppingRule,
    conjugate_gradient,
)
from grassvine.sums.descent.preconditioners import IdentityPreconditioner, ItemScaling
from grassvine.sums.own import Data, own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    all_reduce,
    first_part,
    flat,
    next_part,
    run_pooled,
    shaped,
)

GRASSMANN = gv.geometry.Grassmann()
NETWORKS = (
    gv.networks.path(6),
    gv.networks.star(6),
    gv.networks.ring(6),
    gv.networks.grid(6),
    gv.networks.erdos_renyi(6, 0.5, seed=1),
)


def own_part(number: int, step: int, _: Data) -> tuple[float, Array]:
    return float(number), np.arange(step + 1.0)


def counting(number: int, n_sums: int) -> Program:
    """A program that adds up its agent's number, and records the totals."""
    heard = []
    for step in range(n_sums):
        statistics = yield from all_reduce(Iterate(np.eye(3)), partial(own_part, number, step))
        heard.append((float(statistics[0]), statistics[1].tolist()))
    assert heard == [(15.0, [6.0 * k for k in range(step + 1)]) for step in range(n_sums)]
    return ProgramOutcome(Iterate(np.eye(3), cost=float(len(heard))), "all was added up")


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{len(n.edges)} links")
def test_every_agent_receives_the_sum_of_all(network: gv.networks.Network) -> None:
    tree = spanning_tree(network)
    problem = gv.PCAProblem(np.eye(3))
    makers = [partial(SumAgent, i, problem, counting(i, 4), tree) for i in range(6)]
    reports: list[StepReport] = []
    outcome = gv.LocalEngine().run(makers, tree.rounds(7), reports.append)
    assert outcome.n_slots == tree.rounds(7).n_slots
    last = {report.agent: report for report in reports if report.slot < outcome.n_slots}
    assert {report.finished for report in last.values()} == {"all was added up"}
    assert {report.cost for report in last.values()} == {4.0}


def test_an_agent_keeps_to_what_engines_rely_on() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(2), gv.Exact())
    parts = gv.datasets.split_users(ratings(), 2)
    makers = [partial(plan.agent, i, gv.CompletionProblem(part)) for i, part in enumerate(parts)]
    gv.checks.check_agent(makers[0], makers[1]())


def test_a_run_ends_when_all_agents_are_done() -> None:
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings(), 4)]
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), gv.Exact(tol=1e-3, by_rank=False))
    result = gv.run(plan, problems)
    assert result.stop_reason == "the gradient norm fell to 0.001 of its initial value"
    assert result.n_slots < plan.timetable.n_slots


def test_a_sum_of_another_length_is_refused() -> None:
    tree = spanning_tree(gv.networks.path(2))
    agent = SumAgent(0, gv.PCAProblem(np.eye(3)), counting(0, 1), tree)
    assert agent.expected(0) == {"sum": (2,), "checksum": (1,)}
    message = Message(1, 0, {"sum": np.zeros(3), "checksum": np.zeros(1)})
    with pytest.raises(MessageError, match=r"agent 1 sent at slot 0 contains .*sum 3, not .*sum 2"):
        checked_message(message, agent.expected(0), sender=1, slot=0)


@pytest.fixture(scope="module")
def table() -> gv.Ratings:
    return gv.datasets.low_rank_ratings(60, 500, 3, oversampling=5.0, seed=1).ratings


@pytest.fixture(scope="module")
def batch(table: gv.Ratings) -> Array:
    start = gv.Plan(60, 3, gv.networks.path(2)).start(0)
    return rtrmc(gv.CompletionProblem(table), start, tol=1e-12).basis


@pytest.mark.parametrize("by_rank", [True, False])
@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{len(n.edges)} links")
def test_agents_find_the_batch_subspace(
    table: gv.Ratings, batch: Array, network: gv.networks.Network, by_rank: bool
) -> None:
    plan = gv.Plan(60, 3, network, gv.Exact(by_rank=by_rank), seed=5)
    result = gv.run(
        plan, [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 6)]
    )
    assert len({basis.tobytes() for basis in result.bases}) == 1
    # The gradient falls to 1e-8 of its first length; the Hessian is about as well-conditioned.
    assert GRASSMANN.distance(result.bases[0], batch) < 1e-8
    assert result.history.final()["mse"].max() < 1e-12  # the variance of the noise


@pytest.mark.parametrize("n_agents", [1, 2, 3, 10])
def test_the_answer_is_the_pooled_one_at_any_number_of_agents(n_agents: int) -> None:
    data = ratings()
    method = gv.Exact(by_rank=False)
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(n_agents), method, seed=2)
    parts = gv.datasets.split_users(data, n_agents)
    result = gv.run(plan, [gv.CompletionProblem(part, unobserved=0.1) for part in parts])
    pooled = gv.CompletionProblem(data, unobserved=0.1)
    ending = run_pooled(method.program(pooled, plan.start(0), plan.seed), pooled)
    cost = pooled.evaluate(result.bases[0]).cost
    # Sums in another order differ by rounding; near the minimum the cost sees its square.
    assert cost == pytest.approx(ending.iterate.cost, rel=1e-12)
    assert GRASSMANN.distance(result.bases[0], ending.iterate.basis) < 1e-6


def test_it_is_what_a_plan_does_by_default() -> None:
    assert gv.Plan(60, 3, gv.networks.ring(6)).method == gv.Exact()


def test_a_lone_agent_sends_nothing_and_keeps_a_history(table: gv.Ratings) -> None:
    plan = gv.Plan(60, 3, gv.networks.path(1), gv.Exact())
    result = gv.run(plan, [gv.CompletionProblem(table)], engine=gv.ThreadsEngine())
    assert (result.bytes, result.messages) == (0, 0)
    assert len(result.history) == result.n_slots + 1  # a row a sum, and the final state
    assert len(result.history.final()) == 1


def test_an_ill_conditioned_table_is_recovered_rank_by_rank() -> None:
    data = gv.datasets.low_rank_ratings(200, 2000, 4, oversampling=6.0, condition=500.0, seed=3)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 4)]
    exact = gv.run(gv.Plan(200, 4, gv.networks.ring(4), gv.Exact(), seed=1), problems)
    assert exact.history.final()["mse"].max() < 1e-12
    gossip = gv.run(gv.Plan(200, 4, gv.networks.ring(4), gv.Gossip(max_iter=600), seed=1), problems)
    assert gossip.history.final()["mse"].min() > 1e-6


@pytest.mark.parametrize("max_iter", [1, 5, 12, 20])
def test_a_run_that_ends_early_leaves_a_basis_of_the_full_rank(
    table: gv.Ratings, max_iter: int
) -> None:
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 3)]
    result = gv.run(gv.Plan(60, 3, gv.networks.path(3), gv.Exact(max_iter=max_iter)), problems)
    assert result.stop_reason == "the timetable ended"
    assert {basis.shape for basis in result.bases} == {(60, 3)}
    assert np.isfinite(result.history.final()["cost"]).all()


def in_units(units: Array) -> gv.Tasks:
    """Tasks whose features are given in units of their own."""
    features = [x * units for x in tasks().features]
    return gv.Tasks.from_arrays(features, tasks().targets)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("span", [0.0, 5.0], ids=["like units", "raw features"])
def test_tasks_are_solved_too_whatever_the_units_of_their_features(span: float, seed: int) -> None:
    given = in_units(np.logspace(0.0, -span, N_ITEMS))
    parts = [gv.MultitaskProblem(part, alpha=0.1) for part in gv.datasets.split_tasks(given, 4)]
    result = gv.run(gv.Plan(N_ITEMS, 2, gv.networks.ring(4), gv.Exact(), seed=seed), parts)
    assert result.stop_reason == "the gradient norm fell to 1e-08 of its initial value"
    pooled = gv.MultitaskProblem(given, alpha=0.1)
    # From there: tasks have several minima.
    polished = rtrmc(pooled, result.bases[0], tol=0.0)
    # Both stand at one local minimum: the polished batch may gain the square of 1e-8, times how
    # far the preconditioner is from the Hessian.
    assert pooled.evaluate(result.bases[0]).cost == pytest.approx(polished.cost, rel=1e-12)


def finish(
    descending: Descent, problem: gv.CompletionProblem, costs: list[float] | None = None
) -> DescentResult:
    """Run a descent for one owner of all data, noting the costs on the way."""
    part, data = first_part(descending), Data(problem)
    while True:
        try:
            part = next_part(descending, shaped(*flat(part.of(data))))
        except StopIteration as end:
            descent: DescentResult = end.value
            return descent
        if costs is not None:
            costs.append(part.iterate.cost)


def test_costs_never_rise() -> None:
    problem = gv.CompletionProblem(ratings(), unobserved=0.1)
    start = gv.Plan(N_ITEMS, 3, gv.networks.path(2)).start(0)
    costs: list[float] = []
    own, stopping = own_problem(problem), StoppingRule(1e-6, 200)
    descending = conjugate_gradient(own, start, IdentityPreconditioner(), stopping)
    descent = finish(descending, problem, costs)
    assert descent.reason == "the gradient norm fell to 1e-06 of its initial value"
    known = np.array(costs)[np.isfinite(costs)]
    # Where a step promises less than 1e-10 of the cost, rounding of that size is let pass.
    assert (np.diff(known) <= 1e-10 * known[:-1]).all()


def test_dividing_by_item_shares_takes_fewer_sums_than_dividing_by_nothing(
    table: gv.Ratings,
) -> None:
    problem = gv.CompletionProblem(table)
    start = gv.Plan(60, 3, gv.networks.path(2)).start(0)
    counts = np.maximum(np.bincount(table.items, minlength=60), 1) / table.n_users
    stopping, own = StoppingRule(1e-6, 500), own_problem(problem)
    by_shares, by_nothing = (
        finish(conjugate_gradient(own, start, preconditioner, stopping), problem).iterations
        for preconditioner in (ItemScaling(counts), IdentityPreconditioner())
    )
    assert by_shares < by_nothing


def test_what_it_cannot_do_is_reported() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(2), gv.Exact(), geometry=gv.geometry.Euclidean())
    with pytest.raises(PlanError, match="needs the Grassmann geometry; omit geometry"):
        plan.agent(0, gv.CompletionProblem(ratings()))
    other = gv.Plan(N_ITEMS, 3, gv.networks.path(2), gv.Exact())
    with pytest.raises(PlanError, match="BiasedCompletionProblem defines another model"):
        other.agent(0, gv.BiasedCompletionProblem(ratings()))
    with pytest.raises(PlanError, match="tol is -1"):
        gv.Exact(tol=-1.0)
    with pytest.raises(PlanError, match="max_iter is 0"):
        gv.Exact(max_iter=0)


def test_a_plan_with_it_goes_through_toml() -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.ring(5), gv.Exact(1e-6, by_rank=False, max_iter=50))
    assert gv.Plan.from_toml(plan.to_toml()) == plan


def test_a_basis_of_all_directions_ends_at_once() -> None:
    problem = gv.MultitaskProblem(tasks(), alpha=0.5)
    plan = gv.Plan(N_ITEMS, N_ITEMS, gv.networks.path(1), gv.Exact())
    result = gv.run(plan, [problem])
    assert result.stop_reason == "the gradient is zero up to rounding"


def test_a_cost_of_ones_own_needs_a_gradient_and_nothing_else() -> None:
    problems = [gv.CustomProblem(N_ITEMS, own_function) for _ in range(2)]
    result = gv.run(gv.Plan(N_ITEMS, 2, gv.networks.path(2), gv.Exact()), problems)
    assert result.stop_reason.startswith("the gradient")
    # The two cheap directions; a gradient of 1e-8 leaves an angle of about as much.
    assert np.abs(result.bases[0][2:]).max() < 1e-7
