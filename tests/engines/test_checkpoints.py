"""Checkpoints as files: what is written is read, what is spoilt is refused, zombies do no harm."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

import grassvine as gv
from grassvine.engines.checkpoints import (
    START,
    AgentFiles,
    Checkpoint,
    Checkpoints,
    LogRecord,
    _write,
)
from grassvine.foundations.errors import CheckpointError, OutputError
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable
from grassvine.protocol import StepReport

N_AGENTS = 3


def timetable(n_slots: int = 20) -> Timetable:
    return gv.Gossip(max_iter=n_slots).timetable(gv.networks.path(N_AGENTS), stream(0, "timetable"))


def opened(folder: Path, *, resume: bool = True) -> Checkpoints:
    return Checkpoints.open(folder, timetable(), resume=resume)


def page(agent: int, slot: int, *, finished: str = "") -> LogRecord:
    rng = stream(0, "data", "page", agent, slot)
    log_entry = {"total 0": rng.standard_normal((4, 2)), "total 1": rng.standard_normal(())}
    report = StepReport(agent, slot, slot, rng.standard_normal(), math.nan, 0.1, finished=finished)
    return LogRecord(slot, log_entry if slot % 2 == 0 else {}, report)


def snapshot(agent: int, slot: int) -> dict[str, np.ndarray]:
    return {"basis": np.full((2, 3), 10.0 * agent + slot), "updates": np.array([slot])}


def keep(checkpoints: Checkpoints, epoch: int, slot: int, before: Checkpoint) -> Checkpoint:
    """Write a checkpoint of all agents, as hosts and driver do together."""
    for agent in range(N_AGENTS):
        pages = [page(agent, number) for number in range(before.slot, slot)]
        files = AgentFiles(checkpoints.folder, agent)
        files.write((epoch, slot), pages, snapshot(agent, slot), origin=1.5)
    return checkpoints.complete(epoch, slot, before)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_what_was_written_is_read_in_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int]
) -> None:
    checkpoints, mark = opened(tmp_path_factory.mktemp("checkpoints")), START
    for step in steps:
        mark = keep(checkpoints, checkpoints.new_epoch(), mark.slot + step, mark)
    assert opened(checkpoints.folder).newest() == mark
    for agent in range(N_AGENTS):
        files = AgentFiles(checkpoints.folder, agent)
        wanted = [page(agent, slot).log_entry for slot in range(0, mark.slot, 2)]
        found = list(files.log_entries(mark))
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert {k: v.tobytes() for k, v in one.items()} == {
                k: v.tobytes() for k, v in other.items()
            }
            assert [v.shape for v in one.values()] == [v.shape for v in other.values()]
        assert np.array_equal(files.snapshot(mark)["basis"], snapshot(agent, mark.slot)["basis"])
        assert files.origin(mark) == 1.5
    reports = checkpoints.reports(mark)
    assert [(r.slot, r.agent) for r in reports] == [
        (slot, agent) for slot in range(mark.slot) for agent in range(N_AGENTS)
    ]
    for report in reports:
        same = page(report.agent, report.slot).report._asdict()
        assert repr(report._asdict()) == repr(same)  # the bits of floats, NaN too


def test_a_checkpoint_is_none_until_it_is_complete(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    epoch = checkpoints.new_epoch()
    mark = keep(checkpoints, epoch, 4, START)
    AgentFiles(tmp_path, 0).write((epoch, 8), [page(0, 4)], snapshot(0, 8), origin=1.5)
    assert checkpoints.newest() == mark


def test_a_zombie_writes_into_its_own_epoch_and_is_not_heard(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    old = checkpoints.new_epoch()
    mark = keep(checkpoints, old, 4, START)
    new = checkpoints.new_epoch()
    # The old actors keep writing, and an old driver would declare a later slot complete.
    with pytest.raises(
        CheckpointError, match=r"another driver has resumed .* \(epoch 2 follows 1\)"
    ):
        keep(checkpoints, old, 10, mark)
    assert checkpoints.newest() == mark
    fresh = keep(checkpoints, new, 6, mark)
    assert checkpoints.newest() == fresh
    assert fresh.segments == ((old, 4), (new, 6))


def test_an_epoch_without_a_checkpoint_leaves_the_one_before(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    mark = keep(checkpoints, checkpoints.new_epoch(), 4, START)
    checkpoints.new_epoch()
    assert checkpoints.newest() == mark


def test_every_epoch_is_new_even_for_two_drivers(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    assert [one.new_epoch(), other.new_epoch(), one.new_epoch()] == [1, 2, 3]


def test_two_generations_of_memories_stay(tmp_path: Path) -> None:
    checkpoints, mark = opened(tmp_path), START
    epoch = checkpoints.new_epoch()
    for slot in (2, 4, 6, 8):
        mark = keep(checkpoints, epoch, slot, mark)
    kept = sorted(path.name for path in (tmp_path / "epoch-000001").glob("agent-000.*.snapshot"))
    assert kept == ["agent-000.000000006.snapshot", "agent-000.000000008.snapshot"]
    (tmp_path / "epoch-000001" / "000000008.json").unlink()
    before = checkpoints.newest()
    assert before.slot == 6
    assert np.array_equal(AgentFiles(tmp_path, 0).snapshot(before)["updates"], [6])


def test_a_folder_with_checkpoints_is_not_begun_anew(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path, resume=False)
    keep(checkpoints, checkpoints.new_epoch(), 4, START)
    with pytest.raises(CheckpointError, match=r"up to slot 4; resume that run .* choose another"):
        opened(tmp_path, resume=False)


def test_the_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    keep(checkpoints, checkpoints.new_epoch(), 4, START)
    with pytest.raises(CheckpointError, match="another run with different agents or a different t"):
        Checkpoints.open(tmp_path, timetable(13), resume=True)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"format": "grassvine checkpoint 2"}', "null", "[" * 100_000),
        *('{"slot": 1e999}', '{"slot": "\\ud800"}', "9" * 5000),
    ],
)
def test_a_spoilt_declaration_is_refused(tmp_path: Path, text: str) -> None:
    checkpoints = opened(tmp_path)
    keep(checkpoints, checkpoints.new_epoch(), 4, START)
    (tmp_path / "epoch-000001" / "000000004.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"cannot use .*000000004\.json .* remove it to res"):
        checkpoints.newest()


@pytest.mark.parametrize(
    "segments",
    [
        None,
        [],
        [[1, 4], [1, 4]],
        [[1.0, 4]],
        [["1", 4]],
        [[0, 4]],
        [[1, 4, 4]],
        [[1, True], [1, 4]],
    ],
)
def test_segments_that_no_run_writes_are_refused(tmp_path: Path, segments: object) -> None:
    checkpoints = opened(tmp_path)
    keep(checkpoints, checkpoints.new_epoch(), 4, START)
    path = tmp_path / "epoch-000001" / "000000004.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"segments": segments}))
    with pytest.raises(CheckpointError, match=r"cannot use .*000000004\.json .* remove it to res"):
        checkpoints.newest()


def test_a_checkpoint_after_the_last_slot_is_refused(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    keep(checkpoints, checkpoints.new_epoch(), 21, START)
    with pytest.raises(CheckpointError, match="another run"):
        checkpoints.newest()


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {"agent": 2},
            {"slot": 4},
            {"slot": -1},
            {"slot": 2**63},
            {"update": "0"},
            {"cost": None},
        ),
        *({"messages": True}, {"finished": 1}, {"more": 1}),
    ],
)
def test_a_report_that_no_agent_writes_is_refused(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    """The digest fits: somebody wrote the file so."""
    checkpoints = opened(tmp_path)
    mark = keep(checkpoints, checkpoints.new_epoch(), 4, START)
    path = tmp_path / "epoch-000001" / "agent-001.000000004.log"
    arrays = dict(load_file(path))
    reports = json.loads(arrays["reports"].tobytes())
    reports[1] |= changes
    arrays["reports"] = np.frombuffer(json.dumps(reports).encode(), dtype=np.uint8)
    _write(path, arrays)
    with pytest.raises(CheckpointError, match=r"agent-001\.000000004\.log is truncated, modified"):
        checkpoints.reports(mark)


@pytest.mark.parametrize("kind", ["log", "snapshot"])
def test_a_spoilt_file_is_refused(tmp_path: Path, kind: str) -> None:
    checkpoints = opened(tmp_path)
    mark = keep(checkpoints, checkpoints.new_epoch(), 4, START)
    path = tmp_path / "epoch-000001" / f"agent-001.000000004.{kind}"
    files, whole = AgentFiles(tmp_path, 1), path.read_bytes()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    for spoilt in (whole[:-1], bytes(flipped), b"", b"x" * 100):
        path.write_bytes(spoilt)
        with pytest.raises(CheckpointError, match=f"{kind} is truncated, modified or missing"):
            list(files.log_entries(mark)) if kind == "log" else files.snapshot(mark)
    path.unlink()
    with pytest.raises(CheckpointError, match="missing"):
        list(files.log_entries(mark)) if kind == "log" else files.snapshot(mark)


def test_a_host_without_the_folder_reports_what_it_needs(tmp_path: Path) -> None:
    files = AgentFiles(tmp_path / "elsewhere", 0)
    with pytest.raises(OutputError, match="Every node must see the checkpoint folder at the same"):
        files.write((1, 4), [], {}, origin=0.0)


def test_a_flipped_bit_in_the_reports_is_found(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    mark = keep(checkpoints, checkpoints.new_epoch(), 4, START)
    path = tmp_path / "epoch-000001" / "agent-001.000000004.log"
    path.write_bytes(path.read_bytes().replace(b'"messages": 0', b'"messages": 1'))
    with pytest.raises(CheckpointError, match="the digest does not match"):
        checkpoints.reports(mark)
