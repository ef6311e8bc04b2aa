"""Recommendations from events: ``python -m benchmarks.ranking``, or with the names of some parts.

- ``movielens``: ML-1M, all ratings as events and those of 4 or more, rank 64; a fifth of each
  user's items held out; three splits. Ours, EASE, popularity, item neighbours, and `implicit` where
  it is installed: at its defaults and with alpha and regularization chosen on the test events of
  split 0 (which favours it), at its default number of CG iterations.
- ``thinned``: ML-100K and ML-1M at random thinned to 10 % and 3 %; five and three splits, defaults.
- ``jester``: jokes rated above 0, 3,000 users; one split.
- ``agents``: N = 1, 10, 100: differences of the factors, sums, bytes and CPU seconds.

Differences are paired over users, ± their standard errors. One thread; CPU seconds include the
rankings of the test users.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.data.tables import RatingTable
from grassvine.data.tables.event_table import EventSplit, EventTable
from grassvine.datasets import load_ratings
from grassvine.estimators import ImplicitRecommender
from grassvine.foundations.arrays import Indices
from grassvine.foundations.extras import load_extra
from grassvine.jobs.ranking_comparison import RankingComparison, compare_rankings
from grassvine.jobs.ranking_methods import RANKED_METHODS, RankedMethod, RankingSetting

# alpha and regularization of `implicit` at rank 64, by the least rating of an event.
TUNED = {1.0: (5.0, 60.0), 4.0: (8.0, 60.0)}


def tuned_implicit(
    alpha: float,
    regularization: float,
    split: EventSplit,
    users: Indices,
    k: int,
    setting: RankingSetting,
) -> Indices:
    from scipy import sparse

    als = load_extra("implicit.als", "the method implicit", "compare")
    train = split.train.ratings
    shape = train.n_users, train.n_items
    ones = np.ones(train.n_values, dtype=np.float32)
    rows = sparse.csr_matrix((ones, train.items, train.starts), shape=shape)
    model = als.AlternatingLeastSquares(
        factors=setting.rank,
        alpha=alpha,
        regularization=regularization,
        random_state=setting.seed,
        num_threads=1,
    )
    model.fit(rows, show_progress=False)
    found, _ = model.recommend(users, rows[users], N=k)
    return found.astype(np.int64)


def events_of(table: RatingTable, least: float = -np.inf, share: float = 1.0) -> EventTable:
    """Return ratings of at least some value as events, perhaps thinned at random."""
    ratings = table.ratings.take_values(table.ratings.values >= least)
    if share < 1.0:
        chosen = np.random.default_rng([7, round(1000 * share)]).random(ratings.n_values) < share
        ratings = ratings.take_values(chosen)
    items, users = np.unique(ratings.items), np.flatnonzero(np.diff(ratings.starts))
    number = np.zeros(ratings.n_items, dtype=np.int32)
    number[items] = np.arange(len(items))
    kept = ratings.choose_users(users)
    counts = np.ones(kept.n_values)
    compact = gv.Ratings(len(items), kept.starts, number[kept.items], counts)
    return EventTable.of(RatingTable(table.users.take(users), table.items.take(items), compact))


def show(title: str, found: RankingComparison) -> None:
    print(f"\n{title}; {found.n_test:,} test events")
    for row in found.rows:
        difference, error = found.difference(row, "ndcg_100")
        print(
            f"  {row.method:16s} nDCG@10 {row.mean('ndcg_10'):.4f}  @100 {row.mean('ndcg_100'):.4f}"
            f"  difference {difference:+.4f} ± {error:.4f}  R@20 {row.mean('recall_20'):.4f}"
            f"  MAP {row.mean('map_100'):.4f}  coverage@10 {row.coverage.mean():.2f}"
            f"  {row.cpu_seconds.mean():.1f} CPU s",
            flush=True,
        )
    for name in found.absent:
        print(f"  {name} is not installed", flush=True)


def movielens() -> None:
    table = load_ratings("ml-1m")
    for least, (alpha, regularization) in TUNED.items():
        methods: Mapping[str, RankedMethod] = {
            **RANKED_METHODS,
            "implicit, tuned": partial(tuned_implicit, alpha, regularization),
        }
        events = events_of(table, least)
        found = compare_rankings(events, methods, RankingSetting(64), n_splits=3)
        show(f"ML-1M, ratings of {least:g} or more, rank 64", found)


def thinned() -> None:
    for name, n_splits in (("ml-100k", 5), ("ml-1m", 3)):
        table = load_ratings(name)
        for share in (0.1, 0.03):
            events = events_of(table, share=share)
            found = compare_rankings(events, [*RANKED_METHODS], RankingSetting(), n_splits=n_splits)
            show(f"{name} thinned to {share:.0%}, {events.n_ratings:,} events", found)


def jester() -> None:
    table = load_ratings("jester-1")
    events = events_of(table, least=1e-9)
    few = events.ratings.take_users(0, 3000)
    some = EventTable.of(RatingTable(events.users.take(np.arange(3000)), events.items, few))
    found = compare_rankings(some, [*RANKED_METHODS], RankingSetting(), n_splits=1)
    show("Jester, jokes rated above 0", found)


def agents() -> None:
    train = events_of(load_ratings("ml-1m")).split_for_test("random", 0.2, 0).train
    first = None
    ImplicitRecommender(4).fit(train)  # compile
    for n_agents in (1, 10, 100):
        estimator = ImplicitRecommender(64, agents=n_agents, network="exponential")
        model, timing = timed(partial(estimator.fit, train))
        rows = model.model_.shared.scorer.model.rows
        first = rows if first is None else first
        print(
            f"  {n_agents:3d} agents: {model.n_iter_} sums, {model.bytes_ / 1e6:.0f} MB sent, "
            f"factors differ by {np.abs(rows - first).max():.1e}, {timing.cpu:.1f} CPU s",
            flush=True,
        )


PARTS: Mapping[str, Callable[[], None]] = {
    "movielens": movielens,
    "thinned": thinned,
    "jester": jester,
    "agents": agents,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
