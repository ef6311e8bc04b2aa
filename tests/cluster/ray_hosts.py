"""A Ray cluster over simulated hosts: the head on the first, a worker on each of the others."""

import importlib.util
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.hosts import REPOSITORY, AgentActor, why_no_hosts
from tests.cluster.watching import await_text

Started = tuple[subprocess.Popen[str], Path]  # a process and its log

PORT = 6379
START_UP = 120.0  # seconds; 10 to 20 where the machine has nothing else to do
STARTED = "Ray runtime started"  # what `ray start` says when it is

# A host that falls silent is given up after about 15 s instead of 65.
QUICK_HEALTH_CHECKS = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "5",
}

# Waits for a number of nodes, and prints where they are.
AWAIT_NODES = """
import json, sys, time
import ray
address, wanted, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
ray.init(address, log_to_driver=False, logging_level="ERROR")
deadline = time.monotonic() + seconds
while True:
    alive = [node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]]
    if len(alive) == wanted:
        break
    if time.monotonic() > deadline:
        sys.exit(f"{len(alive)} of {wanted} nodes are alive: {sorted(alive)}")
    time.sleep(0.1)
print(json.dumps(sorted(alive)))
"""


def why_no_ray_hosts() -> str | None:
    """Return why there can be no Ray cluster over hosts here, or None where there can."""
    if importlib.util.find_spec("ray") is None:
        return "Ray is not installed (extra ray)"
    return why_no_hosts()


@dataclass(frozen=True)
class RayHosts:
    """A cluster that is up: where it is, and with which variables a driver enters it."""

    hosts: tuple[AgentActor, ...]
    address: str
    environment: Mapping[str, str]

    @property
    def head(self) -> AgentActor:
        """The host where drivers run."""
        return self.hosts[0]

    def await_nodes(self, n_nodes: int, seconds: float = START_UP) -> list[str]:
        """Wait until a number of nodes are alive; return the names of their hosts."""
        command = [sys.executable, "-c", AWAIT_NODES, self.address, str(n_nodes), str(seconds)]
        done = self.head.run(command, env=self.environment, timeout=seconds + START_UP)
        if done.returncode:
            raise OSError(f"the cluster is not as it should be: {done.stderr.strip()}")
        names: list[str] = json.loads(done.stdout)
        return names


@contextmanager
def ray_over(hosts: Sequence[AgentActor], folder: Path, *, cpus: int = 2) -> Iterator[RayHosts]:
    """Run a Ray cluster over hosts until the block is left.

    Each node has a label ``host`` and a resource that bear its host's name. The folder, which all
    hosts must see, takes the token and what Ray prints.
    """
    environment = _environment(_token_file(folder))
    address = f"{hosts[0].address}:{PORT}"
    with ExitStack() as stack:

        def start(host: AgentActor, role: Sequence[str], variables: Mapping[str, str]) -> Started:
            log = folder / f"ray-{host.name}.log"
            return stack.enter_context(_node(host, role, variables, log, cpus)), log

        head = ["--head", f"--port={PORT}", "--include-dashboard=false"]
        await_text(*start(hosts[0], head, environment | QUICK_HEALTH_CHECKS), STARTED, START_UP)
        for host in hosts[1:]:  # one by one, so that each has all processors
            await_text(*start(host, [f"--address={address}"], environment), STARTED, START_UP)
        cluster = RayHosts(tuple(hosts), address, environment)
        cluster.await_nodes(len(hosts))
        yield cluster


@contextmanager
def _node(
    host: AgentActor, role: Sequence[str], environment: Mapping[str, str], log: Path, cpus: int
) -> Iterator[subprocess.Popen[str]]:
    """Run Ray on a host until the block is left."""
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block"),
        *role,
        f"--node-ip-address={host.address}",
        f"--num-cpus={cpus}",
        f"--object-store-memory={200 * 2**20}",
        f"--labels=host={host.name}",
        f"--resources={json.dumps({host.name: 1})}",
        "--disable-usage-stats",
    ]
    with log.open("w") as file:
        said = {"stdout": file, "stderr": subprocess.STDOUT}
        with host.running(command, env=environment, **said) as process:
            try:
                yield process
            finally:
                host.kill()  # Ray's processes would outlive the one that started them


def _environment(token: Path) -> dict[str, str]:
    """The variables for all processes of the cluster, none of them from a cluster outside."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {
        **own,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]),
        "PYTHONUNBUFFERED": "1",
        # Else Ray gives up a node that does not start within 30 s.
        "RAY_raylet_start_wait_time_s": f"{START_UP:.0f}",
        # Whoever waits for a message that was lost with its host gives up at once, not after 30 s.
        "RAY_object_manager_pull_timeout_ms": "1000",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def _token_file(folder: Path) -> Path:
    path = folder / "token"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path
