from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.foundations.errors import NetworkError
from grassvine.foundations.seeds import stream
from grassvine.networks import Epochs, Network, PoissonClocks, Recorded, Schedule, Timetable

EVEN, ODD = ((0, 1), (2, 3), (4, 5)), ((1, 2), (3, 4), (0, 5))  # together a ring of six
RING = ((3, EVEN), (4, ODD))
SCHEDULES: list[Schedule] = [
    gv.networks.OneEdge(),
    gv.networks.Matchings(),
    gv.networks.AllEdges(),
    PoissonClocks(),
]
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)


def draw(epochs: Epochs, network: Network, n_slots: int, seed: int = 0) -> Timetable:
    return epochs.draw(network, n_slots, stream(seed, "timetable"))


@every_schedule
@given(n_slots=st.integers(0, 30), seed=st.integers(0, 1000))
def test_each_epoch_meets_along_its_own_links(schedule: Schedule, n_slots: int, seed: int) -> None:
    table = draw(Epochs(schedule, RING), gv.networks.ring(6), n_slots, seed)
    assert table.n_slots == n_slots
    for slot in range(n_slots):
        met = table.meetings(slot)
        assert met and set(met) <= set(EVEN if slot % 7 < 3 else ODD)


@every_schedule
def test_one_epoch_of_all_links_is_no_epoch(schedule: Schedule) -> None:
    whole = schedule.draw(gv.networks.ring(6), 50, stream(3, "timetable"))
    epochs = Epochs(schedule, ((50, gv.networks.ring(6).edges),))
    assert draw(epochs, gv.networks.ring(6), 50, 3).digest() == whole.digest()


@every_schedule
def test_an_epoch_without_links_is_a_pause(schedule: Schedule) -> None:
    table = draw(Epochs(schedule, ((2, ()), (1, ((0, 1),)))), gv.networks.path(2), 9)
    assert [len(table.meetings(slot)) for slot in range(9)] == [0, 0, 1] * 3


def test_an_agent_without_links_rings_in_vain() -> None:
    table = draw(Epochs(PoissonClocks(), ((5, ((0, 1),)), (5, ((1, 2),)))), gv.networks.path(3), 10)
    assert [table.meetings(slot) for slot in range(10)] == [[(0, 1)]] * 5 + [[(1, 2)]] * 5


def test_the_union_is_the_network() -> None:
    assert Epochs(gv.networks.OneEdge(), RING).union(6) == gv.networks.ring(6)
    with pytest.raises(NetworkError, match=r"not connected: it has 3 components"):
        Epochs(gv.networks.OneEdge(), ((3, EVEN),)).union(6)


def test_links_are_kept_in_order() -> None:
    one = Epochs(gv.networks.OneEdge(), RING)
    other = Epochs(gv.networks.OneEdge(), ([3, EVEN[::-1]], [4, ODD]))  # type: ignore[arg-type]
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize(
    ("epochs", "network", "message"),
    [
        (
            ((3, EVEN), (3, ODD)),
            gv.networks.path(6),
            r"\(0, 5\) is in an epoch but not the network; use",
        ),
        (
            ((3, EVEN), (3, ODD[:2])),
            gv.networks.ring(6),
            r"\(0, 5\) is in no epoch; use epochs.union",
        ),
    ],
)
def test_the_network_must_be_the_union(epochs: Any, network: Network, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        draw(Epochs(gv.networks.OneEdge(), epochs), network, 9)


@pytest.mark.parametrize(
    ("schedule", "epochs", "message"),
    [
        (gv.networks.OneEdge(), (), "epochs is empty; pass at least one"),
        (gv.networks.OneEdge(), 3, "epochs must be a list of .n_slots, edges. pairs; pass"),
        (gv.networks.OneEdge(), (EVEN,), "epochs must be a list of .n_slots, edges. pairs; pass"),
        (
            gv.networks.OneEdge(),
            ((0, EVEN),),
            "the length of epoch 0 is 0; choose a number of at least 1",
        ),
        (gv.networks.OneEdge(), ((3, ((0, 0),)),), "agent 0 is linked to itself"),
        (Recorded(2, (((0, 1),),)), RING, "Recorded cannot be used within epochs"),
        (Epochs(gv.networks.OneEdge(), RING), RING, "Epochs cannot be used within epochs"),
    ],
)
def test_epochs_are_checked(schedule: Schedule, epochs: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Epochs(schedule, epochs)


@pytest.mark.parametrize("length", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_gossip_on_unconnected_epochs_reaches_the_floor_of_the_union(length: int) -> None:
    """At no slot are more than two agents connected; over time all are."""
    data = gv.datasets.low_rank_ratings(60, 600, 3, oversampling=6.0, seed=1)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
    varying = Epochs(gv.networks.OneEdge(), ((length, EVEN), (length, ODD)))
    worst = []
    for schedule in (gv.networks.OneEdge(), varying):
        plan = gv.Plan(60, 3, gv.networks.ring(6), gv.Gossip(1e3, 800, schedule), seed=7)
        result = gv.run(plan, problems)
        worst.append(result.history.final()["mse"].max())
        assert result.neighbour_distance < 1e-5
    # The noise has a standard deviation of 1e-6.
    assert max(worst) <= 1e-12
    assert worst[1] == pytest.approx(worst[0], rel=0.05)


def test_without_all_epochs_agents_learn_apart() -> None:
    """The check above can fail: the even links alone leave pairs that exchange nothing."""
    data = gv.datasets.low_rank_ratings(60, 600, 3, oversampling=6.0, seed=1)
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
    seldom = Epochs(gv.networks.OneEdge(), ((10_000, EVEN), (1, ODD)))
    result = gv.run(
        gv.Plan(60, 3, gv.networks.ring(6), gv.Gossip(1e3, 300, seldom), seed=7), problems
    )
    assert result.neighbour_distance > 1e-5
    assert np.isfinite(result.history["mse"]).all()
