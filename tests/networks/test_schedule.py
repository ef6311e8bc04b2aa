from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks import (
    AllEdges,
    Matchings,
    Network,
    OneEdge,
    Schedule,
    Timetable,
    complete,
    erdos_renyi,
    path,
    ring,
)
from grassvine.networks.schedule import edge_colouring

RANDOM: list[Schedule] = [OneEdge(), Matchings()]
SCHEDULES: list[Schedule] = [*RANDOM, AllEdges()]
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
every_random_schedule = pytest.mark.parametrize("schedule", RANDOM, ids=repr)

networks = st.builds(erdos_renyi, st.integers(1, 9), st.floats(0.6, 1.0), seed=st.integers(0, 1000))
seeds = st.integers(0, 1000)
N_SLOTS = 30


def draw(schedule: Schedule, network: Network, seed: int, n_slots: int = N_SLOTS) -> Timetable:
    return schedule.draw(network, n_slots, stream(seed, "timetable"))


@every_schedule
@given(networks, seeds)
def test_every_meeting_is_a_link(schedule: Schedule, network: Network, seed: int) -> None:
    table = draw(schedule, network, seed)
    met = {meeting for slot in range(N_SLOTS) for meeting in table.meetings(slot)}
    assert met <= set(network.edges)
    assert bool(met) == (network.n_agents > 1)


@every_schedule
@given(networks, seeds)
def test_at_a_meeting_both_sides_send_once(schedule: Schedule, network: Network, seed: int) -> None:
    table = draw(schedule, network, seed)
    for slot in range(N_SLOTS):
        both = [pair for i, j in table.meetings(slot) for pair in ((i, j), (j, i))]
        assert sorted(table.deliveries(slot)) == sorted(both)


@every_schedule
@given(networks, seeds)
def test_inboxes_are_sorted(schedule: Schedule, network: Network, seed: int) -> None:
    table = draw(schedule, network, seed)
    for slot in range(N_SLOTS):
        inboxes = table.inboxes(slot)
        receivers = [receiver for receiver, _ in inboxes]
        assert receivers == sorted(set(receivers))
        assert all(list(senders) == sorted(set(senders)) for _, senders in inboxes)


@every_schedule
@given(networks, seeds)
def test_the_meetings_of_an_agent_agree_with_the_deliveries(
    schedule: Schedule, network: Network, seed: int
) -> None:
    table = draw(schedule, network, seed)
    for agent in range(network.n_agents):
        heard = {
            slot: tuple(sender for sender, receiver in table.deliveries(slot) if receiver == agent)
            for slot in range(N_SLOTS)
        }
        wanted = [(slot, senders) for slot, senders in heard.items() if senders]
        assert list(table.meetings_of(agent)) == wanted


@every_schedule
@given(networks, seeds)
def test_equal_draws_have_equal_digests(schedule: Schedule, network: Network, seed: int) -> None:
    assert draw(schedule, network, seed).digest() == draw(schedule, network, seed).digest()


@every_random_schedule
@given(st.integers(3, 9), seeds)
def test_other_seeds_give_other_digests(schedule: Schedule, n_agents: int, seed: int) -> None:
    # 200 slots with two choices or more agree by chance with probability 2⁻²⁰⁰.
    one, other = (draw(schedule, path(n_agents), s, 200) for s in (seed, seed + 1))
    assert one.digest() != other.digest()


@every_random_schedule
def test_every_choice_is_as_likely_as_another(schedule: Schedule) -> None:
    table = draw(schedule, path(5), 0, 1000)
    choices = [tuple(table.meetings(slot)) for slot in range(1000)]
    counts = np.array([choices.count(choice) for choice in set(choices)])
    share = 1000 / len(counts)
    # Each count is binomial with a deviation of less than the root of its mean; five of them.
    assert np.abs(counts - share).max() < 5 * np.sqrt(share)


@every_schedule
def test_no_slots_are_an_empty_timetable(schedule: Schedule) -> None:
    assert draw(schedule, path(3), 0, 0).n_slots == 0


@every_schedule
def test_the_slots_of_a_lone_agent_are_empty(schedule: Schedule) -> None:
    table = draw(schedule, path(1), 0)
    assert table.n_slots == N_SLOTS and len(table.senders) == 0


@every_schedule
@pytest.mark.parametrize(
    ("n_slots", "message"),
    [
        (-1, "n_slots is -1; choose a number of at least 0"),
        (True, "n_slots must be an integer, not True; pass an int"),
        (10.0, "n_slots must be an integer, not 10.0; pass an int"),
    ],
)
def test_a_bad_number_of_slots_is_refused(schedule: Schedule, n_slots: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        draw(schedule, path(3), 0, n_slots)


def test_one_link_meets_at_each_slot_of_one_edge() -> None:
    table = draw(OneEdge(), complete(5), 0)
    assert {len(table.meetings(slot)) for slot in range(N_SLOTS)} == {1}


def test_who_meets_whom_at_slot_731_is_decided_by_the_draw() -> None:
    picks = stream(5, "timetable").integers(len(ring(6).edges), size=1000)
    table = draw(OneEdge(), ring(6), 5, 1000)
    assert table.meetings(731) == [ring(6).edges[picks[731]]]


@given(networks, seeds)
def test_no_agent_meets_two_others_in_a_slot_of_matchings(network: Network, seed: int) -> None:
    table = draw(Matchings(), network, seed)
    for slot in range(N_SLOTS):
        agents = [agent for meeting in table.meetings(slot) for agent in meeting]
        assert len(agents) == len(set(agents))


def test_a_slot_of_matchings_is_a_whole_colour() -> None:
    table = draw(Matchings(), complete(5), 0)
    met = {tuple(table.meetings(slot)) for slot in range(N_SLOTS)}
    assert met == {tuple(colour) for colour in edge_colouring(complete(5))}


def test_all_links_meet_at_each_slot_of_all_edges() -> None:
    table = draw(AllEdges(), ring(5), 0)
    assert all(table.meetings(slot) == list(ring(5).edges) for slot in range(N_SLOTS))


def test_all_edges_draws_nothing() -> None:
    rng = stream(0, "timetable")
    AllEdges().draw(ring(5), N_SLOTS, rng)
    assert rng.random() == stream(0, "timetable").random()


@given(networks)
def test_every_link_has_exactly_one_colour(network: Network) -> None:
    coloured = [edge for colour in edge_colouring(network) for edge in colour]
    assert sorted(coloured) == list(network.edges)


@given(networks)
def test_colours_are_between_the_largest_degree_and_less_than_its_double(network: Network) -> None:
    largest = max(network.degree(agent) for agent in range(network.n_agents))
    assert largest <= len(edge_colouring(network)) <= max(0, 2 * largest - 1)


@pytest.mark.parametrize("n_agents", [3, 4, 7, 50])
def test_a_path_is_red_and_black(n_agents: int) -> None:
    edges = list(path(n_agents).edges)
    assert edge_colouring(path(n_agents)) == [edges[0::2], edges[1::2]]
