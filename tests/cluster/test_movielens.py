"""MovieLens-1M in a Ray cluster of four hosts, of which one may be lost in the middle."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.hosts import AgentActor, simulated_hosts
from tests.cluster.movielens import hosts_of_agents
from tests.cluster.ray_hosts import RayHosts, ray_over, why_no_ray_hosts
from tests.cluster.watching import await_text
from tests.real_data import FOLDER, real_file

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_ray_hosts() is not None, reason=str(why_no_ray_hosts())),
]

N_HOSTS = 4
CALM_RUN = 300.0  # seconds; about 12 where the machine has nothing else to do
IN_THE_MIDDLE = "slot 100\n"  # of about 500
# Seconds after which a test gives up waiting. By the health checks a cut is noticed after 15; but
# whoever waits for a message that was made and not fetched was seen to give up only after 30, and
# other programs on the machine make all of it slower.
NOTICED = 450.0

each_fault = pytest.mark.parametrize(
    "fault", [AgentActor.cut, AgentActor.kill], ids=["cut", "kill"]
)
Fault = Callable[[AgentActor], None]


@dataclass(frozen=True)
class Fit:
    """A driver at work: its process, its notes of where agents are, and what it says of slots."""

    process: subprocess.Popen[str]
    notes: Path
    log: Path

    def result(self, seconds: float) -> dict[str, Any]:
        """Wait for the end, and return what it found."""
        printed, _ = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, self.log.read_text()[-2000:]
        found: dict[str, Any] = json.loads(printed)
        return found

    def lose_a_host(self, hosts: Sequence[AgentActor], fault: Fault) -> tuple[AgentActor, float]:
        """In the middle of the run do something to the worker with most agents; say when it was."""
        await_text(self.process, self.log, IN_THE_MIDDLE, CALM_RUN)
        agents = Counter(made[-1] for made in hosts_of_agents(self.notes))
        victim = max(hosts[1:], key=lambda host: agents[host.name])
        assert agents[victim.name] > 0
        fault(victim)
        return victim, time.monotonic()


def command(notes: Path, *more: str) -> list[str]:
    ratings = str(real_file("ml-1m/ratings.dat"))
    script = [sys.executable, "-m", "tests.cluster.movielens"]
    return [*script, "--ratings", ratings, "--notes", str(notes), *more]


@contextmanager
def fit(cluster: RayHosts, folder: Path, *more: str) -> Iterator[Fit]:
    """Run the driver on the head until the block is left."""
    notes, log = folder / "notes", folder / "driver.log"
    notes.mkdir()
    asked = command(notes, "--address", cluster.address, *more)
    with (
        log.open("w") as file,
        cluster.head.running(
            asked, env=cluster.environment, stdout=subprocess.PIPE, stderr=file
        ) as process,
    ):
        yield Fit(process, notes, log)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the local engine finds, in a process of its own."""
    asked = command(tmp_path_factory.mktemp("reference"))
    done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True, timeout=CALM_RUN)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RayHosts]:
    real_file("ml-1m/ratings.dat")
    with simulated_hosts(N_HOSTS, tmp_path, FOLDER) as hosts, ray_over(hosts, tmp_path) as started:
        yield started


def test_four_hosts_find_what_one_finds(
    cluster: RayHosts, tmp_path: Path, reference: dict[str, Any]
) -> None:
    with fit(cluster, tmp_path) as running:
        found = running.result(CALM_RUN)
    # Where every processor is the same, so are the bits.
    assert found["rmse"] == pytest.approx(reference["rmse"], rel=0, abs=1e-9)
    assert found["n_slots"] == reference["n_slots"]
    assert len({made[-1] for made in found["hosts"]}) > 1


@each_fault
def test_without_checkpoints_a_lost_host_ends_the_run_soon(
    cluster: RayHosts, tmp_path: Path, fault: Fault
) -> None:
    with fit(cluster, tmp_path) as running:
        running.lose_a_host(cluster.hosts, fault)
        running.process.communicate(timeout=NOTICED)
        assert running.process.returncode == 1
        assert "AgentError: agent " in running.log.read_text()


@each_fault
def test_with_checkpoints_the_rest_finish(
    cluster: RayHosts, tmp_path: Path, reference: dict[str, Any], fault: Fault
) -> None:
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    with fit(cluster, tmp_path, "--checkpoints", str(checkpoints)) as running:
        victim, lost = running.lose_a_host(cluster.hosts, fault)
        found = running.result(CALM_RUN)
        seconds = time.monotonic() - lost
    told = f"{seconds:.1f} s from the loss to the end, RMSE {found['rmse']!r}, {found['incidents']}"
    sys.stdout.write(told)  # to be seen with pytest -s
    assert found["rmse"] == pytest.approx(reference["rmse"], rel=0, abs=1e-4)
    # Nothing is lost, and nothing told twice.
    assert (found["n_slots"], found["n_reports"]) == (reference["n_slots"], reference["n_reports"])
    assert victim.name not in {made[-1] for made in found["hosts"]}
    assert any(" lost at slot " in incident for incident in found["incidents"])
