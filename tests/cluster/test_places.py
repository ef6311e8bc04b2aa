"""An agent lives on the host that has its file, and nobody else sees that file."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.hosts import AgentActor, simulated_hosts
from tests.cluster.placed import learn_here
from tests.cluster.ray_hosts import RayHosts, ray_over, why_no_ray_hosts

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_ray_hosts() is not None, reason=str(why_no_ray_hosts())),
]

SCRIPT = [sys.executable, "-m", "tests.cluster.placed"]


def run(cluster: RayHosts, host: AgentActor, *words: str) -> subprocess.CompletedProcess[str]:
    return host.run([*SCRIPT, *words], env=cluster.environment, timeout=300)


def test_agents_live_where_their_files_are(tmp_path: Path) -> None:
    with simulated_hosts(3, tmp_path) as hosts, ray_over(hosts, tmp_path) as cluster:
        for number, host in enumerate(hosts):
            assert run(cluster, host, "write", str(number)).returncode == 0
        order = [2, 0, 1]  # not the order in which a cluster would fill up
        names = [hosts[number].name for number in order]
        done = run(cluster, cluster.head, "learn", cluster.address, *names)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout == learn_here(order)
        lost = run(cluster, cluster.head, "learn", cluster.address, names[0], "nowhere")
        assert "no node of the cluster has what agent 1 needs: label host=nowhere" in lost.stderr
