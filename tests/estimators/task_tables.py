"""Tables of related regressions, one sample a row."""

import numpy as np

import grassvine as gv
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.seeds import stream

N_FEATURES, RANK, N_TASKS = 8, 2, 9


def table(noise: float = 0.1, seed: int = 0) -> tuple[Array, Array, Indices]:
    """Weights share a plane; features have means and units of their own, tasks their levels."""
    rng = stream(seed, "data", "table of tasks")
    sizes = rng.integers(12, 30, N_TASKS)
    tasks = rng.permutation(np.repeat(np.arange(N_TASKS), sizes))
    plain = rng.standard_normal((len(tasks), N_FEATURES))
    weights = rng.standard_normal((N_TASKS, RANK)) @ rng.standard_normal((RANK, N_FEATURES))
    levels = 10.0 * rng.standard_normal(N_TASKS)
    targets = np.einsum("nf,nf->n", plain, weights[tasks]) + levels[tasks]
    targets += noise * rng.standard_normal(len(tasks))
    return 5.0 + plain * np.arange(1.0, N_FEATURES + 1), targets, tasks


def as_table(tasks: gv.Tasks) -> tuple[Array, Array, Indices]:
    """The samples of all tasks, one under the other."""
    sizes = [len(target) for target in tasks.targets]
    number = np.repeat(np.arange(tasks.n_tasks), sizes)
    return np.vstack(tasks.features), np.concatenate(tasks.targets), number
