"""Events of runs: what is written is what is read, bounded, at any moment, by any engine."""

import itertools
import math
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.protocol import StepReport
from grassvine.protocol.observers import RunStart, TimetableShare, tell_incident
from grassvine.runs.progress import (
    FILE,
    Begin,
    End,
    Event,
    Incident,
    Members,
    Point,
    ProgressLog,
    ProgressReader,
    ProgressWriter,
)
from grassvine.runs.progress.events import decode, encode
from grassvine.runs.progress.log import MAX_BYTES
from grassvine.runs.progress.state import MAX_INCIDENTS, MAX_POINTS
from grassvine.sums import BiasedFactorization

BEGIN = Begin(
    run="ab",
    time=5.0,
    started=5.0,
    pid=os.getpid(),
    host=platform.node(),
    method="Exact",
    n_agents=3,
    n_slots=9,
    one_cost=True,
    names=("a", "b", "<c>"),
    links=((0, 1), (1, 2)),
)
EVENTS: list[Event] = [
    BEGIN,
    Point(6.0, 1, cost=2.5, bytes=10),
    Members(6.0, 1, "wif", ((1, 0),), (1, 2, 3), (1.0, 2.0, math.nan), (5, 6)),
    Incident(6.5, 1, "agent 1 was lost"),
    End(7.0, "finished", "converged", {"rmse": 0.5, "incidents": []}),
]


def problems(count: int) -> list[gv.CompletionProblem]:
    return [
        gv.CompletionProblem(p, unobserved=0.1) for p in gv.datasets.split_users(ratings(), count)
    ]


def gossip(n_agents: int = 4, max_iter: int = 10) -> gv.Plan:
    return gv.Plan(N_ITEMS, 3, gv.networks.ring(n_agents), gv.Gossip(max_iter=max_iter))


def read(folder: Path) -> ProgressReader:
    reader = ProgressReader(folder / FILE)
    reader.poll()
    return reader


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    assert repr(decode(encode(event))) == repr(event)  # NaN is not equal to itself


@pytest.mark.parametrize("event", EVENTS)
def test_an_altered_event_is_a_value_error(event: Event) -> None:
    line = encode(event)
    for wrong in (
        b"[]",
        b"{}",
        b"\xff",
        line[: len(line) // 2],
        line.replace(b'"time"', b'"tine"'),
    ):
        with pytest.raises(ValueError, match=r"\w+"):
            decode(wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"n_agents": 0},
        {"names": ("a",)},
        {"links": ((1, 0),)},
        {"links": ((0, 3),)},
        {"own": 3},
        {"method": "x" * 501},
    ],
)
def test_a_beginning_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        decode(encode(replace(BEGIN, **change)))


def test_a_run_tells_its_numbers_while_it_goes_on_and_after(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(report: StepReport) -> None:
        if report.slot == 8 and not seen:
            seen.append(read(tmp_path).progress.state())

    writer = ProgressWriter(tmp_path)
    result = gv.run(gossip(), problems(4), observers=[writer, look])
    progress = read(tmp_path).progress
    assert seen == ["running"]
    assert progress.state() == "finished"
    assert progress.begin is not None and progress.members is not None
    assert progress.begin.links == gv.networks.ring(4).edges
    last = progress.points[-1]
    assert (last.bytes, last.messages) == (result.bytes, result.messages)
    assert last.cost == result.history.final()["cost"].sum()
    assert last.share == 1.0
    assert progress.members.states == "ffff"
    assert sum(progress.members.link_bytes) == result.bytes
    distances = [result.history.of_agent(k)["distance"][-2] for k in range(4)]
    assert last.largest == math.degrees(max(distances))


def test_sums_tell_one_cost_and_the_bytes_of_the_links_of_their_tree(tmp_path: Path) -> None:
    plan = gv.Plan(N_ITEMS, 2, gv.networks.star(5), BiasedFactorization(regularization="auto"))
    parts = gv.datasets.split_users(ratings(), 5)
    result = gv.run(
        plan,
        [gv.BiasedCompletionProblem(part) for part in parts],
        observers=[ProgressWriter(tmp_path)],
    )
    progress = read(tmp_path).progress
    assert progress.begin is not None and progress.begin.one_cost
    assert progress.members is not None
    assert sum(progress.members.link_bytes) == result.bytes
    path = result.validation_path
    assert path is not None
    told = {point.held_out for point in progress.points if not math.isnan(point.held_out)}
    assert told <= set(path["rmse"].tolist()) and path["rmse"][-1] in told


def test_writing_does_not_change_a_run(tmp_path: Path) -> None:
    plain = gv.run(gossip(), problems(4))
    told = gv.run(gossip(), problems(4), observers=[ProgressWriter(tmp_path)])
    assert plain.history.to_bytes() == told.history.to_bytes()


def test_waiting_agents_wait_for_the_partner_of_their_next_meeting(tmp_path: Path) -> None:
    plan = gossip(6)
    pairs: list[tuple[int, int]] = []

    def look(report: StepReport) -> None:
        if report.slot == 3 and not pairs:
            pairs.extend(writer.log.progress.members.waits)  # type: ignore[union-attr]

    now = itertools.count(0.0, 1e6)  # all intervals have passed at any call
    writer = ProgressWriter(tmp_path, clock=lambda: next(now))
    gv.run(plan, problems(6), observers=[writer, look])
    for agent, partner in pairs:
        later = [slot for slot in plan.timetable.meetings_of(agent) if slot[0] > 2]
        assert later[0][1][0] == partner
    assert pairs


def start_of(n_agents: int, n_slots: int) -> RunStart:
    slots = [[(k % n_agents, (k + 1) % n_agents)] for k in range(n_slots)]
    table = gv.networks.Timetable.from_deliveries(n_agents, slots)
    return RunStart(gv.networks.ring(n_agents), table, "Gossip", one_cost=False)


def report(slot: int, agent: int, n_agents: int) -> StepReport:
    return StepReport(
        agent, slot, slot // n_agents, 1.0, 1.0, 1.0, (agent - 1) % n_agents, 0.1, 0.1, 1, 8
    )


def test_a_long_run_keeps_the_file_and_the_curves_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock is not that by which the cost of a point is measured, so costs must not count.
    monkeypatch.setattr("grassvine.runs.progress.writer.MOST_OF_TIME", math.inf)
    n_agents, n_slots = 50, 20_000
    now = itertools.count(0.0, 0.01)
    writer = ProgressWriter(tmp_path, clock=lambda: next(now))
    writer.begin(start_of(n_agents, n_slots))
    for slot in range(n_slots):
        writer(report(slot, (slot + 1) % n_agents, n_agents))
        if slot % 50 == 0:
            writer.incident("the same again")
        if slot % 1999 == 0:
            assert len(read(tmp_path).progress.points) <= MAX_POINTS
    writer.end("finished", "the timetable ended")
    progress = read(tmp_path).progress
    assert (tmp_path / FILE).stat().st_size <= MAX_BYTES
    assert MAX_POINTS // 4 < len(progress.points) <= MAX_POINTS
    slots = [point.slot for point in progress.points]
    assert slots == sorted(slots) and slots[0] <= 1 and slots[-1] == n_slots
    assert len(progress.incidents) <= MAX_INCIDENTS
    gaps = np.diff([point.time for point in progress.points[1:-1]])
    assert gaps.max() <= 4 * np.median(gaps)  # thinned evenly: no part of the run is lost


def test_more_agents_than_can_be_shown_are_told_together(tmp_path: Path) -> None:
    writer = ProgressWriter(tmp_path)
    writer.begin(start_of(1001, 3))
    writer(report(0, 1, 1001))
    writer.end("finished", "")
    progress = read(tmp_path).progress
    assert progress.begin is not None and progress.begin.links == ()
    assert progress.members is not None
    assert progress.members == Members(progress.members.time, 1)


def test_a_reader_follows_a_file_that_comes_grows_and_is_replaced(tmp_path: Path) -> None:
    reader = ProgressReader(tmp_path / FILE)
    assert not reader.poll() and reader.progress.state() == "waiting"
    log = ProgressLog(tmp_path)
    log.add(BEGIN)
    log.flush()
    assert reader.poll() and not reader.poll()
    with (tmp_path / FILE).open("ab") as file:
        whole = encode(Point(6.0, 1))
        file.write(whole[:20])
        file.flush()
        reader.poll()
        assert not reader.progress.points  # half a line, as after a kill
        file.write(whole[20:] + b"garbage\n")
    assert reader.poll()
    assert len(reader.progress.points) == reader.n_unreadable == 1
    again = ProgressLog(tmp_path)
    again.add(replace(BEGIN, run="cd"))
    again.flush()
    assert reader.poll()
    assert reader.progress.begin is not None and reader.progress.begin.run == "cd"
    assert not reader.progress.points and not reader.n_unreadable


def test_a_killed_writer_is_noticed(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    log.add(replace(BEGIN, pid=child.pid))
    log.flush()
    assert read(tmp_path).progress.state() == "killed"


def test_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(encode(BEGIN))
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    assert not ProgressReader(tmp_path / FILE).poll()
    (tmp_path / FILE).unlink()
    os.mkfifo(tmp_path / FILE)
    assert not ProgressReader(tmp_path / FILE).poll()


def test_a_folder_that_cannot_be_written_does_not_end_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    result = gv.run(gossip(), problems(4), observers=[ProgressWriter(tmp_path / "file" / "run")])
    assert result.stop_reason == "the timetable ended"
    assert "no longer written" in caplog.text


def test_a_failed_or_stopped_run_says_so(tmp_path: Path) -> None:
    def fail(report: StepReport) -> None:
        raise RuntimeError("no more")

    def stop(report: StepReport) -> None:
        raise KeyboardInterrupt

    for observer, state in ((fail, "failed"), (stop, "stopped")):
        with pytest.raises((RuntimeError, KeyboardInterrupt)):
            gv.run(gossip(), problems(4), observers=[ProgressWriter(tmp_path), observer])
        assert read(tmp_path).progress.state() == state


def test_incidents_reach_a_writer_through_other_observers(tmp_path: Path) -> None:
    writer = ProgressWriter(tmp_path)
    writer.begin(start_of(3, 3))
    tell_incident(TimetableShare(3, writer), "agent 1 was lost")
    (incident,) = read(tmp_path).progress.incidents
    assert incident.text == "agent 1 was lost"


def test_the_runs_of_one_fit_are_one_curve(tmp_path: Path) -> None:
    writer = ProgressWriter(tmp_path)
    results = [gv.run(gossip(4, n), problems(4), observers=[writer]) for n in (5, 10)]
    progress = read(tmp_path).progress
    assert progress.points[-1].bytes == sum(result.bytes for result in results)
    updates = [point.update for point in progress.points]
    assert updates == sorted(updates)
