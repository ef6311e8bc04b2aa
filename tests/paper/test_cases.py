"""The paper's synthetic cases with the default step, nothing tuned."""

import numpy as np
import pytest

import grassvine as gv
from grassvine.datasets import LowRankRatings, SubspaceTasks

NOISE_FLOOR = 1e-12  # the mean square of the noise, whose standard deviation is 1e-6
GRASSMANN = gv.geometry.Grassmann()


def complete(data: LowRankRatings, method: gv.Gossip, seed: int = 7) -> gv.Run:
    ratings = data.ratings
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings, 6)]
    return gv.run(gv.Plan(ratings.n_items, 5, gv.networks.path(6), method, seed=seed), problems)


@pytest.fixture(scope="module")
def case4() -> LowRankRatings:
    return gv.datasets.low_rank_ratings(500, 12_000, 5, oversampling=6.0, seed=1)


@pytest.mark.parametrize("seed", [7, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(gv.gossip.precon_stochastic(1e3, 1000), marks=pytest.mark.slow),
        gv.gossip.precon_parallel(1e3, 400),
    ],
    ids=str,
)
def test_case_4_reaches_the_noise_floor(
    case4: LowRankRatings, method: gv.Gossip, seed: int
) -> None:
    result = complete(case4, method, seed)
    assert result.history.final()["mse"].max() <= NOISE_FLOOR
    assert result.neighbour_distance <= 1e-6


@pytest.mark.slow
def test_case_4_plain_gossip_with_the_automatic_step_reaches_the_noise_floor(
    case4: LowRankRatings,
) -> None:
    result = complete(case4, gv.gossip.stochastic(1e3, 1000))
    assert result.history.final()["mse"].max() <= NOISE_FLOOR


@pytest.mark.parametrize(
    "preconditioner", ["curvature", pytest.param("gram", marks=pytest.mark.slow)]
)
def test_with_a_huge_weight_there_is_only_consensus(
    case4: LowRankRatings, preconditioner: str
) -> None:
    """ρ = 1e10: neighbours agree, do not swap places, and do not solve the task."""
    method = gv.Gossip(1e10, 1000, preconditioner=preconditioner)  # type: ignore[arg-type]
    result = complete(case4, method)
    assert result.neighbour_distance <= 1e-4
    variance = float(np.var(case4.ratings.values))
    assert result.history.final()["mse"].min() > 0.1 * variance
    # Agents that swap places stay as far apart as they were; these come nearer, meeting by meeting.
    first = result.history.of_agent(0)["distance"][:1]
    last = result.history.of_agent(0)["distance"][-11:-1]
    assert last.max() < 1e-4 < first.min()


@pytest.fixture(scope="module")
def case6() -> SubspaceTasks:
    return gv.datasets.subspace_tasks(100, 1000, 5, seed=1)


@pytest.mark.parametrize("seed", [7, pytest.param(8, marks=pytest.mark.slow)])
def test_case_6_every_agent_finds_the_subspace(case6: SubspaceTasks, seed: int) -> None:
    problems = [gv.MultitaskProblem(part) for part in gv.datasets.split_tasks(case6.tasks, 6)]
    plan = gv.Plan(100, 5, gv.networks.path(6), gv.gossip.precon_parallel(1e3, 400), seed=seed)
    result = gv.run(plan, problems)
    assert max(GRASSMANN.distance(basis, case6.subspace) for basis in result.bases) <= 4e-7


@pytest.fixture(scope="module")
def case1() -> LowRankRatings:
    return gv.datasets.low_rank_ratings(10_000, 100_000, 5, oversampling=6.0, seed=1)


@pytest.mark.paper
@pytest.mark.parametrize(
    "method", [gv.gossip.precon_stochastic(1e3, 1000), gv.gossip.precon_parallel(1e3, 400)], ids=str
)
def test_case_1_reaches_the_noise_floor(case1: LowRankRatings, method: gv.Gossip) -> None:
    result = complete(case1, method)
    assert result.history.final()["mse"].max() <= NOISE_FLOOR


@pytest.mark.paper
def test_case_1_with_a_huge_weight_there_is_only_consensus(case1: LowRankRatings) -> None:
    result = complete(case1, gv.gossip.precon_stochastic(1e10, 1000))
    assert result.neighbour_distance <= 1e-4
    assert result.history.final()["mse"].min() > 1.0
