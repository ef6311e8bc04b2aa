"""Events of users with two tastes, whose items are popular to different degrees."""

import numpy as np

import grassvine as gv
from grassvine.foundations.seeds import stream

N_ITEMS = 40


def events(
    seed: int = 0,
    n_users: int = 250,
    per_user: float = 8.0,
    n_items: int = N_ITEMS,
    taste: float = 4.0,
    counted: bool = False,
) -> gv.Ratings:
    """Return what users choose: items of one half ``taste`` times as often as of the other."""
    rng = stream(seed, "data", "choices")
    popular = (np.arange(n_items) % (n_items // 2) + 1.0) ** -0.7
    half = np.arange(n_items) < n_items // 2
    likes_first = rng.random(n_users) < 0.5
    liked = np.where(likes_first[:, None] == half, taste, 1.0) * popular
    activity = per_user * rng.uniform(0.5, 1.5, (n_users, 1))
    chance = np.minimum(activity * liked / liked.sum(axis=1, keepdims=True), 0.95)
    users, items = np.nonzero(rng.random(chance.shape) < chance)
    counts = rng.integers(1, 9, len(users)) if counted else np.ones(len(users))
    return gv.Ratings.from_arrays(users, items, counts, n_users=n_users, n_items=n_items)
