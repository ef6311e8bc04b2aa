"""Ratings of the shape of Netflix's, made part by part where an agent lives.

17 770 items and 480 189 users with about 100 million ratings, both with heavy tails: a user's count
is log-normal, an item's popularity falls as a power of its place. The values are a low-rank table
with noise, rounded to 1 … 5 and centred.
"""

from dataclasses import dataclass

import numpy as np

import grassvine as gv
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.seeds import stream

N_ITEMS, N_USERS = 17_770, 480_189
RANK = 5  # of the table, not of the model
MEAN = 3.6
# Chosen so that the whole has about 100 million different pairs, the busiest user some thousands.
MEDIAN_COUNT, SPREAD, MOST = 140.0, 1.05, 5_000
FALL = 0.85


@dataclass(frozen=True)
class NetflixLike:
    """One agent's part of a table; calling it draws the ratings and makes the problem."""

    number: int
    n_parts: int
    n_users: int = N_USERS
    unobserved: float = 0.02

    def __call__(self) -> gv.CompletionProblem:
        bounds = np.linspace(0, self.n_users, self.n_parts + 1).round().astype(int)
        first, last = int(bounds[self.number]), int(bounds[self.number + 1])
        return gv.CompletionProblem(draw_users(first, last), unobserved=self.unobserved)


def draw_users(first: int, last: int) -> gv.Ratings:
    """Draw the ratings of users first … last−1: the same whoever holds them."""
    blocks = [_draw_block(block) for block in range(first // BLOCK, -(-last // BLOCK))]
    low = first - first // BLOCK * BLOCK
    keys = np.concatenate([k + n * BLOCK * N_ITEMS for n, (k, _) in enumerate(blocks)])
    values = np.concatenate([v for _, v in blocks])
    kept = slice(
        int(np.searchsorted(keys, low * N_ITEMS)),
        int(np.searchsorted(keys, (low + last - first) * N_ITEMS)),
    )
    user = keys[kept] // N_ITEMS - low
    starts = np.searchsorted(user, np.arange(last - first + 1)).astype(np.int64)
    items = (keys[kept] % N_ITEMS).astype(np.int32)
    return gv.Ratings(N_ITEMS, starts, items, values[kept])


BLOCK = 1_000  # users that are drawn together


def _draw_block(block: int) -> tuple[Indices, Array]:
    """Return places (user within the block, item) as numbers in ascending order, and values."""
    rng = stream(0, "data", "netflix-like", block)
    counts = np.minimum(rng.lognormal(np.log(MEDIAN_COUNT), SPREAD, BLOCK), MOST).astype(np.int64)
    users = np.repeat(np.arange(BLOCK), counts)
    popularity, factors = _items()
    items = np.searchsorted(popularity, rng.random(len(users))).astype(np.int64)
    keys = np.unique(users * N_ITEMS + items)
    user, item = keys // N_ITEMS, keys % N_ITEMS
    tastes = rng.standard_normal((BLOCK, RANK))
    values = MEAN + 0.9 * rng.standard_normal(len(keys))
    for of_item, of_user in zip(factors.T, tastes.T, strict=True):
        values += of_item[item] * of_user[user]
    return keys, np.clip(np.round(values), 1.0, 5.0) - MEAN


def _items() -> tuple[Array, Array]:
    """Return the cumulated popularity of the items, and their factors."""
    weights = (np.arange(N_ITEMS) + 20.0) ** -FALL
    rng = stream(0, "data", "netflix-like items")
    return np.cumsum(weights) / weights.sum(), 0.25 * rng.standard_normal((N_ITEMS, RANK))
