"""The cases of the paper at sizes that take moments: the same code, a few slots."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets.rating_files import u_data

import grassvine as gv
from grassvine.foundations.errors import DataError
from grassvine.paper import CASES, Case
from grassvine.paper.completion import CompletionExperiment, OneOf
from grassvine.paper.ratings import Protocol, RatingsExperiment
from grassvine.paper.real_tasks import BenchmarkExperiment
from grassvine.paper.synthetic_tasks import SubspaceExperiment, SyntheticTasks
from grassvine.paper.variants import Variant
from grassvine.protocol import Method
from grassvine.sums import BayesianFactorization, BiasedFactorization

N_AGENTS = 3
N_TEST = 500


def tiny_cases(slots: int = 8) -> dict[str, Case]:
    """Every case by name; each agent at an end of the path makes at most so many updates."""
    return {name: _tiny(case, slots) for name, case in CASES.items()}


def make_small_worlds(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Give the cases small test sets, small tasks, and a file of ratings; returns that file."""
    patch.setattr("grassvine.paper.completion.N_TEST", N_TEST)
    patch.setattr("grassvine.paper.real_tasks.load_tasks", _small_tasks)
    file = folder / "u.data"
    file.write_text(u_data(_small_ratings()))
    return file


def _tiny(case: Case, slots: int) -> Case:
    return replace(case, experiment=_tiny_experiment(case.experiment, slots))


def _tiny_experiment(experiment: Any, slots: int) -> Any:
    match experiment:
        case CompletionExperiment():
            table = replace(experiment.tables["small"], n_items=25, n_users=120, rank=2)
            methods = tuple(_short(method, slots) for method in experiment.methods)
            return replace(experiment, tables={"small": table}, methods=methods, n_agents=N_AGENTS)
        case RatingsExperiment():
            return replace(
                experiment,
                protocols={"other": Protocol((2, 3), (2, N_AGENTS), 10.0)},
                repeats={"small": 1},
                small_ranks=(2, 3),
                updates=slots,
                beside=tuple(_short_variant(variant, slots) for variant in experiment.beside),
            )
        case SubspaceExperiment():
            variants = tuple(_short_variant(variant, slots) for variant in experiment.variants)
            sizes = SyntheticTasks(12, 30, 2)
            return replace(experiment, sizes={"small": sizes}, variants=variants, n_agents=N_AGENTS)
        case BenchmarkExperiment():
            variants = tuple(_short_variant(variant, slots) for variant in experiment.variants)
            return replace(
                experiment,
                ranks={"small": (2, 5)},
                repeats={"small": 1},
                variants=variants,
                n_agents=N_AGENTS,
            )
    raise AssertionError(f"no tiny sizes for {experiment}")


def _short(method: Variant | OneOf, slots: int) -> Variant | OneOf:
    if isinstance(method, OneOf):
        return OneOf(tuple(_short_variant(each, slots) for each in method.candidates[:2]))
    return _short_variant(method, slots)


def _short_variant(variant: Variant, slots: int) -> Variant:
    def method(n_agents: int) -> Method:
        made: Any = variant.method(n_agents)
        if isinstance(made, gv.Exact):
            return replace(made, max_iter=slots)
        if isinstance(made, BiasedFactorization):
            return replace(made, max_iter=max(1, slots // 4))
        if isinstance(made, BayesianFactorization):
            return replace(made, max_iter=3)
        return replace(made, max_iter=slots * (n_agents - 1))

    return replace(variant, method=method)


def _small_tasks(name: str) -> gv.Tasks:
    if name not in ("parkinsons", "school"):
        raise DataError(f"no tasks {name}; choose another.")
    return gv.datasets.subspace_tasks(8, 12, 3, samples=(10, 20), noise=1.0, seed=len(name)).tasks


def _small_ratings() -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(5)
    known = rng.random((40, 30)) < 0.4
    known[:, 0] = known[0, :] = True
    stars = np.clip(np.round(3.0 + rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))), 1, 5)
    return [
        (int(user) + 1, int(item) + 1, float(stars[user, item]))
        for user, item in np.argwhere(known)
    ]


def request_options(name: str, file: Path) -> dict[str, Any]:
    """What a case must be asked for besides its sizes."""
    return {"datasets": {"case5": (str(file),), "case7": ("parkinsons",)}.get(name, ())}
