"""The completion kernel against one core's dgemm: ``python -m benchmarks.kernel [--json]``.

A table of MovieLens-1M's shape: 3 706 items, 6 040 users, about a million ratings, both counts
falling as a power. Flops are those of the method: nnz(r(r+1)+6r+2) + n(r³/3+3r²).
"""

import json
import sys
from typing import Any

import numpy as np
from benchmarks.timing import best

import grassvine as gv
from grassvine.foundations.blas import one_blas_thread
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


def measure(repeats: int = 30) -> dict[str, Any]:
    """Time one and two threads and dgemm in turn, so that noise meets all three alike."""
    ratings = movielens_shaped()
    square = np.random.default_rng(0).standard_normal((1500, 1500))
    rows = []
    with one_blas_thread():
        for rank in RANKS:
            basis = gv.Grassmann().random_point(N_ITEMS, rank, np.random.default_rng(1))
            problems = [gv.CompletionProblem(ratings, threads=threads) for threads in (1, 2)]
            seconds = {1: np.inf, 2: np.inf}
            product = np.inf
            for _ in range(repeats):
                for problem in problems:
                    took = best(lambda: problem.evaluate(basis), 1).wall  # noqa: B023
                    seconds[problem.threads] = min(seconds[problem.threads], took)
                product = min(product, best(lambda: square @ square, 1).wall)
            dgemm = 2 * 1500**3 / product / 1e9
            for threads, took in seconds.items():
                gflops = flops(ratings, rank) / took / 1e9
                rows.append(
                    {
                        "rank": rank,
                        "threads": threads,
                        "mratings_per_s": ratings.n_values / took / 1e6,
                        "gflops": gflops,
                        "dgemm_gflops": dgemm,
                        "ratio": gflops / dgemm,
                        "speedup": seconds[1] / took,
                    }
                )
    return {"n_ratings": ratings.n_values, "rows": rows}


def show(result: dict[str, Any]) -> None:
    print("rank  threads  million ratings/s  GF/s  one core's dgemm  ratio  against one thread")
    for row in result["rows"]:
        print(
            f"{row['rank']:4d}  {row['threads']:7d}  {row['mratings_per_s']:17.1f}"
            f"  {row['gflops']:4.1f}  {row['dgemm_gflops']:16.1f}  {row['ratio']:5.1%}"
            f"  {row['speedup']:.2f}×"
        )


if __name__ == "__main__":
    found = measure()
    print(json.dumps(found)) if "--json" in sys.argv[1:] else show(found)
