"""Methods to compare on events: ours, popularity, item neighbours, and implicit if installed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.data.tables.event_table import EventSplit
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra
from grassvine.models.ranking.best import BLOCK, best, entries
from grassvine.sums.implicit.strengths import default_rank

NEIGHBOURS = 100  # similar items of each item that vote
MAX_ITEMS = 20_000  # of a dense matrix of items


@dataclass(frozen=True, slots=True)
class RankingSetting:
    """Options common to all compared methods."""

    rank: int | Literal["auto"] = "auto"
    agents: int = 1
    network: str = "ring"
    seed: int = 0


# Fits the training events and returns the best items of test users, from their given events.
RankedMethod = Callable[[EventSplit, Indices, int, RankingSetting], Indices]


def _ours(method: str) -> RankedMethod:
    def lists(split: EventSplit, users: Indices, k: int, setting: RankingSetting) -> Indices:
        from grassvine.estimators.implicit import ImplicitRecommender  # scikit-learn imports slowly

        estimator = ImplicitRecommender(
            setting.rank,
            method=method,
            agents=setting.agents,
            network=setting.network,
            random_state=setting.seed,
        ).fit(split.train)
        model = estimator.model_
        if split.known is not None:
            folded = model.fold_in(
                split.known.users, split.known.items, split.known.ratings, unknown_items="drop"
            )
            model = folded.model
        found, _ = model.best_by_number(users, k)
        return found

    return lists


def popularity(split: EventSplit, users: Indices, k: int, setting: RankingSetting) -> Indices:
    """Return the items that most users have chosen."""
    counts = split.train.counts.astype(np.float64)
    return _best_of(split, users, k, lambda own: np.tile(counts, (own.n_users, 1)))


def _item_knn(split: EventSplit, users: Indices, k: int, setting: RankingSetting) -> Indices:
    """Return items whose users are those of the user's own items, by cosine similarity."""
    if split.train.ratings.n_items > MAX_ITEMS:
        raise DataError(
            f"item-knn compares all pairs of at most {MAX_ITEMS} items; choose other methods."
        )
    rows = _matrix(split.train.ratings)
    gram = (rows.T @ rows).toarray()
    lengths = np.sqrt(np.maximum(np.diagonal(gram), 1.0))
    similar = gram / np.outer(lengths, lengths)
    np.fill_diagonal(similar, 0.0)
    if len(similar) > NEIGHBOURS:
        least = np.partition(similar, -NEIGHBOURS, axis=0)[-NEIGHBOURS]
        similar[similar < least] = 0.0
    return _best_of(split, users, k, lambda own: _matrix(own) @ similar)


def _implicit(split: EventSplit, users: Indices, k: int, setting: RankingSetting) -> Indices:
    """Return the recommendations of implicit's ALS, with its defaults except for the rank."""
    als = load_extra("implicit.als", "the method implicit", "compare")
    train, given = split.train.ratings, split.given.ratings
    rank = setting.rank
    if rank == "auto":
        rank = default_rank(train.n_values, train.n_users, train.n_items)
    model = als.AlternatingLeastSquares(factors=rank, random_state=setting.seed, num_threads=1)
    model.fit(_matrix(train).astype(np.float32), show_progress=False)
    own = _matrix(given.choose_users(users)).astype(np.float32)
    fresh = split.known is not None
    found, _ = model.recommend(
        users, own, N=min(k, train.n_items), filter_already_liked_items=True, recalculate_user=fresh
    )
    return found.astype(np.int64)


RANKED_METHODS: Mapping[str, RankedMethod] = {
    "factors": _ours("factors"),
    "ease": _ours("ease"),
    "popularity": popularity,
    "item-knn": _item_knn,
    "implicit": _implicit,
}


def _best_of(
    split: EventSplit, users: Indices, k: int, scores_of: Callable[[Ratings], Array]
) -> Indices:
    """Return the best items of users without those given, from the scores of blocks of users."""
    n_items, given = split.train.ratings.n_items, split.given.ratings
    absent = split.train.counts == 0
    lists = np.full((len(users), min(k, n_items)), -1)
    for some in _blocks(len(users), max(1, BLOCK // n_items)):
        own = given.choose_users(users[some])
        scores = scores_of(own)
        scores[:, absent] = -np.inf
        scores[entries(own, np.arange(own.n_users))] = -np.inf
        lists[some], _ = best(scores, k)
    return lists


def _blocks(count: int, size: int) -> Iterator[slice]:
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def _matrix(events: Ratings) -> Any:
    from scipy import sparse

    shape = events.n_users, events.n_items
    return sparse.csr_matrix((events.values, events.items, events.starts), shape=shape)
