from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import NetworkError
from grassvine.networks import Timetable

N_AGENTS = 20
deliveries = st.tuples(st.integers(0, N_AGENTS - 1), st.integers(0, N_AGENTS - 1)).filter(
    lambda pair: pair[0] != pair[1]
)
Slots = list[list[tuple[int, int]]]
tables = st.lists(st.lists(deliveries, unique=True, max_size=5), max_size=6)

SLOTS = [[(0, 1), (2, 3)], [], [(1, 2)]]


def meetings_731() -> Timetable:
    return Timetable.from_meetings(
        3, [[(0, 1)] if slot != 731 else [(1, 2)] for slot in range(800)]
    )


@given(tables)
def test_the_deliveries_of_a_slot_are_those_given(slots: Slots) -> None:
    table = Timetable.from_deliveries(N_AGENTS, slots)
    assert table.n_slots == len(slots)
    for slot, given_pairs in enumerate(slots):
        assert table.deliveries(slot) == sorted(given_pairs, key=lambda pair: pair[::-1])


@given(tables)
def test_all_views_of_a_slot_report_the_same(slots: Slots) -> None:
    table = Timetable.from_deliveries(N_AGENTS, slots)
    for slot, pairs in enumerate(slots):
        assert table.meetings(slot) == sorted({(min(pair), max(pair)) for pair in pairs})
        delivered = [(s, receiver) for receiver, senders in table.inboxes(slot) for s in senders]
        assert delivered == table.deliveries(slot)


@given(tables)
def test_the_meetings_of_all_agents_are_all_deliveries(slots: Slots) -> None:
    table = Timetable.from_deliveries(N_AGENTS, slots)
    heard = {
        (slot, sender, agent)
        for agent in range(N_AGENTS)
        for slot, senders in table.meetings_of(agent)
        for sender in senders
    }
    assert heard == {(slot, *pair) for slot, pairs in enumerate(slots) for pair in pairs}


def test_a_meeting_is_two_deliveries() -> None:
    assert Timetable.from_meetings(4, SLOTS).deliveries(0) == [(1, 0), (0, 1), (3, 2), (2, 3)]


def test_a_delivery_may_go_one_way_only() -> None:
    table = Timetable.from_deliveries(3, [[(2, 0)]])
    assert table.inboxes(0) == [(0, (2,))] and table.meetings(0) == [(0, 2)]
    assert list(table.meetings_of(2)) == []


def test_an_inbox_may_hold_several_senders() -> None:
    table = Timetable.from_deliveries(4, [[(3, 1), (0, 1), (1, 2)]])
    assert table.inboxes(0) == [(1, (0, 3)), (2, (1,))]


def test_who_meets_whom_at_slot_731_is_answered() -> None:
    assert meetings_731().meetings(731) == [(1, 2)]
    assert list(meetings_731().meetings_of(2)) == [(731, (1,))]


@pytest.mark.parametrize("view", ["deliveries", "inboxes", "meetings"])
@pytest.mark.parametrize("slot", [-1, 3, 731])
def test_a_slot_outside_the_timetable_is_refused(view: str, slot: int) -> None:
    table: Any = Timetable.from_meetings(4, SLOTS)
    with pytest.raises(IndexError, match=f"slot {slot} is out of range for a timetable of 3 slots"):
        getattr(table, view)(slot)


def test_the_order_within_a_slot_does_not_change_the_digest() -> None:
    turned = [slot[::-1] for slot in SLOTS]
    assert Timetable.from_meetings(4, turned).digest() == Timetable.from_meetings(4, SLOTS).digest()


@pytest.mark.parametrize(
    ("n_agents", "slots"),
    [
        (5, SLOTS),
        (4, [*SLOTS, []]),
        (4, SLOTS[::-1]),
        (4, [[], *SLOTS[::2]]),
        (4, [[(0, 1)], [(2, 3)], [(1, 2)]]),
        (4, [[(0, 1), (2, 3)], [], [(1, 3)]]),
    ],
)
def test_any_other_timetable_has_another_digest(n_agents: int, slots: Slots) -> None:
    other = Timetable.from_meetings(n_agents, slots)
    assert other.digest() != Timetable.from_meetings(4, SLOTS).digest()


def test_a_digest_stays_what_it_was() -> None:
    # Recorded once: peers of different versions and machines compare digests.
    digest = Timetable.from_meetings(4, SLOTS).digest()
    assert digest == "94ca3c76bba6549de4be3a18f6abee2a1092613d3307775438110fa70b2bff5d"


def test_a_delivery_names_agents_that_are_there() -> None:
    for pair, named in (((5, 0), 5), ((0, -1), -1)):
        with pytest.raises(
            NetworkError, match=f"a delivery names agent {named}; agents are numbered from 0 to 1"
        ):
            Timetable.from_deliveries(2, [[pair]])


def test_a_delivery_happens_once_a_slot() -> None:
    with pytest.raises(NetworkError, match="a slot repeats a delivery; list each sender"):
        Timetable.from_deliveries(2, [[(0, 1), (0, 1)]])


@given(tables.filter(bool), st.data())
def test_rearranged_slots_are_those_requested(slots: Slots, data: st.DataObject) -> None:
    table = Timetable.from_deliveries(N_AGENTS, slots)
    order = data.draw(st.lists(st.integers(0, len(slots) - 1), max_size=9))
    again = table.rearranged(np.array(order, dtype=np.int64))
    assert [again.deliveries(k) for k in range(again.n_slots)] == [
        table.deliveries(slot) for slot in order
    ]
