"""The progress of a member in its private folder."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.peers.houses import cards, learning

from grassvine.engines.peers.transport.links import Traffic
from grassvine.peers.joining.parts import Part
from grassvine.peers.joining.progress import MemberProgress
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.status import Status
from grassvine.protocol.report import StepReport
from grassvine.runs.progress import FILE, Progress, ProgressReader

PART = Part(1, 1, 0, 20)
REPORT = StepReport(agent=1, slot=4, update=2, cost=3.0, mse=0.25, gradient_norm=1.0, neighbour=0)
STATUS = Status(
    "clinic-b",
    "ab" * 32,
    os.getpid(),
    1.5e9,
    5,
    20,
    "waiting",
    ("clinic-a",),
    ("clinic-c",),
    bytes_sent=30,
    bytes_received=12,
)
TRAFFIC = {0: Traffic(1, 10, 1, 12), 2: Traffic(2, 20, 0, 0)}


@pytest.fixture(scope="module")
def plan() -> GroupPlan:
    """A ring of four: clinic-b has links to clinic-a and clinic-c."""
    return GroupPlan.draft(cards(), learning("ratings"), network="ring", secrecy="none")


def read(folder: Path) -> Progress:
    reader = ProgressReader(folder / FILE)
    reader.poll()
    return reader.progress


def test_the_own_view_has_names_links_and_what_is_waited_for(
    tmp_path: Path, plan: GroupPlan
) -> None:
    progress = MemberProgress(tmp_path, plan, 1, PART)
    progress.report(REPORT, TRAFFIC)
    progress.write(STATUS, TRAFFIC)
    found = read(tmp_path)
    assert found.begin is not None and found.members is not None
    assert found.begin.names == ("clinic-a", "clinic-b", "clinic-c", "clinic-d")
    assert found.begin.links == plan.network.edges and found.begin.own == 1
    assert found.members.states == "wiau" and found.members.waits == ((1, 2),)
    by_link = dict(zip(found.begin.links, found.members.link_bytes, strict=True))
    assert by_link == {(0, 1): 22, (1, 2): 20, (0, 3): 0, (2, 3): 0}
    last = found.points[-1]
    assert (last.slot, last.bytes, last.cost) == (5, 42, 3.0)
    assert last.share == 5 / 20 and found.state() == "running"


def test_another_process_goes_on_with_the_same_curves(tmp_path: Path, plan: GroupPlan) -> None:
    before = MemberProgress(tmp_path, plan, 1, PART)
    before.write(STATUS, TRAFFIC)
    text = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(text.replace(f'"pid":{os.getpid()}', '"pid":1'))
    started = read(tmp_path).begin
    MemberProgress(tmp_path, plan, 1, PART).write(STATUS, TRAFFIC)
    found = read(tmp_path)
    (incident,) = found.incidents
    assert "started again" in incident.text
    assert [point.bytes for point in found.points] == [42, 84]
    assert found.members is not None and sum(found.members.link_bytes) == 84
    assert found.begin is not None and started is not None
    assert found.begin.started == started.started


def test_the_next_part_in_one_process_is_no_incident(tmp_path: Path, plan: GroupPlan) -> None:
    for number in (1, 2):
        part = Part(number, 2, 20 * (number - 1), 40)
        MemberProgress(tmp_path, plan, 1, part).write(STATUS, TRAFFIC)
    assert not read(tmp_path).incidents


@pytest.mark.parametrize("state", ["finished", "stopped"])
def test_the_end_is_told_with_the_held_out_error(
    tmp_path: Path, plan: GroupPlan, state: str
) -> None:
    progress = MemberProgress(tmp_path, plan, 1, PART)
    progress.write(replace(STATUS, state=state, held_out_error=0.5, reason="why"), TRAFFIC)
    found = read(tmp_path)
    assert found.end is not None and (found.end.state, found.end.reason) == (state, "why")
    assert found.points[-1].held_out == 0.5
