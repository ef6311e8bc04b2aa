"""Compiled code: the same bits whether a process compiled it or loaded it from the cache."""

import os
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher

import grassvine

ROOT = Path(grassvine.__file__).parent
FILES = [path for path in sorted(ROOT.rglob("_*.py")) if "_kernels import" in path.read_text()]
FILES.append(ROOT / "problems" / "_kernels.py")
FITS = """
import hashlib
import grassvine as gv

data = gv.datasets.low_rank_ratings(200, 2000, 8, oversampling=4.0, noise=0.1, seed=2).ratings
chosen = gv.Ratings.from_arrays(data.users_of_values(), data.items, data.values**0, n_items=200)
for problem, method, part in (
    (gv.CompletionProblem, gv.Exact(max_iter=30), data),
    (gv.BiasedCompletionProblem, gv.sums.BiasedFactorization(regularization=2.0), data),
    (gv.sums.BayesianCompletionProblem, gv.sums.BayesianFactorization(), data),
    (gv.ImplicitProblem, gv.sums.ImplicitFactorization(), chosen),
):
    state = gv.run(gv.Plan(200, 10, gv.networks.path(1), method), [problem(part)]).states[0]
    print(hashlib.sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest())
"""


def compiled(module: ModuleType) -> dict[str, CPUDispatcher]:
    found = vars(module).items()
    return {
        name: one
        for name, one in found
        if isinstance(one, CPUDispatcher) and one.py_func.__module__ == module.__name__
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_kernels_are_cached_and_what_they_call_is_inlined(path: Path) -> None:
    """A call from one compiled function to another reaches whatever copy is in the process."""
    name = ".".join(("grassvine", *path.relative_to(ROOT).with_suffix("").parts))
    functions = compiled(import_module(name))
    assert functions
    for name, function in functions.items():
        inlined = bool(function.targetoptions.get("forceinline"))
        assert inlined == name.startswith("_"), name
        assert isinstance(vars(function)["_cache"], NullCache) == inlined, name


@pytest.mark.slow
def test_compiled_and_loaded_code_give_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", FITS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in ("compiles", "loads")
    ]
    assert len(outputs[0].split()) == 4
    for one, other in pairwise(outputs):
        assert one == other
