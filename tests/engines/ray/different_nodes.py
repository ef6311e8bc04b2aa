"""A Ray cluster on this machine whose nodes differ in their arithmetic, and a driver for it.

``python -m tests.engines.ray.different_nodes ADDRESS FOLDER NODE …`` runs every case of the methods
by sums there, an agent on each node, and saves the states and the reasons to stop in the folder,
with the digests of :mod:`tests.engines.machines` that a task on each node found.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from tests.cluster.watching import await_text
from tests.engines.machines import REPOSITORY, THIS, Machine, results
from tests.sums.cases import CASES, learned

import grassvine as gv

START_UP = 120.0  # seconds; 5 to 10 if the machine has nothing else to do
STARTED = "Ray runtime started"
PATIENCE = 30.0  # seconds for a node to end
DEADLOCK = 1800.0  # all cases take 150 s on two cores
LABEL = "machine"
DIGESTS = "digests.json"


@contextmanager
def different_nodes(machines: Sequence[Machine], folder: Path) -> Iterator[str]:
    """Start a node as each machine until the block is left; return the cluster's address.

    The folder takes the token and what Ray prints.
    """
    address = f"127.0.0.1:{_free_port()}"
    port = address.rpartition(":")[2]
    with ExitStack() as stack:
        for number, machine in enumerate(machines):
            role = ["--head", f"--port={port}", "--include-dashboard=false"]
            role = [f"--address={address}"] if number else role
            log = folder / f"ray-{number}.log"
            process = stack.enter_context(_node(number, machine, role, folder, log))
            await_text(process, log, STARTED, START_UP)
        yield address


def run_cases(machines: Sequence[Machine], address: str, folder: Path) -> None:
    """Run every case in the cluster, in a process of this machine."""
    nodes = [str(number) for number in range(len(machines))]
    with (folder / "driver.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "tests.engines.ray.different_nodes", address, folder, *nodes],
            env=_environment(THIS, folder),
            cwd=REPOSITORY,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=DEADLOCK,
            check=True,
        )


def drive(address: str, folder: Path, nodes: Sequence[str]) -> None:
    """Run every case with an agent on each node."""
    network = gv.networks.path(len(nodes))
    placements = [gv.engines.Placement(labels={LABEL: node}) for node in nodes]
    with gv.engines.ray_cluster(address) as ray:
        task = ray.remote(results)
        found = [task.options(label_selector={LABEL: node}).remote() for node in nodes]
        (folder / DIGESTS).write_text(json.dumps(ray.get(found)))
        for name, case in CASES.items():
            states, reasons = learned(case, network, gv.RayEngine(placements=placements))
            for number, state in enumerate(states):
                np.savez(folder / f"{name} {number}.npz", **state)
            (folder / f"{name}.json").write_text(json.dumps(reasons))


@contextmanager
def _node(
    number: int, machine: Machine, role: Sequence[str], folder: Path, log: Path
) -> Iterator["subprocess.Popen[str]"]:
    command = [
        *(machine.python, "-m", "ray.scripts.scripts", "start", "--block", *role),
        "--node-ip-address=127.0.0.1",
        "--num-cpus=1",
        f"--object-store-memory={100 * 2**20}",
        f"--labels={LABEL}={number}",
        "--disable-usage-stats",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            env=_environment(machine, folder),
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)  # it ends Ray's processes first
        process.wait(PATIENCE)


def _environment(machine: Machine, folder: Path) -> dict[str, str]:
    """The variables for all processes of the cluster, none of them from a cluster outside."""
    own = {name: value for name, value in machine.environment.items() if name[:4] != "RAY_"}
    token = folder / "token"
    if not token.exists():
        with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    return {
        **own,
        # Workers run in a folder of Ray's.
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]),
        "PYTHONUNBUFFERED": "1",
        "RAY_raylet_start_wait_time_s": f"{START_UP:.0f}",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


if __name__ == "__main__":
    drive(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
