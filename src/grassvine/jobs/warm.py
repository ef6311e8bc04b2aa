"""Compile all kernels ahead of time: later processes read them from numba's cache.

Numba compiles a kernel when it is first called, for the types that it is called with. So every fit
that has kernels is run on a table of a few ratings, once with ratings that float32 represents and
once with others. What these fits do not call is called directly: recovery of a table without noise
starts where a descent fails.
"""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import ConvergenceWarning
from grassvine.foundations.seeds import stream
from grassvine.foundations.watch import Watch, part_of
from grassvine.jobs.base import Job
from grassvine.jobs.completion import CompletionJob
from grassvine.jobs.implicit import ImplicitJob
from grassvine.models import RankingModel, RatingsModel
from grassvine.models.persistence.forms import Model
from grassvine.problems import CompletionProblem
from grassvine.sums.recovery.certificate import user_traces
from grassvine.sums.recovery.model import Counts, empty_posterior, pass_over

N_USERS, N_ITEMS = 12, 8


def compile_kernels(watch: Watch | None = None) -> None:
    """Compile the kernels of all fits, unless the cache has them.

    ``watch`` is called with the completed fraction as it grows.
    """
    with TemporaryDirectory() as folder:
        jobs = [
            job
            for step in (1.0, 0.1)
            for job in _jobs(str(_write_table(Path(folder) / f"{step}.csv", step)))
        ]
        done = part_of(watch, 0.0, 1.0)
        for number, job in enumerate(jobs):
            table = job.read()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                _use(job.learn(table).model)
            _call_others(table.ratings)
            done((number + 1) / len(jobs))


def _jobs(table: str) -> Iterator[Job]:
    """Return jobs that call every kernel."""
    yield CompletionJob(table, rank=2, holdout=0.2)
    yield CompletionJob(table, rank=2, method="map")
    yield CompletionJob(table, rank=2, method="exact-subspace")
    yield CompletionJob(table, rank=2, method="exact-subspace", regularization=0.0)
    yield CompletionJob(table, rank=2, method="gossip", agents=2, max_iter=2)
    yield ImplicitJob(table)
    yield ImplicitJob(table, method="ease")


def _use(model: Model) -> None:
    """Recommend items by each score of a model."""
    if isinstance(model, RankingModel):
        model.recommend(k=2)
    elif isinstance(model, RatingsModel):
        model.recommend(k=2)
        model.recommend(k=2, score="rating")


def _call_others(ratings: Ratings) -> None:
    """Call the kernels of recovery, and that of the Hessian, which only RTRMC calls."""
    counts = Counts(ratings.n_users, ratings.n_values, 1.0)
    direction = np.full(ratings.n_items, 1.0 / math.sqrt(ratings.n_items))
    model = empty_posterior(ratings.n_items, counts).appended(direction, 1.0, counts)
    problem = CompletionProblem(ratings)
    pass_over(problem, model)
    problem.hessian_product(model.basis, model.basis)
    user_traces(ratings, model.basis)


def _write_table(path: Path, step: float) -> Path:
    """Write ratings that are multiples of a number."""
    rng = stream(0, "data", "kernels")
    known = np.argwhere(rng.random((N_USERS, N_ITEMS)) < 0.8)
    ratings = step * rng.integers(1, 6, len(known))
    rows = [
        f"{user},{item},{rating:g}" for (user, item), rating in zip(known, ratings, strict=True)
    ]
    path.write_text("\n".join(["user,item,rating", *rows]) + "\n")
    return path
