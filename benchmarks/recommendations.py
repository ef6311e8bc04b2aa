"""Recommendations beside those of `implicit`: ``python -m benchmarks.recommendations [users]``.

20,000 items, 100,000 users with 5 to 60 events of popular items, rank 64, lists of 10 without the
user's own. `implicit` (extra `compare`) has the same factors of items, and factors of users that it
only reads; ours are solved from the events (choices), or stored (ratings). One user: the median of
500 calls, at MovieLens-1M's size too.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from benchmarks.timing import timed

from grassvine.data import Ids, Ratings
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.extras import load_extra
from grassvine.foundations.seeds import stream
from grassvine.models import RankingModel, RatingsModel, UserPart
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.models.ratings.parts import BiasedSolver, ItemPart
from grassvine.sums.implicit.model import ImplicitModel, Strengths

RANK, K, REPEATS = 64, 10, 500


def events(n_users: int, n_items: int) -> Ratings:
    """Return events of items whose popularity falls as a power."""
    rng = stream(0, "data", "events")
    counts = rng.integers(5, 60, n_users)
    popularity = 1.0 / (np.arange(n_items) + 50.0) ** 0.8
    items = rng.choice(n_items, counts.sum(), p=popularity / popularity.sum())
    pairs = np.unique(np.repeat(np.arange(n_users), counts) * n_items + items)
    return Ratings.from_arrays(
        pairs // n_items, pairs % n_items, np.ones(len(pairs)), n_users=n_users, n_items=n_items
    )


def models(n_users: int, n_items: int) -> dict[str, tuple[Callable[[Any], Any], Any]]:
    """Return the functions that recommend to users, by name, and all users."""
    rng = stream(0, "start", "factors")
    seen, factors = events(n_users, n_items), 0.2 * rng.standard_normal((n_items, RANK))
    of_users = 0.2 * rng.standard_normal((n_users, RANK))
    popularity = rng.uniform(0.0, 0.3, n_items)
    counts = np.bincount(seen.items, minlength=n_items)
    users, items = (Ids(pl.Series(np.arange(count))) for count in (n_users, n_items))
    choices = ImplicitModel(factors, popularity, Strengths(0.01, 0.05, 5.0, 1.0, 30.0, 20.0))
    ranking = RankingModel(
        RankedItems(items, counts, FactorScorer(choices)), RankedUsers(users, seen)
    )
    shared = ItemPart(items, factors, popularity, 3.5, BiasedSolver(5.0, 5.0), 1.0, 5.0, counts)
    rated = RatingsModel(shared, UserPart(users, of_users, np.zeros(n_users), seen))
    sparse = load_extra("scipy.sparse", "implicit", "compare")
    als = load_extra("implicit.als", "implicit", "compare")
    ones = np.ones(seen.n_values, np.float32)
    rows = sparse.csr_matrix((ones, seen.items, seen.starts), shape=(n_users, n_items))
    theirs = als.AlternatingLeastSquares(factors=RANK, num_threads=1)
    theirs.item_factors, theirs.user_factors = factors.astype("f4"), of_users.astype("f4")
    everybody = np.arange(n_users)
    return {
        "implicit": (lambda who: theirs.recommend(who, rows[who], N=K), everybody),
        "choices": (lambda who: ranking.recommend(who, K), everybody),
        "ratings": (lambda who: rated.recommend(who, K), everybody),
    }


def main(n_users: int = 100_000) -> None:
    """Print what all users take, and one user."""
    for size in ((n_users, 20_000), (6040, 3706)):
        compared = models(*size)
        with one_blas_thread():
            for name, (recommend, everybody) in compared.items():
                recommend(everybody[:50])
                alone = 5 if name == "implicit" else [5]
                seconds = []
                for _ in range(REPEATS):
                    began = time.perf_counter()
                    recommend(alone)
                    seconds.append(time.perf_counter() - began)
                _, took = timed(lambda: recommend(everybody))  # noqa: B023
                print(
                    f"{size[0]:,} × {size[1]:,}  {name:9s} {took.cpu:6.2f} CPU s "
                    f"{took.wall:6.2f} s; one user {1e3 * np.median(seconds):.3f} ms",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
