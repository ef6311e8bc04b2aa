"""The record of the meetings that each member had without a timetable, and its replay."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.files import write_whole
from grassvine.networks import merge_meetings
from grassvine.peers.documents import read_text
from grassvine.peers.fit.methods import LearnByMeetings
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.runs import Plan

FILE = "meetings.csv"
HEADER = ["update", "neighbour", "neighbour_update"]
MAX_BYTES = 2**28


def save_meetings(folder: Path, plan: GroupPlan, meetings: NDArray[Any]) -> None:
    """Write the meetings of a member to a file of a folder, in order.

    Each row has the number of an update of the member, the neighbour that it met, and which update
    of the neighbour that was; updates are counted from 0.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for update, (neighbour, count) in enumerate(meetings.tolist()):
        writer.writerow([update, plan.members[neighbour].name, count])
    write_whole(folder / FILE, text.getvalue().encode())


def read_meetings(path: Path, plan: GroupPlan) -> NDArray[np.int64]:
    """Return the meetings of a member: the numbers of neighbours, and their updates."""
    rows = list(csv.reader(io.StringIO(read_text(path, MAX_BYTES, "a record of meetings"))))
    if not rows or rows[0] != HEADER:
        raise DataError(f"{path} does not begin with {','.join(HEADER)}; pass a {FILE}.")
    numbers = {member.name: number for number, member in enumerate(plan.members)}
    found = []
    for line, row in enumerate(rows[1:]):
        if len(row) != 3 or row[0] != str(line) or row[1] not in numbers or not row[2].isdecimal():
            raise DataError(
                f"{path}: line {line + 2} is not the update {line} with a member of the plan; pass "
                f"the {FILE} as it was written."
            )
        found.append((numbers[row[1]], int(row[2])))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def replay_plan(plan: GroupPlan, records: Mapping[str, Path]) -> Plan:
    """Return a plan that replays a run on any engine, to the same bits.

    ``records`` are the files ``meetings.csv`` of all members, by their names.
    """
    method, names = plan.run_plan.method, [member.name for member in plan.members]
    if not isinstance(method, LearnByMeetings):
        raise PlanError("the plan has a timetable, so there is nothing to replay; run it again.")
    if set(records) != set(names):
        raise PlanError(f"the records must be those of all members: {', '.join(names)}.")
    timetable = merge_meetings([read_meetings(records[name], plan) for name in names])
    return replace(plan.run_plan, method=replace(method, record=timetable))
