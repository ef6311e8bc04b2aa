"""Recommendations from events: ``python -m benchmarks.ranking``, or with the names of some parts.

- ``movielens``: ML-1M, all ratings as events and those of 4 or more, rank 64; a fifth of each
  user's items held out; three splits. Ours, EASE, popularity, item neighbours, and `implicit` where
  it is installed: at its defaults and with alpha and regularization chosen on the test events of
  split 0 (which favours it), at its default number of CG iterations.
- ``thinned``: ML-100K and ML-1M at random thinned to 10 % and 3 %; five and three splits, defaults.
- ``jester``: jokes rated above 0, 3,000 users; one split.
- ``ratings``: the scores by which a model of ratings recommends, ML-1M 80/20.
- ``agents``: N = 1, 10, 100: differences of the factors, sums, bytes and CPU seconds.

Differences are paired over users, ± their standard errors. One thread; CPU seconds include the
rankings of the test users.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.data.tables import RatingTable
from grassvine.data.tables.event_table import EventSplit, EventTable
from grassvine.datasets import load_ratings
from grassvine.estimators import ImplicitRecommender, MatrixCompleter
from grassvine.foundations.arrays import Indices
from grassvine.foundations.extras import load_extra
from grassvine.jobs.ranking_comparison import RankingComparison, compare_rankings
from grassvine.jobs.ranking_methods import (
    RANKED_METHODS,
    RankedMethod,
    RankingSetting,
    popularity,
)
from grassvine.metrics import found, ndcg

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


def ratings() -> None:
    """The default score of a model of ratings, for test ratings of 4 or more: nDCG@10."""
    table = load_ratings("ml-1m")
    train, test = table.hold_out(0.2, 0)
    assert test is not None
    liked = test.ratings.take_values(test.ratings.values >= 4.0)
    users = np.flatnonzero((np.diff(liked.starts) > 0) & (np.diff(train.ratings.starts) > 0))
    relevant = liked.choose_users(users)
    n_relevant = np.diff(relevant.starts)
    model, timing = timed(partial(MatrixCompleter().fit, train))
    print(
        f"\nML-1M 80/20, test ratings of 4 or more, all unrated items; fit {timing.cpu:.1f} CPU s"
    )
    lists = {score: recommended(model, users, score) for score in (None, "rating", "cautious")}
    counts = EventTable.of_ratings(train)
    split = EventSplit(counts, None, counts)
    lists["popularity"] = popularity(split, users, 10, RankingSetting())
    for name, items in lists.items():
        gains = ndcg(found(items, relevant), n_relevant, 10)
        print(f"  {name or 'default score':16s} nDCG@10 {gains.mean():.4f}", flush=True)


def recommended(model: MatrixCompleter, users: Indices, score: Any) -> Indices:
    ids = model.model_.private.users.at(users)
    frame = model.model_.recommend(ids, 10, score=score)
    lists = np.full((len(users), 10), -1)
    row = np.searchsorted(np.asarray(ids), frame["user"].to_numpy())
    numbers = model.model_.shared.items.numbers(frame["item"], "item")
    lists[row, frame["rank"].to_numpy() - 1] = numbers
    return lists


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
    "ratings": ratings,
    "agents": agents,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
