"""The records of all agents give one timetable, or a reason why they cannot."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import NetworkError
from grassvine.networks import Timetable, merge_meetings

Record = list[tuple[int, int]]


def records_of(n_agents: int, meetings: Sequence[tuple[int, int]]) -> list[Record]:
    """Return what each agent would record of meetings that take place in this order."""
    records: list[Record] = [[] for _ in range(n_agents)]
    for one, other in meetings:
        counts = len(records[one]), len(records[other])
        records[one].append((other, counts[1]))
        records[other].append((one, counts[0]))
    return records


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(pairs, max_size=40))
def test_every_agent_has_its_meetings_in_order(meetings: list[tuple[int, int]]) -> None:
    records = records_of(5, meetings)
    merged = merge_meetings([np.array(one, dtype=np.int64).reshape(-1, 2) for one in records])
    found = [merged.meetings(slot) for slot in range(merged.n_slots)]
    assert all(len(slot) == 1 for slot in found)
    assert records_of(5, [slot[0] for slot in found]) == records
    assert merged.digest() == merge_meetings(records).digest()


def test_agents_that_met_nobody_are_in_the_timetable() -> None:
    assert merge_meetings([[], []]).digest() == Timetable.from_meetings(2, []).digest()


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([[(1, 0)], []], "does not have that as its meeting 0"),
        ([[(1, 0)], [(0, 1)]], "does not have that"),
        ([[(1, 0)], [(2, 0)], [(1, 0)]], "does not have that"),
        ([[(1, 1), (2, 0)], [(2, 1), (0, 0)], [(0, 1), (1, 0)]], "wait for each other"),
        ([[(1, 1), (1, 0)], [(0, 1), (0, 0)]], "out of order"),
        ([[(2, 0)], []], "numbered from 0 to 1"),
        ([[(0, 0)]], "numbered from 0 to 0"),
        ([[(1, -1)], [(0, 0)]], "as its meeting -1"),
        ([[(1.5, 0)], []], "whole numbers"),
        ([[1, 2, 3]], "two columns"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(records: list[Record], says: str) -> None:
    with pytest.raises(NetworkError, match=says):
        merge_meetings(records)
