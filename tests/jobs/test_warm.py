"""Kernels are compiled ahead of time, all of them, so that no command compiles any."""

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher
from tests.cli.commands import rating_lines, write_ratings

import grassvine
from grassvine.fits.rating_formulations import METHODS
from grassvine.jobs.compared_methods import METHODS_COMPARED, Setting
from grassvine.jobs.completion import CompletionJob
from grassvine.jobs.implicit import ImplicitJob
from grassvine.jobs.warm import compile_kernels

COMPILES = ("njit", "_kernels import")  # what a module with compiled functions contains
ENTRY = "from grassvine.cli import main; main()"


def kernels() -> dict[str, Any]:
    """All compiled functions of the package, by module and name."""
    found = {}
    for module in modules():
        for name, value in vars(importlib.import_module(module)).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module:
                found[f"{module}.{name}"] = value
    return found


def modules() -> Iterator[str]:
    """The modules in whose source something is compiled."""
    for found in pkgutil.walk_packages(grassvine.__path__, "grassvine."):
        source = Path(grassvine.__path__[0], *found.name.split(".")[1:]).with_suffix(".py")
        if source.exists() and any(word in source.read_text() for word in COMPILES):
            yield found.name


def called_by(kernel: Any) -> Iterator[Any]:
    """The compiled functions that a compiled function calls, directly or not."""
    for name in kernel.py_func.__code__.co_names:
        value = kernel.py_func.__globals__.get(name)
        if isinstance(value, Dispatcher):
            yield value
            yield from called_by(value)


@pytest.fixture(scope="module")
def warm() -> dict[str, Any]:
    compile_kernels()
    return kernels()


def test_every_kernel_is_compiled(warm: dict[str, Any]) -> None:
    assert len(warm) > 20
    compiled = {id(kernel) for kernel in warm.values() if kernel.signatures}
    # What is read from the cache contains the functions that it calls.
    inside = {id(one) for kernel in warm.values() if kernel.signatures for one in called_by(kernel)}
    missing = [name for name, kernel in warm.items() if id(kernel) not in compiled | inside]
    assert not missing


@pytest.mark.filterwarnings("ignore::grassvine.foundations.errors.ConvergenceWarning")
def test_no_fit_compiles_another_signature(warm: dict[str, Any], tmp_path: Path) -> None:
    def signatures() -> dict[str, Any]:
        return {name: kernel.signatures for name, kernel in warm.items()}

    before = signatures()
    table = str(write_ratings(tmp_path / "ratings.csv", rating_lines()))
    for method in METHODS:
        job = CompletionJob(table, rank=2, method=method, agents=2, max_iter=2, holdout=0.2)
        job.learn(job.read())
    for rank in ("auto", 0):
        job = CompletionJob(table, rank=rank, method="map")
        job.learn(job.read())
    for job_of_events in (ImplicitJob(table, holdout=0.2), ImplicitJob(table, method="ease")):
        job_of_events.learn(job_of_events.read())
    read = CompletionJob(table).read()
    for name in ("rtrmc", "d-lmafit"):
        METHODS_COMPARED[name](read, read, Setting(rank=2, agents=2))  # type: ignore[arg-type]
    assert signatures() == before


@pytest.mark.slow
def test_after_doctor_warm_no_command_writes_to_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}

    def grassvine_(*options: object) -> None:
        command = [sys.executable, "-c", ENTRY, *map(str, options)]
        subprocess.run(command, check=True, env=environment, capture_output=True, cwd=tmp_path)

    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}

    grassvine_("doctor", "--warm")
    before = files()
    assert len(before) >= 30  # an index and code of each kernel
    table = write_ratings(tmp_path / "ratings.csv", rating_lines())
    grassvine_("complete", table, "--holdout", 0.2, "-o", "model")
    grassvine_("recommend", "model", "-o", "best.csv")
    grassvine_("predict", "model", table, "--interval", 0.9, "-o", "predicted.csv")
    grassvine_("fold-in", "model", table, "-o", "larger")
    grassvine_("complete", table, "--method", "map", "--agents", 3, "--engine", "threads")
    grassvine_("complete", table, "--method", "gossip", "--agents", 2, "--max-iter", 5)
    grassvine_("complete", table, "--method", "exact-subspace", "--rank", 2)
    grassvine_("implicit", table, "-o", "events")
    grassvine_("recommend", "events", "-o", "chosen.csv")
    grassvine_("demo", "--agents", 2)
    assert files() == before
