"""``grassvine runs show`` and the progress in run folders."""

import os
import platform
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from tests.cli.commands import Command

from grassvine.runs.progress import FILE, Begin, Point, ProgressLog


def begun(folder: Path, pid: int, run: str = "") -> Path:
    log = ProgressLog(folder)
    log.add(
        Begin(run or uuid.uuid4().hex, 5.0, 5.0, pid, platform.node(), "Exact", 2, 9, one_cost=True)
    )
    log.add(Point(6.0, 3, share=0.25, cost=4.0, bytes=80))
    log.flush()
    return folder


def dead() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_a_run_is_shown_after_its_end(grassvine: Command, ratings: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = grassvine("complete", ratings, "--rank", 1, "--agents", 2, "--run", run, "--json")
    shown = grassvine("runs", "show", run, "--json").object
    report = done.object
    assert shown["state"] == "finished" and shown["reason"] == report["stop_reason"]
    assert shown["bytes"] == report["bytes"] and shown["messages"] == report["messages"]
    assert shown["report"] == report
    text = grassvine("runs", "show", run).out
    assert "finished" in text and report["stop_reason"] in text
    assert grassvine("rerun", run, "--json").object["same"] is True


def test_a_killed_run_is_shown_and_its_folder_can_be_used_again(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    run = begun(tmp_path / "run", dead())
    (run / f".{FILE}.{uuid.uuid4().hex}.partial").write_bytes(b"half")
    shown = grassvine("runs", "show", run, "--json").object
    assert (shown["state"], shown["bytes"], shown["share"]) == ("killed", 80, 0.25)
    assert grassvine("complete", ratings, "--rank", 1, "--run", run).code == 0
    assert grassvine("runs", "show", run, "--json").object["state"] == "finished"


def test_a_folder_of_a_run_that_goes_on_is_refused(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    run = begun(tmp_path / "run", os.getppid())
    done = grassvine("complete", ratings, "--rank", 1, "--run", run, "--overwrite")
    assert done.code == 7 and f"a run goes on in {run} (process {os.getppid()})" in done.err


def test_a_failed_run_leaves_its_progress_and_what_was_there(
    grassvine: Command, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    assert grassvine("complete", ratings, "--rank", 1, "--run", run).code == 0
    before = (run / "run.json").read_bytes()

    def fail(*arguments: object, **options: object) -> None:
        raise ValueError("no more")

    monkeypatch.setattr("grassvine.engines.in_process.run_slots", fail)
    with pytest.raises(ValueError, match="no more"):
        grassvine("complete", ratings, "--rank", 1, "--run", run, "--overwrite")
    shown = grassvine("runs", "show", run, "--json").object
    assert (shown["state"], shown["reason"]) == ("failed", "no more")
    assert (run / "run.json").read_bytes() == before


def test_a_run_saved_without_progress_is_shown_from_its_history(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    options = ("--rank", 2, "--agents", 3, "--method", "gossip", "--max-iter", 20, "--run", run)
    report = grassvine("complete", ratings, *options, "--json").object
    with_events = grassvine("runs", "show", run, "--json").object
    (run / FILE).unlink()
    shown = grassvine("runs", "show", run, "--json").object
    assert shown["state"] == "finished" and shown["bytes"] == report["bytes"]
    same = ("messages", "slot", "agreement_degrees", "agents", "links", "update")
    assert {name: shown[name] for name in same} == {name: with_events[name] for name in same}


def test_a_members_private_folder_shows_its_newest_run(grassvine: Command, tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new")):
        folder = begun(tmp_path / "runs" / name, dead(), run=name)
        os.utime(folder / FILE, (number, number))
    assert grassvine("runs", "show", tmp_path, "--json").object["run"] == "new"


def test_a_folder_without_a_run_is_refused(grassvine: Command, tmp_path: Path) -> None:
    done = grassvine("runs", "show", tmp_path)
    assert done.code == 3 and "has no run to show" in done.err
