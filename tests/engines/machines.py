"""Machines with another arithmetic: Python processes with other kernels or another NumPy.

``python -m tests.engines.machines`` prints the digests of some results of this process.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread

REPOSITORY = Path(__file__).parents[2]
OTHER_PYTHON = "GRASSVINE_OTHER_PYTHON"
KERNEL_CACHE = REPOSITORY / ".cache" / "numba-generic"


@dataclass(frozen=True)
class Machine:
    """An interpreter, and the variables that choose the kernels of its libraries."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes."""
        return {**os.environ, **self.variables}

    def arithmetic(self) -> dict[str, str]:
        """Return the digests of some results of a process of this machine."""
        done = subprocess.run(
            [self.python, "-m", "tests.engines.machines"],
            env=self.environment,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found


THIS = Machine("this")
OTHER_BLAS = Machine("other BLAS kernels", {"OPENBLAS_CORETYPE": "Nehalem"})
# Numba keeps what it compiles for other processors apart; a cache of its own makes sure of it.
OTHER_NUMBA = Machine(
    "other compiled kernels",
    {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(KERNEL_CACHE)},
)

DIFFERENT = THIS, OTHER_BLAS, OTHER_NUMBA


def other_numpy() -> Machine:
    """Return the machine with another NumPy."""
    return Machine("another NumPy", {}, os.environ[OTHER_PYTHON])


def why_no_other_numpy() -> str | None:
    """Return why there is no machine with another NumPy, or None if there is one."""
    if os.environ.get(OTHER_PYTHON):
        return None
    return (
        f"{OTHER_PYTHON} names no Python with another NumPy: run 'make .venv-other/installed', "
        f"then 'export {OTHER_PYTHON}=$PWD/.venv-other/bin/python'"
    )


def results() -> dict[str, str]:
    """Return the digests of results that depend on kernels, from data with the same bits anywhere.

    The data are quotients of small integers, which IEEE 754 defines to the last bit.
    """
    users, items = np.repeat(np.arange(60), 10), np.arange(600) * 7 % 30
    ratings = gv.Ratings.from_arrays(users, items, _numbers(600), n_users=60, n_items=30)
    basis = np.eye(30, 3) + 0.01 * _numbers(30, 3)
    tall = _numbers(120, 90)
    with one_blas_thread():
        kernel = gv.CompletionProblem(ratings, unobserved=0.1).evaluate(basis)
        return {
            "numpy": np.__version__,
            "product": _digest(tall.T @ tall),
            "singular values": _digest(np.linalg.svd(tall)[1]),
            "sum": _digest(np.sum(_numbers(100_000), keepdims=True)),
            "compiled kernel": _digest(kernel.gradient),
        }


def _numbers(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) * 7919 % 1009 / 1009.0 - 0.5).reshape(shape)


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(results()))
