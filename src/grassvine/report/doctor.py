"""Diagnosis of an installation."""

import importlib.util
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from grassvine.datasets.sources import SOURCES
from grassvine.datasets.store import VARIABLE, cache_folder, find
from grassvine.foundations.parallel import usable_cores

LIBRARIES = ("grassvine", "numpy", "scipy", "numba", "polars", "scikit-learn", "safetensors")
# Modules that each extra installs.
EXTRAS = {
    "plots": ("matplotlib",),
    "data": ("pooch",),
    "live": ("starlette", "sse_starlette", "uvicorn", "plotly"),
    "compare": ("cmfrec",),
    "bench": ("pymanopt",),
    "ray": ("ray",),
    "peers": ("cryptography", "grpc"),
}


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional extra: whether it is installed and, if not, how to install it."""

    name: str
    installed: bool
    install: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Diagnosis of an installation in plain values."""

    python: str
    system: str
    versions: dict[str, str | None]
    blas: list[str]
    processors: int
    threads: dict[str, str | None]
    kernel_cache: str
    kernel_cache_writable: bool
    data_folders: list[str]
    data_sets: list[str]
    free_gigabytes: float
    extras: list[Extra]

    def as_object(self) -> dict[str, Any]:
        """Return the diagnosis as a dict."""
        return asdict(self)


def diagnose() -> Diagnosis:
    """Diagnose this installation."""
    given = os.environ.get(VARIABLE)
    folders = [*([given] if given else []), str(cache_folder())]
    kernels = _kernel_folder()
    return Diagnosis(
        python=platform.python_version(),
        system=platform.platform(),
        versions={name: version_of(name) for name in LIBRARIES},
        blas=_blas(),
        processors=usable_cores(),
        threads={name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")},
        kernel_cache=str(kernels),
        kernel_cache_writable=os.access(kernels, os.W_OK),
        data_folders=folders,
        data_sets=[name for name, source in SOURCES.items() if find(source) is not None],
        free_gigabytes=shutil.disk_usage(Path.cwd()).free / 1e9,
        extras=[_extra(name, modules) for name, modules in EXTRAS.items()],
    )


def _extra(name: str, modules: tuple[str, ...]) -> Extra:
    installed = all(importlib.util.find_spec(module) is not None for module in modules)
    return Extra(name, installed, None if installed else f"pip install 'grassvine[{name}]'")


def version_of(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    import numpy  # noqa: F401  loads its BLAS library
    from threadpoolctl import threadpool_info

    return [
        f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


def _kernel_folder() -> Path:
    """Return the folder in which numba caches compiled kernels, by default beside the sources."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    if configured:
        return Path(configured)
    spec = importlib.util.find_spec("grassvine.problems")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "__pycache__"
