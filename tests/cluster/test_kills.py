"""Case 4 of the paper in a local Ray, an actor of which is killed at some instant of the run."""

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.ray.ray_processes import KillAfter

import grassvine as gv
from grassvine.foundations.seeds import stream
from grassvine.problems import LocalProblem
from grassvine.protocol import Method

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
    ),
]

N_AGENTS, N_KILLS = 6, 20
METHODS = {"exact": gv.Exact(), "gossip": gv.gossip.precon_stochastic(rho=1e3, max_iter=200 * 5)}


@pytest.fixture(scope="module")
def problems() -> list[LocalProblem]:
    table = gv.datasets.low_rank_ratings(500, 12_000, 5, oversampling=6.0).ratings
    return [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, N_AGENTS)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with gv.engines.ray_cluster(cpus=2):
        yield


def worst_error(run: gv.Run) -> float:
    return float(run.history.final()["mse"].max())


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_run_outlives_a_kill_at_any_instant(
    method: Method, problems: list[LocalProblem], tmp_path: Path
) -> None:
    plan = gv.Plan(500, 5, gv.networks.path(N_AGENTS), method)
    undisturbed = gv.run(plan, problems)
    instants = stream(0, "data", "kills")
    began = time.monotonic()
    calm = gv.run(plan, problems, engine=engine_at(tmp_path / "calm"))
    seconds = time.monotonic() - began
    assert not calm.incidents
    felt, gaps = 0, list[float]()
    while felt < N_KILLS:  # some instants lie before the first actor, or after the last call
        assert len(gaps) < 2 * N_KILLS
        instant = instants.uniform(0.0, seconds)
        with KillAfter(instant, instants):
            found = gv.run(plan, problems, engine=engine_at(tmp_path / str(len(gaps))))
        gaps.append(abs(worst_error(found) - worst_error(undisturbed)))
        felt += bool(found.incidents)
        # To be seen with pytest -s.
        sys.stdout.write(f"{instant:.2f} of {seconds:.2f} s: {gaps[-1]:.1e} {found.incidents}\n")
        assert len(found.history) == len(undisturbed.history)
    # What is done again has the same bits, where 1e-9 would do.
    assert max(gaps) == 0.0


def engine_at(folder: Path) -> gv.RayEngine:
    return gv.RayEngine(checkpoint_dir=folder, checkpoint_seconds=0.5)
