from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks import Network, PoissonClocks, Timetable, erdos_renyi, path, ring, star

networks = st.builds(erdos_renyi, st.integers(2, 9), st.floats(0.6, 1.0), seed=st.integers(0, 1000))
seeds = st.integers(0, 1000)
RATES = (1.0, 10.0, 0.5, 2.0, 1.0, 3.0)


def draw(network: Network, n_slots: int, seed: int = 0, rates: Any = None) -> Timetable:
    return PoissonClocks(rates).draw(network, n_slots, stream(seed, "timetable"))


@given(networks, seeds)
def test_a_slot_is_one_meeting_along_a_link(network: Network, seed: int) -> None:
    table = draw(network, 30, seed)
    for slot in range(30):
        (meeting,) = table.meetings(slot)
        assert meeting in network.edges
        assert len(table.deliveries(slot)) == 2


@given(networks, seeds)
def test_equal_seeds_give_equal_meetings(network: Network, seed: int) -> None:
    assert draw(network, 30, seed).digest() == draw(network, 30, seed).digest()


def test_other_seeds_give_other_meetings() -> None:
    assert draw(path(6), 200, 0).digest() != draw(path(6), 200, 1).digest()


@pytest.mark.parametrize("network", [path(6), ring(6), star(6)], ids=["path", "ring", "star"])
@pytest.mark.parametrize("rates", [None, RATES], ids=["equal", "unequal"])
def test_a_link_meets_as_often_as_the_clocks_of_its_ends_ring(
    network: Network, rates: tuple[float, ...] | None
) -> None:
    """p_ij = (ν_i/deg_i + ν_j/deg_j)/ν."""
    table = draw(network, 20_000, 3, rates)
    rate = rates or (1.0,) * 6
    for one, other in network.edges:
        share = (rate[one] / network.degree(one) + rate[other] / network.degree(other)) / sum(rate)
        met = np.count_nonzero((table.senders == one) & (table.receivers == other))
        # Binomial; five standard deviations.
        assert abs(met - 20_000 * share) < 5 * np.sqrt(20_000 * share * (1 - share))


def test_the_order_is_that_of_real_clocks() -> None:
    """Clocks simulated in time: the law of the next caller does not depend on the one before."""
    rng = stream(1, "timetable")
    rings = [np.cumsum(rng.exponential(1.0 / rate, size=9000)) for rate in (1.0, 4.0)]
    end = min(times[-1] for times in rings)
    times = np.concatenate(rings)
    callers = np.repeat([0, 1], 9000)[np.argsort(times)][: int((times <= end).sum())]
    follows = callers[1:][callers[:-1] == 0]
    for sample in (callers, follows):
        assert abs(sample.mean() - 0.8) < 5 * 0.4 / np.sqrt(len(sample))
    # Callers 0 and 2 of a path of three are told apart by their links.
    table = draw(path(3), 10_000, 2, (1.0, 1e-12, 4.0))
    assert abs((table.senders == 2).sum() / 10_000 - 0.8) < 5 * 0.4 / 100


def test_rates_matter_only_relative_to_each_other() -> None:
    doubled = tuple(2.0 * rate for rate in RATES)
    assert draw(ring(6), 500, 0, RATES).digest() == draw(ring(6), 500, 0, doubled).digest()
    huge = tuple(1e307 * rate for rate in RATES)  # their sum is not finite
    assert draw(ring(6), 500, 0, huge).n_slots == 500


def test_equal_rates_are_the_default() -> None:
    assert draw(ring(6), 500).digest() == draw(ring(6), 500, 0, [3] * 6).digest()


def test_a_lone_agent_meets_nobody() -> None:
    table = draw(path(1), 7)
    assert table.n_slots == 7 and len(table.senders) == 0


def test_no_slots_are_an_empty_timetable() -> None:
    assert draw(path(3), 0).n_slots == 0


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ((1.0, 0.0), "the rate of agent 1 is 0, so its clock would never tick"),
        ((1.0, -2.0), "the rate of agent 1 is -2; choose a finite number of at least 0"),
        ((float("inf"), 1.0), "the rate of agent 0 is inf"),
        (("often", 1.0), "the rate of agent 0 must be a number, not 'often'"),
        (3.0, "rates must be a list, not 3.0; pass one rate per agent"),
    ],
)
def test_rates_are_checked(rates: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        PoissonClocks(rates)


def test_every_agent_has_a_rate() -> None:
    with pytest.raises(NetworkError, match="got 2 rates for 3 agents; pass one rate per"):
        draw(path(3), 5, 0, (1.0, 2.0))


def test_the_number_of_slots_is_checked() -> None:
    with pytest.raises(PlanError, match="n_slots is -1; choose a number of at least 0"):
        draw(path(3), -1)
