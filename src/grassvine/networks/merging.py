"""One timetable from the meetings that each agent has recorded for itself."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.errors import NetworkError
from grassvine.networks.timetable import Edge, Timetable

Record = Sequence[tuple[int, int]]  # neighbour, and how many meetings it had had before


def merge_meetings(records: Sequence[ArrayLike]) -> Timetable:
    """Return a timetable with the meetings that all agents have recorded, one per slot.

    Row k of an agent's record is its k-th meeting: the neighbour, and which meeting of the
    neighbour it was, both counted from 0. Every agent has its meetings in the order of its record.
    Meetings without a common agent may have taken place in any order, which changes no result.

    Raises :class:`NetworkError` if the records do not fit together.

    Examples
    --------
    >>> from grassvine.networks import merge_meetings
    >>> of_agent_0 = [(1, 0)]  # its first meeting: with agent 1, for which it was meeting 0
    >>> of_agent_1 = [(0, 0), (2, 0)]
    >>> of_agent_2 = [(1, 1)]
    >>> timetable = merge_meetings([of_agent_0, of_agent_1, of_agent_2])
    >>> [timetable.meetings(slot) for slot in range(timetable.n_slots)]
    [[(0, 1)], [(1, 2)]]
    """
    rows = [_as_record(record, agent, len(records)) for agent, record in enumerate(records)]
    done = [0] * len(rows)  # meetings of each agent
    slots: list[list[Edge]] = []
    ready = list(range(len(rows) - 1, -1, -1))  # agents whose next meeting is to be looked at
    while ready:
        agent = ready.pop()
        if done[agent] == len(rows[agent]):
            continue
        other, count = rows[agent][done[agent]]
        if count >= len(rows[other]) or rows[other][count] != (agent, done[agent]):
            raise NetworkError(
                f"agent {agent} has met agent {other} at its meeting {done[agent]}, but the record "
                f"of agent {other} does not have that as its meeting {count}; pass the records of "
                "all agents of one run."
            )
        if done[other] == count:
            slots.append([(min(agent, other), max(agent, other))])
            done[agent], done[other] = done[agent] + 1, count + 1
            ready += [other, agent]
    if waiting := [agent for agent, row in enumerate(rows) if done[agent] < len(row)]:
        raise NetworkError(
            f"the next meetings of agents {', '.join(map(str, waiting))} wait for each other in a "
            "circle, which no run can have; pass the records of all agents of one run."
        )
    return Timetable.from_meetings(len(rows), slots)


def _as_record(given: ArrayLike, agent: int, n_agents: int) -> list[tuple[int, int]]:
    rows = np.asarray(given)
    if not rows.size:
        return []
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise NetworkError(
            f"the record of agent {agent} is not a table of whole numbers with two columns; pass "
            "neighbours and the numbers of their meetings."
        )
    found = [(int(other), int(count)) for other, count in rows]
    for other, count in found:
        if not 0 <= other < n_agents or other == agent or count < 0:
            raise NetworkError(
                f"the record of agent {agent} has a meeting with agent {other} as its meeting "
                f"{count}; agents are numbered from 0 to {n_agents - 1}."
            )
    for other in {other for other, _ in found}:
        counts = [count for one, count in found if one == other]
        if any(after <= before for before, after in pairwise(counts)):
            raise NetworkError(
                f"the record of agent {agent} has its meetings with agent {other} out of order; "
                "pass it as it was saved."
            )
    return found
