"""What keeps gossip agents apart, the bias of a finite ρ and the twist, and what cures it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.gossip import GrowingRho, with_growing_rho
from grassvine.runs import Run

N_AGENTS, RANK, N_ITEMS = 8, 2, 12
GROWING = GrowingRho(2.0, 800.0, 61)


def unlike_parts(n_agents: int = N_AGENTS) -> list[gv.PCAProblem]:
    """Samples of one common subspace, of which each agent sees some directions better."""
    rng = stream(0, "data", "unlike parts")
    common = np.linalg.qr(rng.standard_normal((N_ITEMS, RANK)))[0]
    parts = []
    for _ in range(n_agents):
        signal = rng.standard_normal((30, RANK)) @ common.T
        parts.append(gv.PCAProblem(signal + 0.7 * rng.standard_normal((30, N_ITEMS))))
    return parts


def squares(problems: list[gv.PCAProblem]) -> float:
    return sum(float(np.sum(problem.samples**2)) for problem in problems)


def run(problems: list[gv.PCAProblem], method: gv.Gossip, seed: int = 0) -> Run:
    rank = RANK if problems[0].n_items == N_ITEMS else 1
    ring = gv.networks.ring(len(problems))
    return gv.run(gv.Plan(problems[0].n_items, rank, ring, method, seed=seed), problems)


# ρ


def test_rho_grows_as_geomspace_and_then_stays() -> None:
    found = [GROWING.at(k) for k in range(70)]
    wanted = np.geomspace(2.0, 800.0, 61)
    np.testing.assert_allclose(found[:61], wanted, rtol=1e-13)  # rounding of a power
    assert set(found[60:]) == {800.0} and found[0] == 2.0
    assert GrowingRho(2.0, 800.0, 1).at(0) == 800.0


@pytest.mark.parametrize(
    ("start", "stop", "num", "message"),
    [
        (0.0, 1.0, 5, "rho.start is 0, which cannot grow; choose a positive number"),
        (1.0, math.inf, 5, "rho.stop is inf"),
        (1.0, -1.0, 5, "rho.stop is -1"),
        (1.0, 2.0, 0, "rho.num is 0"),
    ],
)
def test_options_of_a_growing_rho_are_checked(
    start: float, stop: float, num: int, message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        GrowingRho(start, stop, num)


def test_the_start_is_own_or_common() -> None:
    with pytest.raises(PlanError, match="unknown start 'comon'; did you mean 'common'"):
        gv.Gossip(start="comon")  # type: ignore[arg-type]
    problems = unlike_parts()
    runs = {start: run(problems, gv.Gossip(max_iter=0, start=start)) for start in ("own", "common")}
    assert len({basis.tobytes() for basis in runs["own"].bases}) == N_AGENTS
    assert len({basis.tobytes() for basis in runs["common"].bases}) == 1
    np.testing.assert_array_equal(runs["common"].bases[3], runs["own"].plan.start(0))


@pytest.mark.parametrize("clock", ["common", "own"])
def test_the_weight_at_a_slot_is_that_of_a_constant_one(clock: str) -> None:
    """From one state, a step with a growing weight has the bits of one with its value there."""
    problems = unlike_parts(2)
    growing = gv.Gossip(GROWING, clock=clock)  # type: ignore[arg-type]
    constant = replace(growing, rho=GROWING.at(7 if clock == "common" else 0))
    bases = []
    for method in (growing, constant):
        plan = gv.Plan(N_ITEMS, RANK, gv.networks.path(2), method)
        one, other = (plan.agent(i, problem) for i, problem in enumerate(problems))
        one.meet(7, [other.outgoing(7)])
        bases.append(one.state()["basis"])
    np.testing.assert_array_equal(bases[0], bases[1])


def test_engines_give_the_same_bits_and_agents_can_be_restored() -> None:
    problems = unlike_parts()
    method = with_growing_rho(squares(problems), N_AGENTS, max_iter=3)
    plan = gv.Plan(N_ITEMS, RANK, gv.networks.ring(N_AGENTS), method)
    local, threads = (
        gv.run(plan, problems, engine=engine) for engine in (gv.LocalEngine(), gv.ThreadsEngine())
    )
    for one, other in zip(local.bases, threads.bases, strict=True):
        np.testing.assert_array_equal(one, other)
    gv.checks.check_agent(lambda: plan.agent(0, problems[0]), plan.agent(1, problems[1]))


# The bias


def test_a_finite_rho_has_a_bias_that_more_slots_do_not_remove() -> None:
    """The agents of a constant ρ converge to different subspaces; those of a growing ρ agree."""
    problems = unlike_parts()
    total = squares(problems)
    constant = gv.Gossip(0.05 * total / N_AGENTS, start="common")
    apart = [run(problems, replace(constant, max_iter=n)).agreement_degrees for n in (1000, 2000)]
    growing = run(problems, with_growing_rho(total, N_AGENTS))
    assert min(apart) > 10.0
    assert apart[1] == pytest.approx(apart[0], rel=0.5)  # it varies with the last meetings
    assert growing.agreement_degrees < 0.2 * min(apart)


def test_the_growing_rho_finds_the_pooled_subspace() -> None:
    problems = unlike_parts()
    found = run(problems, with_growing_rho(squares(problems), N_AGENTS))
    pooled = np.linalg.svd(np.vstack([problem.samples for problem in problems]))[2][:RANK].T
    space = gv.geometry.Grassmann()
    # Weights grow in finite time, so a little of the early bias remains.
    assert max(math.degrees(space.distance(basis, pooled)) for basis in found.bases) < 3.0


# The twist


def orientation(found: Run) -> float:
    """Return Π det(UᵢᵀUᵢ₊₁) around the ring, whose sign is −1 on a twist."""
    bases = found.bases
    following = (*bases[1:], bases[0])
    return math.prod(
        float(np.linalg.det(one.T @ other)) for one, other in zip(bases, following, strict=True)
    )


def lines(n_agents: int) -> list[gv.PCAProblem]:
    """Samples of lines in space without a preferred direction, up to a tenth."""
    return [gv.PCAProblem(np.diag([1.1, 1.0, 1.0])) for _ in range(n_agents)]


def test_own_starts_can_lock_a_ring_into_a_twist_and_a_common_start_cannot() -> None:
    """Walking round a twisted ring turns a direction by 180°, which no meeting of two can see."""
    problems = lines(10)
    method = with_growing_rho(squares(problems), 10, max_iter=40)
    own = [run(problems, replace(method, start="own"), seed) for seed in range(6)]
    twisted = [found for found in own if orientation(found) < 0.0]
    assert twisted
    # 180° over ten links; the largest link has at least its share.
    assert all(found.agreement_degrees >= 18.0 for found in twisted)
    for seed in range(6):
        found = run(problems, method, seed)
        assert orientation(found) > 0.99 and found.agreement_degrees < 1.0


def test_the_slots_are_those_of_the_documentation() -> None:
    slots = {n: with_growing_rho(1.0, n).max_iter for n in (2, 6, 7, 20)}
    assert slots == {2: 400, 6: 2000, 7: 2450, 20: 20_000}
    method = with_growing_rho(240.0, 6, max_iter=50)
    assert method.rho == GrowingRho(2.0, 240.0, 250) and method.start == "common"


def test_data_without_variation_are_no_error() -> None:
    problems = [gv.PCAProblem(np.zeros((2, 3))) for _ in range(3)]
    found = run(problems, with_growing_rho(0.0, 3, max_iter=5))
    assert found.agreement_degrees < 1e-12  # rounding of bases that stay where they start
