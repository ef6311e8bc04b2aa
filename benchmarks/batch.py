"""RTRMC against the authors' figures and Pymanopt's trust region: ``python -m benchmarks.batch``.

The MovieLens row needs GRASSVINE_DATA; without it that row says so.
"""

import math
from collections.abc import Iterator
from typing import Any

from benchmarks.timing import timed
from pymanopt.optimizers import TrustRegions

import grassvine as gv
from grassvine.baselines import rtrmc, spectral_start, to_pymanopt
from grassvine.data import hold_out_ratings
from grassvine.datasets import load_ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError

RANK = 5


def measure() -> Iterator[dict[str, Any]]:
    for seed in range(4):
        yield _synthetic(seed)
    try:
        ratings = load_ratings("ml-1m").ratings
    except DataError as absent:
        yield {"what": f"MovieLens-1M was not run: {absent}"}
        return
    train, _ = hold_out_ratings(ratings, 0.2, seed=0)
    problem = gv.CompletionProblem(train.shifted(-float(train.values.mean())), unobserved=0.02)
    yield _movielens(
        "random", problem, gv.Plan(problem.n_items, RANK, gv.networks.path(2)).start(0)
    )
    yield _movielens("spectral", problem, spectral_start(problem.ratings, RANK))


def _movielens(name: str, problem: gv.CompletionProblem, start: Array) -> dict[str, Any]:
    ours, ours_took = timed(lambda: rtrmc(problem, start))
    theirs_solver = TrustRegions(verbosity=0, min_gradient_norm=1e-3, max_time=600)
    theirs, theirs_took = timed(
        lambda: theirs_solver.run(to_pymanopt(problem, RANK), initial_point=start)
    )
    return {
        "what": f"MovieLens-1M 80/20, r 5, {name} start",
        "cost": ours.cost,
        "pymanopt_cost": float(theirs.cost),
        "relative_difference": ours.cost / float(theirs.cost) - 1.0,
        "iterations": len(ours.iterations),
        "pymanopt_iterations": theirs.iterations,
        "cpu_seconds": ours_took.cpu,
        "pymanopt_cpu_seconds": theirs_took.cpu,
    }


def _synthetic(seed: int) -> dict[str, Any]:
    """The noise-free table of the authors' code: outer iterations until RMSE ≤ 1e-11."""
    ratings = gv.datasets.low_rank_ratings(
        500, 2000, RANK, oversampling=6.0, noise=0.0, seed=seed
    ).ratings
    problem, start = gv.CompletionProblem(ratings), spectral_start(ratings, RANK)
    result, took = timed(lambda: rtrmc(problem, start, tol=1e-12))
    costs = [step.cost for step in result.iterations] + [result.cost]
    errors = [math.sqrt(2.0 * cost / ratings.n_values) for cost in costs]
    return {
        "what": f"500×2000, r 5, OS 6, seed {seed}: outer iterations to RMSE ≤ 1e-11",
        "iterations": next((k for k, error in enumerate(errors) if error <= 1e-11), None),
        "rmse": errors[-1],
        "cpu_seconds": took.cpu,
    }


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        figures = ", ".join(f"{key} {value:.9g}" for key, value in row.items() if key != "what")
        print(f"{row['what']}: {figures}" if figures else row["what"], flush=True)


if __name__ == "__main__":
    show(measure())
