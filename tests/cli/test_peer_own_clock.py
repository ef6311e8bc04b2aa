"""``grassvine peer`` with ``--clock own``: three houses meet whoever has time."""

import json
import math
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import polars as pl
import pytest
from tests.cli.commands import Command, rating_lines, write_ratings

import grassvine as gv
from grassvine.peers.joining.join import metrics
from grassvine.peers.joining.meetings import FILE, replay_plan
from grassvine.peers.joining.member_data import read_member_data
from grassvine.peers.plan.group_plan import GroupPlan, read_plan

NAMES = "abc"
UPDATES = 40


@pytest.fixture
def houses(grassvine: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three identities on this computer, linked in a ring, their tables, and two plans."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as b:
        ports = [one.getsockname()[1], b.getsockname()[1]]
    for name, port in zip("ab", ports, strict=True):
        address = ("--listen", f"127.0.0.1:{port}")
        grassvine("peer", "init", f"clinic-{name}", *address, "--folder", name)
    grassvine("peer", "init", "clinic-c", "--dial-only", "--folder", "c")
    write_ratings(tmp_path / "ratings.csv", rating_lines())
    for clock in ("own", "common"):
        drafted = grassvine(
            *("peer", "plan", *(f"clinic-{name}.card" for name in NAMES), "--kind", "ratings"),
            *("--items", "ratings.csv", "--rank", 2, "--method", "gossip", "--clock", clock),
            *("--max-iter", UPDATES, "--network", "ring", "--patience", 60, "-o", f"{clock}.toml"),
        )
        assert drafted.code == 0, drafted.err
    frame = pl.read_csv("ratings.csv", schema_overrides={"item": pl.String}).drop("owner")
    for number, name in enumerate(NAMES):
        frame.filter(pl.col("user") % 3 == number).write_csv(f"own-{name}.csv")
    return tmp_path


def start(name: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from grassvine.cli import main; main()", "peer", "join"]
    options = ["-o", f"model-{name}", "--folder", name, "--yes", "--json"]
    return subprocess.Popen(
        [*program, "own.toml", f"own-{name}.csv", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_folder(plan: GroupPlan, name: str) -> Path:
    return Path(name) / "runs" / plan.digest.hex()


def check(running: dict[str, subprocess.Popen[str]]) -> None:
    """Compare models and errors with the replay of the record on the local engine."""
    ended = {name: process.communicate(timeout=180) for name, process in running.items()}
    assert [process.returncode for process in running.values()] == [0, 0, 0], ended
    plan, common = read_plan(Path("own.toml")), read_plan(Path("common.toml"))
    data = [read_member_data(plan, f"own-{name}.csv").data for name in NAMES]
    records = {f"clinic-{name}": run_folder(plan, name) / FILE for name in NAMES}
    replayed = gv.run(replay_plan(plan, records), data)
    wanted: Any = data[0].model(replayed.states[0])
    error = metrics(replayed.states[0])["held_out_rmse"]
    for name in NAMES:
        model: Any = gv.load(f"model-{name}")
        assert model.shared.factors.tobytes() == wanted.shared.factors.tobytes()
        report = json.loads(ended[name][0])
        assert report["held_out_rmse"] == error
        assert Path(report["meetings"]).samefile(records[f"clinic-{name}"])
    # Other meetings of the same number: the errors differ by less than a tenth.
    by_timetable = metrics(gv.run(common.run_plan, data).states[0])["held_out_rmse"]
    assert math.isclose(error, by_timetable, rel_tol=0.1)


@pytest.mark.filterwarnings("ignore:the agents do not agree")
def test_three_processes_meet_whoever_has_time(grassvine: Command, houses: Path) -> None:
    check({name: start(name) for name in NAMES})
    status = grassvine("peer", "status", "own.toml", "--folder", "a", "--json").object
    assert status["state"] == "finished" and 2 * UPDATES < status["slot"] <= status["n_slots"]


@pytest.mark.filterwarnings("ignore:the agents do not agree")
def test_a_member_that_was_killed_goes_on(houses: Path) -> None:
    running = {name: start(name) for name in NAMES}
    journal = run_folder(read_plan(Path("own.toml")), "b") / "part-2"
    until = monotonic() + 120.0
    while not any(path.stat().st_size > 5000 for path in journal.glob("*.journal")):
        assert monotonic() < until and running["b"].poll() is None
        sleep(0.002)  # for what another process writes to its own folder
    running["b"].send_signal(signal.SIGKILL)
    running["b"].communicate()
    running["b"] = start("b")
    check(running)
