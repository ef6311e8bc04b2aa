"""λ and rank chosen on held-out entries: ``python -m benchmarks.validated ml-100k``.

Test RMSE of random 80/20 splits, clipped, five agents on a ring, at most rank 10; beside it that of
the exact method at fixed settings, one owner of all data fitting the same entries.
"""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.data import hold_out_ratings
from grassvine.datasets import load_ratings
from grassvine.foundations.arrays import Array
from grassvine.paper.scores import squared_errors
from grassvine.protocol.observers import AllFinished
from grassvine.sums import Validated
from grassvine.sums.program import run_pooled

RANK, N_AGENTS = 10, 5
METHODS = {
    "λ and rank": Validated(any_rank=True),
    "λ": Validated(),
    "early stop at λ = .02": Validated(unobserved=0.02),
}
FIXED = ((3, 0.006), (7, 0.004), (RANK, 0.02))


def measure(dataset: str, splits: int) -> Iterator[str]:
    ratings = load_ratings(dataset).ratings
    for split in range(splits):
        train, test = hold_out_ratings(ratings, 0.2, seed=split)
        for name, method in METHODS.items():
            (state, reason), took = timed(lambda m=method, t=train: _learned(m, t))  # type: ignore[misc]
            unobserved, centre = float(state["unobserved"][0]), float(state["centre"][0])
            error = _rmse(state["basis"], unobserved, centre, train, test)
            yield (
                f"{dataset}, split {split}, {name}, N = {N_AGENTS}: test RMSE {error:.4f}, "
                f"{int(state['updates'][0])} sums, {took.cpu:.0f} CPU s; {reason}"
            )
        centre = float(train.values.mean())
        for rank, unobserved in FIXED:
            problem = gv.CompletionProblem(train.shifted(-centre), unobserved=unobserved)
            start = gv.Plan(train.n_items, rank, gv.networks.path(2)).start(0)
            fitting = gv.Exact(tol=1e-4).program(problem, start, 0)
            basis = run_pooled(fitting, problem).iterate.basis
            error = _rmse(basis, unobserved, centre, train, test)
            yield f"{dataset}, split {split}, exact at rank {rank}, λ = {unobserved}: {error:.4f}"


def _learned(method: Validated, train: gv.Ratings) -> tuple[Any, str]:
    plan = gv.Plan(train.n_items, RANK, gv.networks.ring(N_AGENTS), method)
    parts = gv.datasets.split_users(train, N_AGENTS)
    factories = [partial(plan.agent, i, gv.CompletionProblem(part)) for i, part in enumerate(parts)]
    outcome = gv.LocalEngine().run(factories, plan.timetable, AllFinished(N_AGENTS))
    return outcome.states[0], outcome.stop_reason


def _rmse(
    basis: Array, unobserved: float, centre: float, train: gv.Ratings, test: gv.Ratings
) -> float:
    problem = gv.CompletionProblem(train.shifted(-centre), unobserved=unobserved)
    bounds = float(train.values.min()) - centre, float(train.values.max()) - centre
    total = squared_errors(problem, basis, test.shifted(-centre), bounds)
    return float(np.sqrt(total / test.n_values))


if __name__ == "__main__":
    for line in measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        print(line, flush=True)
