"""Diagnosis of a Ray cluster, node by node."""

import os
import platform
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from grassvine.engines.ray.cluster import ray_cluster
from grassvine.foundations.files import make_folder
from grassvine.foundations.watch import Watch, part_of
from grassvine.report.doctor import version_of

PACKAGES = ("grassvine", "numpy", "scipy", "numba", "safetensors", "ray")
TIMEOUT = 60.0  # seconds
MESSAGE_MEGABYTES, N_EXCHANGES = 0.4, 20
MIN_STORE = 1.0  # GB
# The shares of the time until Ray is connected and its nodes are checked; measured with a new local
# cluster.
CONNECTED, CHECKED = 0.55, 0.6


@dataclass(frozen=True, slots=True)
class Node:
    """Diagnosis of a node.

    ``trouble`` is the reason why nothing can run there, and ``folder`` the reason why the
    checkpoint folder cannot be used there; both are empty if there is no problem.
    """

    name: str
    address: str
    processors: float
    memory_gigabytes: float
    store_gigabytes: float
    labels: dict[str, str]
    versions: dict[str, str | None]
    trouble: str
    folder: str


@dataclass(frozen=True, slots=True)
class ClusterDiagnosis:
    """Diagnosis of a cluster in plain values."""

    address: str
    token: bool
    nodes: list[Node]
    exchange_milliseconds: float | None
    advice: list[str]

    def as_object(self) -> dict[str, Any]:
        """Return the diagnosis as a dict."""
        return asdict(self)


def diagnose_cluster(
    address: str | None = None, checkpoint_dir: str | None = None, watch: Watch | None = None
) -> ClusterDiagnosis:
    """Check every node of a cluster, by default of a new local one.

    ``watch`` is called with the completed fraction after each step.
    """
    done = part_of(watch, 0.0, 1.0)
    folder = make_folder(checkpoint_dir).absolute() if checkpoint_dir else None
    with ray_cluster(address) as ray:
        done(CONNECTED)
        nodes = _nodes(ray, folder)
        done(CHECKED)
        token = os.environ.get("RAY_AUTH_MODE") == "token"
        usable = sum(not node.trouble for node in nodes)
        return ClusterDiagnosis(
            address=ray.get_runtime_context().gcs_address,
            token=token,
            nodes=nodes,
            exchange_milliseconds=_exchange(ray) if usable else None,
            advice=advice_on(nodes, token, _versions()),
        )


def advice_on(nodes: Sequence[Node], token: bool, here: Mapping[str, str | None]) -> list[str]:
    """Return what to fix before a run; ``here`` are the versions of this process."""
    found = []
    if not token:
        found.append(
            "anyone who can reach the cluster can run code in it; start all nodes with "
            "RAY_AUTH_MODE=token and a token file that only its owner can read."
        )
    for node in nodes:
        if node.trouble:
            found.append(f"{node.name}: {node.trouble}")
            continue
        for name, other in node.versions.items():
            if other != (mine := here.get(name)):
                found.append(
                    f"{node.name} has {_labelled(name, other)}, but this process has "
                    f"{_labelled(name, mine)}; install the same version on all nodes."
                )
        if node.folder:
            found.append(f"{node.name}: {node.folder}")
        if node.store_gigabytes < MIN_STORE:
            found.append(
                f"{node.name} has {node.store_gigabytes:.1f} GB for messages, which must hold all "
                "slots submitted in advance (docs/scale-out.md); start it with a larger "
                "--object-store-memory."
            )
    return found


def _labelled(name: str, version: str | None) -> str:
    return f"{name} {version}" if version else f"no {name}"


def _nodes(ray: ModuleType, folder: Path | None) -> list[Node]:
    """Probe all nodes that are alive, in parallel."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    mark = folder / f".doctor-{uuid.uuid4().hex}" if folder else None
    if mark:
        mark.touch()
    try:
        probe = ray.remote(probe_node)
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        calls = [
            probe.options(
                num_cpus=0, max_retries=0, scheduling_strategy=affinity(node["NodeID"], soft=False)
            ).remote(str(mark) if mark else None)
            for node in alive
        ]
        return [_node(ray, node, call) for node, call in zip(alive, calls, strict=True)]
    finally:
        if mark:
            mark.unlink(missing_ok=True)


def _node(ray: ModuleType, node: Mapping[str, Any], call: Any) -> Node:
    versions: dict[str, str | None] = {}
    trouble = folder = ""
    try:
        versions, folder = ray.get(call, timeout=TIMEOUT)
    except ray.exceptions.GetTimeoutError:
        trouble = f"no answer within {TIMEOUT:g} s; check its load and its log."
    except ray.exceptions.RayError as failure:
        lines = [line for line in str(failure).splitlines() if line.strip()]
        trouble = f"nothing can run there ({lines[-1].strip()}); check that grassvine is installed."
    resources = node["Resources"]
    labels = {k: v for k, v in (node.get("Labels") or {}).items() if not k.startswith("ray.io/")}
    return Node(
        name=node["NodeManagerHostname"],
        address=node["NodeManagerAddress"],
        processors=resources.get("CPU", 0.0),
        memory_gigabytes=resources.get("memory", 0.0) / 1e9,
        store_gigabytes=resources.get("object_store_memory", 0.0) / 1e9,
        labels=labels,
        versions=versions,
        trouble=trouble,
        folder=folder,
    )


def probe_node(mark: str | None) -> tuple[dict[str, str | None], str]:
    """Return the versions on a node, and why the folder of a marker file cannot be used there."""
    return _versions(), _folder_problem(mark)


def _folder_problem(mark: str | None) -> str:
    if mark is None:
        return ""
    folder = Path(mark).parent
    if not Path(mark).exists():
        return (
            f"{folder} is not the folder that this process sees; use a checkpoint folder that all "
            "nodes share at the same path."
        )
    if not os.access(folder, os.W_OK):
        return f"cannot write to {folder}; grant write access to the user that runs Ray."
    return ""


class _Echo:
    """Actor that returns a copy of its input."""

    def send(self, data: Any) -> Any:
        return np.array(data)


def _exchange(ray: ModuleType) -> float | None:
    """Return the shortest round trip in milliseconds, between two nodes if there are several.

    Returns None if a node fails; its ``trouble`` gives the reason.
    """
    echo = ray.remote(_Echo).options(num_cpus=0, scheduling_strategy="SPREAD", max_restarts=0)
    one, other = echo.remote(), echo.remote()
    basis = ray.put(np.zeros(int(MESSAGE_MEGABYTES * 1e6 / 8)))
    seconds = []
    try:
        for _ in range(N_EXCHANGES):
            start = time.perf_counter()
            back = one.send.remote(other.send.remote(basis))
            ray.wait([back], timeout=TIMEOUT, fetch_local=False)
            seconds.append(time.perf_counter() - start)
            ray.get(back, timeout=TIMEOUT)  # raises if the call failed
    except ray.exceptions.RayError:
        return None
    finally:
        for actor in (one, other):
            ray.kill(actor)
    return 1e3 * min(seconds)


def _versions() -> dict[str, str | None]:
    return {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}}
