"""A Ray cluster to run in: the one at hand, one at an address, or a new and private local one."""

import atexit
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType

from grassvine.foundations.errors import PlanError
from grassvine.foundations.extras import load_extra


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
    with nullcontext() if address else _private_token():
        try:
            if address:
                ray.init(address, **settings)
            else:
                ray.init("local", num_cpus=cpus, include_dashboard=False, **settings)
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _private_token() -> Iterator[None]:
    """Let Ray find the token, for which it turns authentication on; then forget both."""
    names = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"
    before = {name: os.environ.get(name) for name in names}
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(_token_file())
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
