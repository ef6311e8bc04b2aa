"""The kernels against one core's dgemm: ``python -m benchmarks.kernel [--json]``, or some models.

A table of MovieLens-1M's shape: 3 706 items, 6 040 users, about a million ratings, both counts
falling as a power. Flops are those of the method, for r factors and w = r + 1, without what a
kernel computes twice or in vain:

- completion: nnz(r(r+1) + 6r + 2) + n(r³/3 + 3r²): Gram matrix, fitted values, gradient; Cholesky.
- biased: nnz(w(w+1) + 6w + 2) + n(w³/3 + 3w²).
- bayesian: nnz(w(w+1) + 2w² + 14w) + n(5w³/3 + 10w²): also V x for each rating, xᵀV x, and the
  terms of the variances of items; two factors, one trace and one covariance for each user.
- implicit: nnz(r(r+1) + 8r + 4) + n(r³/3 + 5r²).
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.parallel import map_in_order
from grassvine.foundations.seeds import stream
from grassvine.sums.bayes.features import TableStatistics
from grassvine.sums.bayes.step import first_state
from grassvine.sums.biased.problem import BiasedModel
from grassvine.sums.implicit.model import ImplicitModel, Strengths

RANKS = {
    "completion": (5, 10, 20),
    "biased": (10, 20),
    "bayesian": (10, 20, 40),
    "implicit": (20, 64),
}
N_ITEMS, N_USERS, N_RATINGS = 3706, 6040, 1_000_000


def movielens_shaped(seed: int = 0) -> gv.Ratings:
    """Ratings with power-law counts of users (20 at least) and items."""
    rng = stream(seed, "data", "movielens shape")
    appetite = rng.pareto(1.2, N_USERS) + 0.3
    counts = np.clip(appetite / appetite.sum() * N_RATINGS, 20, 2300)
    counts = (counts * N_RATINGS / counts.sum()).astype(int)
    popularity = rng.permutation(1.0 / (np.arange(N_ITEMS) + 30.0) ** 0.8)
    popularity /= popularity.sum()
    items = [rng.choice(N_ITEMS, count, replace=False, p=popularity) for count in counts]
    return gv.Ratings.from_arrays(
        np.repeat(np.arange(N_USERS), counts),
        np.concatenate(items),
        rng.integers(1, 6, counts.sum()).astype(float),
        n_users=N_USERS,
        n_items=N_ITEMS,
    )


def flops(kind: str, ratings: gv.Ratings, rank: int) -> float:
    r, w = rank, rank + 1
    per_rating, per_user = {
        "completion": (r * (r + 1) + 6 * r + 2, r**3 / 3 + 3 * r**2),
        "biased": (w * (w + 1) + 6 * w + 2, w**3 / 3 + 3 * w**2),
        "bayesian": (w * (w + 1) + 2 * w**2 + 14 * w, 5 * w**3 / 3 + 10 * w**2),
        "implicit": (r * (r + 1) + 8 * r + 4, r**3 / 3 + 5 * r**2),
    }[kind]
    return ratings.n_values * per_rating + ratings.n_users * per_user


def passes(kind: str, ratings: gv.Ratings, basis: Array) -> list[Callable[[], Any]]:
    """Return a pass over the ratings with one thread and with two."""
    counts = np.bincount(ratings.items, minlength=N_ITEMS).astype(float)
    biases = np.zeros(N_ITEMS)
    found: list[Callable[[], Any]] = []
    events = gv.Ratings(N_ITEMS, ratings.starts, ratings.items, np.ones(ratings.n_values))
    statistics = TableStatistics(counts, float(N_USERS), biases, 3.0, 1.4)
    problem: Any
    model: Any
    for threads in (1, 2):
        match kind:
            case "completion":
                problem, model = gv.CompletionProblem(ratings, threads=threads), basis
            case "biased":
                problem = gv.BiasedCompletionProblem(ratings, threads=threads)
                model = BiasedModel(10.0 * basis, biases, 3.0, 10.0, 3.0)
            case "bayesian":
                problem = gv.sums.BayesianCompletionProblem(ratings, threads=threads)
                model = first_state(basis, statistics).model
            case _:
                problem = gv.ImplicitProblem(events, threads=threads)
                strengths = Strengths(0.1, 0.05, 5.0, 1.0, 160.0, 20.0)
                model = ImplicitModel(5.0 * basis, biases + 0.1, strengths)
        found.append(partial(problem.evaluate, model))
    return found


def measure(kinds: tuple[str, ...] = tuple(RANKS), repeats: int = 60) -> dict[str, Any]:
    """Time one thread, two threads and dgemm in turn, so that noise meets all of them alike."""
    ratings = movielens_shaped()
    with one_blas_thread():
        rows = [
            row
            for kind in kinds
            for rank in RANKS[kind]
            for row in _rows(kind, ratings, rank, repeats)
        ]
    return {"n_ratings": ratings.n_values, "rows": rows}


def _rows(kind: str, ratings: gv.Ratings, rank: int, repeats: int) -> list[dict[str, Any]]:
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, np.random.default_rng(1))
    square = np.random.default_rng(0).standard_normal((1000, 1000))
    one, two = passes(kind, ratings, basis)
    actions: dict[str, Callable[[], Any]] = {
        "one": one,
        "two": two,
        "dgemm": lambda: square @ square,
        "two dgemms": lambda: map_in_order(lambda _: square @ square, (0, 1), 2),
    }
    seconds = dict.fromkeys(actions, np.inf)
    for _ in range(repeats):
        for name, action in actions.items():
            seconds[name] = min(seconds[name], timed(action)[1].wall)
    dgemm = 2 * len(square) ** 3 / seconds["dgemm"] / 1e9
    work = flops(kind, ratings, rank) / 1e9
    return [
        {
            "kind": kind,
            "rank": rank,
            "threads": threads,
            "mratings_per_s": ratings.n_values / seconds[name] / 1e6,
            "gflops": work / seconds[name],
            "dgemm_gflops": dgemm,
            "ratio": work / seconds[name] / dgemm,
            "speedup": seconds["one"] / seconds[name],
            "dgemm_speedup": speedup,
        }
        for threads, name, speedup in (
            (1, "one", 1.0),
            (2, "two", 2 * seconds["dgemm"] / seconds["two dgemms"]),
        )
    ]


def show(result: dict[str, Any]) -> None:
    print(
        "model       rank  threads  million ratings/s  GF/s  one core's dgemm  ratio  "
        "speed-up  dgemm's speed-up"
    )
    for row in result["rows"]:
        print(
            f"{row['kind']:10s}  {row['rank']:4d}  {row['threads']:7d}"
            f"  {row['mratings_per_s']:17.1f}"
            f"  {row['gflops']:4.1f}  {row['dgemm_gflops']:16.1f}  {row['ratio']:5.1%}"
            f"  {row['speedup']:7.2f}×  {row['dgemm_speedup']:15.2f}×"
        )


if __name__ == "__main__":
    names = tuple(name for name in sys.argv[1:] if name != "--json")
    found = measure(names or tuple(RANKS))
    print(json.dumps(found)) if "--json" in sys.argv[1:] else show(found)
