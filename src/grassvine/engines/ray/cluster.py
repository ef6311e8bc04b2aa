"""Connections to Ray clusters: the current one, one at an address, or a new local one."""

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

CONNECT_TIMEOUT = 10.0  # seconds


@contextmanager
def ray_cluster(address: str | None = None, *, cpus: int | None = None) -> Iterator[ModuleType]:
    """Connect to a Ray cluster, and disconnect on exit unless already connected before.

    Starting a cluster takes ten seconds or more. To share one between several runs, open it around
    them: a :class:`RayEngine` without an address uses the cluster that its process is connected to.

    Parameters
    ----------
    address : str, optional
        Address of the cluster. Authentication follows Ray's environment variables. If omitted, a
        new local cluster is started, with a token that only its owner can read; an existing
        RAY_AUTH_MODE is respected.
    cpus : int, optional
        Number of CPUs of a new local cluster; by default all CPUs of the machine.

    Examples
    --------
    >>> import grassvine as gv
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> plans = [gv.Plan(2, 1, gv.networks.path(2), seed=seed) for seed in (0, 1)]
    >>> with gv.engines.ray_cluster(cpus=2):  # several runs on one cluster
    ...     results = [gv.run(plan, [problem] * 2, engine=gv.RayEngine()) for plan in plans]
    >>> len(results)
    2
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reads it on import
    ray = load_extra("ray", "the Ray engine", "ray")
    if ray.is_initialized():
        if address:
            raise PlanError(
                f"this process is already connected to a Ray cluster; omit the address {address} "
                "to run there, or call ray.shutdown() first."
            )
        yield ray
        return
    settings = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address:
        _check_reachable(address)
    # Setting the path of a token enables authentication in Ray.
    token = {} if address else {"RAY_AUTH_TOKEN_PATH": str(_token_file())}
    with _quiet(ray), _environment(**token):
        try:
            with _preserved_sigterm_handler():
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
            f"cannot connect to the Ray cluster at {address} ({reason}); check that it is running "
            "and that RAY_AUTH_TOKEN_PATH points to its token."
        ) from cause


def _check_reachable(address: str) -> None:
    """Raise PlanError if nothing listens at an address; Ray itself would wait for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) >= 2**16:
        raise PlanError(
            f"{address!r} is not the address of a Ray cluster; use host:port as printed by "
            "'ray start --head', or auto for the cluster on this machine."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()
    except (OSError, UnicodeError) as cause:  # UnicodeError: an invalid host name
        raise PlanError(
            f"cannot reach {address} ({cause}); check that the cluster's head runs there "
            "('ray start --head') and that no firewall blocks this machine."
        ) from None


@contextmanager
def _preserved_sigterm_handler() -> Iterator[None]:
    """Restore the program's SIGTERM handler, which Ray replaces by an exit with code 15.

    A program without a handler gets Ray's, which shuts the cluster down cleanly.
    """
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _quiet(ray: ModuleType) -> Iterator[None]:
    """Suppress Ray's messages about lost nodes; standard output is for data.

    Losses are reported in a run's incidents. Ray has no public switch for these messages:
    ``log_to_driver`` controls the output of workers only.
    """
    with _environment(RAY_IGNORE_UNHANDLED_ERRORS="1"):
        ray._private.worker._worker_logs_enabled = False
        try:
            yield
        finally:
            ray._private.worker._worker_logs_enabled = True


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set environment variables and restore them on exit, with RAY_AUTH_MODE, which Ray sets."""
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
    """Write the token for local clusters, once because Ray reads it once per process."""
    folder = Path(tempfile.mkdtemp(prefix="grassvine-ray-"))  # accessible by its owner only
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "token"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path
