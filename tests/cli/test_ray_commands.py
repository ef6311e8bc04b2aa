"""Commands in a Ray cluster: some in one that they share, some in one that they start."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import Command, Done, write_samples

import grassvine as gv
from grassvine.jobs import base

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
    ),
]

ASKED = ("--rank", 2, "--agents", 3, "--holdout", 0.2, "--json")
RAY = ("--engine", "ray")
TIMES = ("seconds", "cpu_seconds")
START = 120.0  # seconds, for a cluster to start and end where the machine is busy


def in_a_process(*arguments: object) -> Done:
    """Call the command in a process of its own: what Ray writes past Python is seen too."""
    command = [sys.executable, "-c", "from grassvine.cli import main; main()"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=START, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def numbers(report: dict[str, Any]) -> dict[str, Any]:
    """All but how long it took and what happened on the way."""
    return {name: one for name, one in report.items() if name not in (*TIMES, "incidents")}


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_standard_output_is_one_object_and_its_numbers_those_of_the_local_engine(
    grassvine: Command, ratings: Path
) -> None:
    local = grassvine("complete", ratings, *ASKED)
    ray = in_a_process("complete", ratings, *ASKED, *RAY)
    assert numbers(ray.object) == numbers(local.object) and ray.object["incidents"] == []
    assert ray.err == local.err


def test_the_doctor_looks_at_every_node(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    cluster = in_a_process("doctor", *RAY, "--checkpoints", kept, "--json").object["cluster"]
    (node,) = cluster["nodes"]
    assert node["trouble"] == node["folder"] == ""
    assert node["versions"]["ray"] and node["processors"] >= 1
    assert cluster["token"] is True and cluster["exchange_milliseconds"] > 0.0
    assert list(kept.iterdir()) == []


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with gv.engines.ray_cluster(cpus=2):
        yield


@pytest.fixture
def diligent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a checkpoint at every slot, for runs that take a second."""
    engine = partial(gv.RayEngine, checkpoint_seconds=0.0)
    monkeypatch.setattr(base, "RayEngine", engine)


@pytest.mark.usefixtures("cluster")
class TestInACluster:
    @pytest.mark.usefixtures("diligent")
    def test_a_run_is_resumed_on_request_and_only_then(
        self, grassvine: Command, ratings: Path
    ) -> None:
        kept, run = ratings.with_name("kept"), ratings.with_name("run")
        asked = ("complete", ratings, *ASKED, *RAY, "--checkpoints", kept)
        # Where there is no checkpoint yet a run that is to be resumed begins.
        first = grassvine(*asked, "--resume", "--agents-per-actor", 2).object
        assert first["incidents"] == []
        done = grassvine(*asked)
        assert (done.code, done.out) == (3, "")
        assert f"grassvine: {kept} already holds checkpoints up to slot " in done.err
        done = grassvine(*asked, "--resume", "--run", run)
        (incident,) = done.object["incidents"]
        assert incident.startswith("the run was resumed at slot ") and incident in done.err
        assert numbers(done.object) == numbers(first)
        before = files(kept)
        again = grassvine("rerun", run, "--json").object
        assert again["same"] is True and again["incidents"] == [] and files(kept) == before

    @pytest.mark.usefixtures("diligent")
    def test_checkpoints_of_other_data_are_refused(self, grassvine: Command, ratings: Path) -> None:
        asked = ("complete", ratings, *ASKED, *RAY, "--checkpoints", ratings.with_name("kept"))
        assert grassvine(*asked).code == 0
        ratings.write_text(ratings.read_text().replace(",5,", ",1,"))
        done = grassvine(*asked, "--resume")
        assert (done.code, done.out) == (
            3,
            "",
        ) and "has different data or a different plan" in done.err

    @pytest.mark.usefixtures("diligent")
    def test_runs_that_choose_a_rank_keep_their_own(
        self, grassvine: Command, tmp_path: Path
    ) -> None:
        samples, kept = write_samples(tmp_path / "samples.csv"), tmp_path / "kept"
        asked = ("multitask", samples, "--target", "y", "--task", "school", "--rank", "auto")
        local = grassvine(*asked, "--agents", 2, "--json").object
        mine = (*asked, "--agents", 2, "--json", *RAY, "--checkpoints", kept)
        assert numbers(grassvine(*mine).object) == numbers(local)
        assert {"choosing-rank-1", "choosing-rank-2"} <= {path.name for path in kept.iterdir()}
        resumed = grassvine(*mine, "--resume").object
        assert numbers(resumed) == numbers(local) and resumed["incidents"]

    def test_components_are_those_of_the_local_engine(
        self, grassvine: Command, tmp_path: Path
    ) -> None:
        asked = ("pca", write_samples(tmp_path / "samples.csv"), "--agents", 3, "--json")
        local, ray = grassvine(*asked).object, grassvine(*asked, *RAY).object
        assert numbers(ray) == numbers(local)
