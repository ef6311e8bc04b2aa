"""A local cluster is killed in the middle of a run, with its driver; another driver resumes."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster.hosts import REPOSITORY
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.problems import LocalProblem
from grassvine.protocol import StepReport

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
    ),
]

PLAN = gv.Plan(N_ITEMS, 3, gv.networks.ring(4), gv.Exact(max_iter=100))
SCRIPT = "import sys; from tests.cluster.test_lost_driver import learn; learn(*sys.argv[1:])"
PATIENCE = 120.0  # seconds


def problems() -> list[LocalProblem]:
    return [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings(n_users=200), 4)]


@dataclass(frozen=True)
class DieAt:
    """An observer that kills its process and all that it started."""

    slot: int

    def __call__(self, report: StepReport) -> None:
        if report.slot == self.slot:
            os.killpg(0, signal.SIGKILL)


def learn(folder: str, last_slot: str) -> None:
    """Learn as a driver of its own, to its death at a slot; resume what there is."""
    engine = gv.RayEngine(
        agents_per_actor=2, checkpoint_dir=folder, checkpoint_seconds=0.0, resume=True
    )
    run = gv.run(PLAN, problems(), engine=engine, observers=[DieAt(int(last_slot))])
    sys.stdout.write(f"{digest(run)} {run.incidents}")


def digest(run: gv.Run) -> str:
    known = [basis.tobytes() for basis in run.bases]
    return hashlib.sha256(b"".join([*known, run.history.to_bytes()])).hexdigest()


def test_a_run_outlives_its_driver(tmp_path: Path) -> None:
    wanted = gv.run(PLAN, problems())
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path), str(last_slot)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            start_new_session=True,
        )
        for last_slot in (wanted.n_slots // 2, -1)
    )
    assert first.returncode == -signal.SIGKILL, first.stderr[-2000:]
    assert second.returncode == 0, second.stderr[-2000:]
    found, _, incidents = second.stdout.partition(" ")
    assert found == digest(wanted)
    assert "the run was resumed at slot " in incidents
