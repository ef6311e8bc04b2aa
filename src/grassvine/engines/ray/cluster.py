"""A Ray cluster to run in: the one at hand, one at an address, or a new and private local one."""

import atexit
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from grassvine.foundations.errors import PlanError
from grassvine.foundations.extras import load_extra

PATIENCE = 10.0  # seconds, for a cluster to answer


@contextmanager
def ray_cluster(address: str | None = None, *, cpus: int | None = None) -> Iterator[ModuleType]:
    """Connect to a Ray cluster, and leave it if it was not connected before.

    Starting one takes ten seconds and more. To make several runs in one, open it around them; a
    :class:`RayEngine` without an address uses the cluster that its process is connected to.

    Parameters
    ----------
    address : str, optional
        Where the cluster is. Its authentication is that of Ray's environment variables. Without
        an address a new local cluster is started, and only its owner can read its token; a
        RAY_AUTH_MODE that is set already is respected.
    cpus : int, optional
        How many CPUs a new local cluster has; all of the machine unless told.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray looks when it is imported
    ray = load_extra("ray", "the Ray engine", "ray")
    if ray.is_initialized():
        if address:
            raise PlanError(
                f"this process is connected to a Ray cluster already; leave the address {address} "
                "out to run there, or call ray.shutdown() first."
            )
        yield ray
        return
    settings = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address:
        _require_answer(address)
    # Given the path of a token Ray turns authentication on.
    token = {} if address else {"RAY_AUTH_TOKEN_PATH": str(_token_file())}
    with _quiet(ray), _environment(**token):
        try:
            with _same_answer_to_sigterm():
                if address:
                    _connect(ray, address, settings)
                else:
                    ray.init("local", num_cpus=cpus, include_dashboard=False, **settings)
            yield ray
        finally:
            ray.shutdown()


def _connect(ray: ModuleType, address: str, settings: dict[str, Any]) -> None:
    try:
        ray.init(address, **settings)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as cause:
        reason = next((line for line in str(cause).splitlines() if line.strip()), "no reason given")
        raise PlanError(
            f"the Ray cluster at {address} cannot be joined ({reason}); look whether it runs, and "
            "whether RAY_AUTH_TOKEN_PATH names its token."
        ) from cause


def _require_answer(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself would wait there for many minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) >= 2**16:
        raise PlanError(
            f"{address!r} is no address of a Ray cluster; give host:port as 'ray start --head' "
            "printed it, or auto for the one on this machine."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, UnicodeError) as cause:  # a name may be one that no host can have
        raise PlanError(
            f"nobody answers at {address} ({cause}); is the cluster's head running there "
            "('ray start --head'), and does a firewall let this machine in?"
        ) from None


@contextmanager
def _same_answer_to_sigterm() -> Iterator[None]:
    """Keep what a program does when it is terminated; Ray puts an exit with code 15 in its place.

    One that does nothing of its own gets Ray's, which ends a cluster in order.
    """
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _quiet(ray: ModuleType) -> Iterator[None]:
    """Keep Ray's news of losses off standard output, which is for data, and off the screen.

    A run's incidents tell them. There is no public switch for what is printed of lost nodes;
    ``log_to_driver`` is about the output of workers.
    """
    with _environment(RAY_IGNORE_UNHANDLED_ERRORS="1"):
        ray._private.worker._worker_logs_enabled = False
        try:
            yield
        finally:
            ray._private.worker._worker_logs_enabled = True


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables of the environment, and put back what was there; Ray adds some of its own."""
    names = {*variables, "RAY_AUTH_MODE"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def _token_file() -> Path:
    """Write the token of this process's clusters: one, as Ray reads it once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="grassvine-ray-"))  # which only its owner may enter
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "token"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path
