"""The completion kernel against one core's dgemm: ``python -m benchmarks.kernel [--json]``.

A table of MovieLens-1M's shape: 3 706 items, 6 040 users, about a million ratings, both counts
falling as a power. Flops are those of the method: nnz(r(r+1)+6r+2) + n(r³/3+3r²).
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.parallel import map_in_order
from grassvine.foundations.seeds import stream

RANKS = (5, 10, 20)
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


def flops(ratings: gv.Ratings, rank: int) -> float:
    per_rating = rank * (rank + 1) + 6 * rank + 2
    return ratings.n_values * per_rating + ratings.n_users * (rank**3 / 3 + 3 * rank**2)


def measure(repeats: int = 100) -> dict[str, Any]:
    """Time one thread, two threads and dgemm in turn, so that noise meets all of them alike."""
    ratings = movielens_shaped()
    with one_blas_thread():
        rows = [row for rank in RANKS for row in _rows(ratings, rank, repeats)]
    return {"n_ratings": ratings.n_values, "rows": rows}


def _rows(ratings: gv.Ratings, rank: int, repeats: int) -> list[dict[str, Any]]:
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, np.random.default_rng(1))
    square = np.random.default_rng(0).standard_normal((1000, 1000))
    one, two = (gv.CompletionProblem(ratings, threads=threads) for threads in (1, 2))
    actions: dict[str, Callable[[], Any]] = {
        "one": lambda: one.evaluate(basis),
        "two": lambda: two.evaluate(basis),
        "dgemm": lambda: square @ square,
        "two dgemms": lambda: map_in_order(lambda _: square @ square, (0, 1), 2),
    }
    seconds = dict.fromkeys(actions, np.inf)
    for _ in range(repeats):
        for name, action in actions.items():
            seconds[name] = min(seconds[name], timed(action)[1].wall)
    dgemm = 2 * len(square) ** 3 / seconds["dgemm"] / 1e9
    return [
        {
            "rank": rank,
            "threads": threads,
            "mratings_per_s": ratings.n_values / seconds[name] / 1e6,
            "gflops": flops(ratings, rank) / seconds[name] / 1e9,
            "dgemm_gflops": dgemm,
            "ratio": flops(ratings, rank) / seconds[name] / 1e9 / dgemm,
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
        "rank  threads  million ratings/s  GF/s  one core's dgemm  ratio  "
        "speed-up  dgemm's speed-up"
    )
    for row in result["rows"]:
        print(
            f"{row['rank']:4d}  {row['threads']:7d}  {row['mratings_per_s']:17.1f}"
            f"  {row['gflops']:4.1f}  {row['dgemm_gflops']:16.1f}  {row['ratio']:5.1%}"
            f"  {row['speedup']:7.2f}×  {row['dgemm_speedup']:15.2f}×"
        )


if __name__ == "__main__":
    found = measure()
    print(json.dumps(found)) if "--json" in sys.argv[1:] else show(found)
