"""Generators of the paper's synthetic data.

The data come from random streams named ``data``, separate from those of the starting points: with
a shared stream, a starting point could equal the solution.
"""

import math
from dataclasses import dataclass

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import rank_within, real_number, whole_number
from grassvine.foundations.seeds import stream

MAX_DRAWS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class LowRankRatings:
    """Sampled entries of a low-rank table, their true subspace and a test set.

    Attributes
    ----------
    ratings : Ratings
        Known entries, with noise.
    subspace : array of shape (n_items, rank)
        Orthonormal basis of the true subspace.
    test : Ratings or None
        Noise-free entries that are not among the known ones.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0, n_test=50)
    >>> data.ratings.n_users, data.subspace.shape, data.test.n_values <= 50
    (200, (30, 2), True)
    """

    ratings: Ratings
    subspace: Array
    test: Ratings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SubspaceTasks:
    """Regression tasks whose weights lie in one subspace, and that subspace.

    Attributes
    ----------
    tasks : Tasks
    subspace : array of shape (n_items, rank)
        Orthonormal basis U* of the true subspace.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(10, 20, rank=2)
    >>> data.tasks.n_tasks, data.subspace.shape
    (20, (10, 2))
    """

    tasks: Tasks
    subspace: Array


def low_rank_ratings(
    n_items: int,
    n_users: int,
    rank: int,
    *,
    oversampling: float,
    noise: float = 1e-6,
    condition: float | None = None,
    least_entries: int = 0,
    n_test: int = 0,
    seed: int = 0,
) -> LowRankRatings:
    """Generate ratings as in Cases 1 to 4 of the paper.

    The table is ABᵀ with standard Gaussian factors. Its known entries are sampled uniformly without
    replacement.

    Parameters
    ----------
    n_items, n_users : int
        Shape of the table, m×n.
    rank : int
        Rank r of the table.
    oversampling : float
        OS: OS·(mr + nr − r²) entries are known.
    noise : float, default=1e-6
        Standard deviation of the Gaussian noise added to the known entries.
    condition : float, optional
        If given, the table is A·diag(s)·Bᵀ with orthonormal A and B, where s decays exponentially
        from √(mn) to √(mn)/condition.
    least_entries : int, default=0
        The known entries are drawn again until every item and every user has this many.
    n_test : int, default=0
        Number of entries drawn for the test set; those that are known are removed from it.
    seed : int, default=0
        Random seed.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0)
    >>> round(data.ratings.n_values / (2 * (30 + 200 - 2)))  # the oversampling
    4
    """
    whole_number("n_items", n_items, least=1, error=DataError)
    whole_number("n_users", n_users, least=1, error=DataError)
    why = f"a table of {n_items} items and {n_users} users has at most rank {min(n_items, n_users)}"
    whole_number("rank", rank, least=1, most=min(n_items, n_users), why=why, error=DataError)
    real_number("oversampling", oversampling, least=0.0, error=DataError)
    real_number("noise", noise, least=0.0, error=DataError)
    whole_number("least_entries", least_entries, least=0, error=DataError)
    whole_number("n_test", n_test, least=0, most=n_items * n_users, error=DataError)
    if condition is not None:
        real_number("condition", condition, least=1.0, error=DataError)
    n_known = round(oversampling * rank * (n_items + n_users - rank))
    if n_known > n_items * n_users:
        most = n_items * n_users / (rank * (n_items + n_users - rank))
        raise DataError(
            f"oversampling {oversampling:g} requires {n_known} of {n_items * n_users} entries; "
            f"choose at most {math.floor(1000 * most) / 1000}."
        )
    item_factors = stream(seed, "data", "item factors").standard_normal((n_items, rank))
    user_factors = stream(seed, "data", "user factors").standard_normal((n_users, rank))
    subspace = np.linalg.qr(item_factors)[0]
    if condition is not None:
        largest = np.sqrt(n_items * n_users)
        item_factors = subspace * np.geomspace(largest, largest / condition, rank)
        user_factors = np.linalg.qr(user_factors)[0]
    places = _known_places(n_items, n_users, n_known, least_entries, seed)
    errors = stream(seed, "data", "noise").standard_normal(n_known) * noise
    ratings = _entries(places, item_factors, user_factors, errors)
    return LowRankRatings(
        ratings, subspace, _test_set(places, item_factors, user_factors, n_test, seed)
    )


def _known_places(n_items: int, n_users: int, n_known: int, least: int, seed: int) -> Indices:
    """Return entries of the table with at least ``least`` per item and per user."""
    enough = n_known >= least * max(n_items, n_users)
    for draw in range(MAX_DRAWS if enough else 0):
        places = _draw_places(
            f"places {draw}" if draw else "places", n_items * n_users, n_known, seed
        )
        users, items = np.divmod(places, n_items)
        fewest = min(
            np.bincount(users, minlength=n_users).min(), np.bincount(items, minlength=n_items).min()
        )
        if fewest >= least:
            return places
    raise DataError(
        f"among {n_known} random entries some item or user has fewer than {least}; "
        "choose a larger oversampling or a smaller least_entries."
    )


def _draw_places(name: str, total: int, count: int, seed: int) -> Indices:
    """Return sorted indices of distinct entries, numbered user by user."""
    drawn = stream(seed, "data", name).choice(total, count, replace=False, shuffle=False)
    return np.sort(drawn)


def _entries(places: Indices, item_factors: Array, user_factors: Array, errors: Array) -> Ratings:
    n_items, n_users = len(item_factors), len(user_factors)
    user, item = np.divmod(places, n_items)
    values = errors.copy()
    for item_column, user_column in zip(item_factors.T, user_factors.T, strict=True):
        values += item_column[item] * user_column[user]
    return Ratings.from_arrays(user, item, values, n_users=n_users, n_items=n_items)


def _test_set(
    known: Indices, item_factors: Array, user_factors: Array, n_test: int, seed: int
) -> Ratings | None:
    total = len(item_factors) * len(user_factors)
    drawn = _draw_places("test places", total, n_test, seed)
    unknown = np.setdiff1d(drawn, known, assume_unique=True)
    if not len(unknown):
        return None
    return _entries(unknown, item_factors, user_factors, np.zeros(len(unknown)))


def subspace_tasks(
    n_items: int,
    n_tasks: int,
    rank: int,
    *,
    samples: tuple[int, int] = (10, 50),
    noise: float = 1e-6,
    seed: int = 0,
) -> SubspaceTasks:
    """Generate tasks as in Case 6 of the paper: y_t = X_t U*U*ᵀw_t + noise.

    X_t and w_t are standard Gaussian.

    Parameters
    ----------
    n_items : int
        Number of features.
    n_tasks : int
        Number of tasks.
    rank : int
        Dimension of the subspace U*.
    samples : pair of int, default=(10, 50)
        Smallest and largest number of samples per task.
    noise : float, default=1e-6
        Standard deviation of the Gaussian noise added to the targets.
    seed : int, default=0
        Random seed.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.subspace_tasks(n_items=10, n_tasks=20, rank=2, samples=(5, 9))
    >>> {len(targets) for targets in data.tasks.targets} <= set(range(5, 10))
    True
    """
    whole_number("n_items", n_items, least=1, error=DataError)
    rank_within(rank, n_items, error=DataError)
    whole_number("n_tasks", n_tasks, least=1, error=DataError)
    fewest = whole_number("samples[0]", samples[0], least=1, error=DataError)
    whole_number("samples[1]", samples[1], least=fewest, error=DataError)
    real_number("noise", noise, least=0.0, error=DataError)
    subspace = np.linalg.qr(stream(seed, "data", "subspace").standard_normal((n_items, rank)))[0]
    sizes = stream(seed, "data", "sizes").integers(samples[0], samples[1] + 1, n_tasks)
    of_features = stream(seed, "data", "features")
    of_weights = stream(seed, "data", "weights")
    of_noise = stream(seed, "data", "noise")
    features = [of_features.standard_normal((size, n_items)) for size in sizes]
    weights = [subspace @ (subspace.T @ of_weights.standard_normal(n_items)) for _ in sizes]
    targets = [
        x @ w + noise * of_noise.standard_normal(len(x))
        for x, w in zip(features, weights, strict=True)
    ]
    return SubspaceTasks(Tasks.from_arrays(features, targets), subspace)
