"""Functions that split data among agents, or into training and test parts."""

from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import real_number, whole_number
from grassvine.foundations.seeds import stream


def split_users(ratings: Ratings, n_agents: int) -> list[Ratings]:
    """Split the users into equal parts, keeping their order.

    Examples
    --------
    >>> import grassvine as gv
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0).ratings
    >>> [part.n_users for part in gv.datasets.split_users(ratings, 3)]
    [67, 66, 67]
    """
    bounds = _equal_shares(ratings.n_users, "users", n_agents)
    return [ratings.take_users(first, last) for first, last in pairwise(bounds)]


def split_users_by_owner(ratings: Ratings, owners: Indices) -> list[Ratings]:
    """Split the users by agent, keeping their order; ``owners`` has the agent of each user.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> ratings = gv.Ratings.from_arrays([0, 1, 2], [0, 0, 1], [5.0, 3.0, 4.0])
    >>> [part.n_users for part in gv.datasets.split_users_by_owner(ratings, np.array([0, 1, 0]))]
    [2, 1]
    """
    return [ratings.choose_users(np.flatnonzero(owners == agent)) for agent in np.unique(owners)]


def split_tasks(tasks: Tasks, n_agents: int) -> list[Tasks]:
    """Split the tasks into equal parts, keeping their order.

    Examples
    --------
    >>> import grassvine as gv
    >>> tasks = gv.datasets.subspace_tasks(10, 20, rank=2).tasks
    >>> [part.n_tasks for part in gv.datasets.split_tasks(tasks, 3)]
    [7, 6, 7]
    """
    bounds = _equal_shares(tasks.n_tasks, "tasks", n_agents)
    return [tasks.take_tasks(first, last) for first, last in pairwise(bounds)]


def split_samples(samples: Array, n_agents: int) -> list[Array]:
    """Split the rows into equal parts, keeping their order.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> [len(part) for part in gv.datasets.split_samples(np.zeros((10, 3)), 4)]
    [2, 3, 3, 2]
    """
    bounds = _equal_shares(len(samples), "samples", n_agents)
    return [samples[first:last] for first, last in pairwise(bounds)]


def hold_out_ratings(
    ratings: Ratings, share: float = 0.2, *, seed: int = 0
) -> tuple[Ratings, Ratings]:
    """Split the entries at random into a training part and a test part.

    Parameters
    ----------
    ratings : Ratings
    share : float, default=0.2
        Fraction of the entries in the test part.
    seed : int, default=0
        Random seed.

    Returns
    -------
    train, test : Ratings

    Examples
    --------
    >>> import grassvine as gv
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0).ratings
    >>> train, test = gv.datasets.hold_out_ratings(ratings, 0.25)
    >>> train.n_values + test.n_values == ratings.n_values
    True
    """
    real_number("share", share, least=0.0, below=1.0, error=DataError)
    test = _random_share(ratings.n_values, share, stream(seed, "data", "hold-out"))
    return ratings.take_values(~test), ratings.take_values(test)


def hold_out_samples(tasks: Tasks, share: float = 0.2, *, seed: int = 0) -> tuple[Tasks, Tasks]:
    """Split the samples of each task at random into a training part and a test part.

    Parameters
    ----------
    tasks : Tasks
    share : float, default=0.2
        Fraction of each task's samples in the test part.
    seed : int, default=0
        Random seed.

    Returns
    -------
    train, test : Tasks

    Examples
    --------
    >>> import grassvine as gv
    >>> tasks = gv.datasets.subspace_tasks(10, 20, rank=2).tasks
    >>> train, test = gv.datasets.hold_out_samples(tasks, 0.25)
    >>> train.n_tasks == test.n_tasks == tasks.n_tasks
    True
    """
    real_number("share", share, least=0.0, below=1.0, error=DataError)
    rng = stream(seed, "data", "hold-out")
    test = [_random_share(len(target), share, rng) for target in tasks.targets]
    return tasks.take_samples([~chosen for chosen in test]), tasks.take_samples(test)


def hold_out_of_users(ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
    """Hold out about the given share of the entries; return the rest and the held-out ones.

    A hash of the seed, the item and the sum of the user's item indices selects the entries. The
    split, and any option chosen on it, is therefore the same whichever agent holds the user.
    """
    real_number("share", share, least=0.0, below=1.0, error=DataError)
    whole_number("seed", seed, least=0, error=DataError)
    before = np.concatenate([[0], np.cumsum(ratings.items, dtype=np.int64)])[ratings.starts]
    key = np.diff(before).astype(np.uint64) + np.uint64(seed % 2**32 << 32)
    hashes = _splitmix64(
        _splitmix64(key)[ratings.users_of_values()] + ratings.items.astype(np.uint64)
    )
    held = hashes < np.uint64(int(share * 2**64))
    return ratings.take_values(~held), ratings.take_values(held)


def hold_out_entries(samples: Array, share: float, seed: int) -> NDArray[np.bool_]:
    """Return a mask of about the given share of the known entries; missing ones are NaN.

    A hash of the seed, the column and the bits of the whole sample selects the entries. The mask,
    and any option chosen on it, is therefore the same whichever agent holds the sample.
    """
    real_number("share", share, least=0.0, below=1.0, error=DataError)
    whole_number("seed", seed, least=0, error=DataError)
    known = ~np.isnan(samples)
    columns = np.arange(samples.shape[1], dtype=np.uint64)
    bits = np.ascontiguousarray(np.where(known, samples + 0.0, 0.0)).view(np.uint64)  # −0 is 0
    keys = np.sum(_splitmix64(_splitmix64(bits) + columns), axis=1)
    keys += np.uint64(seed % 2**32 << 32)
    hashes = _splitmix64(_splitmix64(keys)[:, None] + columns)
    return known & (hashes < np.uint64(int(share * 2**64)))


def fold_ratings(ratings: Ratings, n_folds: int, *, seed: int = 0) -> list[tuple[Ratings, Ratings]]:
    """Split the entries at random into folds; return a training and a test part for each fold.

    Examples
    --------
    >>> import grassvine as gv
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0).ratings
    >>> folds = gv.datasets.fold_ratings(ratings, 3)
    >>> sum(test.n_values for train, test in folds) == ratings.n_values
    True
    """
    fold = _folds(ratings.n_values, "ratings", n_folds, stream(seed, "data", "folds"))
    return [
        (ratings.take_values(fold != number), ratings.take_values(fold == number))
        for number in range(n_folds)
    ]


def fold_samples(tasks: Tasks, n_folds: int, *, seed: int = 0) -> list[tuple[Tasks, Tasks]]:
    """Split each task's samples into random folds; return a training and test part per fold.

    Examples
    --------
    >>> import grassvine as gv
    >>> tasks = gv.datasets.subspace_tasks(10, 20, rank=2).tasks
    >>> folds = gv.datasets.fold_samples(tasks, 3)
    >>> sum(test.n_values for train, test in folds) == tasks.n_values
    True
    """
    rng = stream(seed, "data", "folds")
    folds = [_folds(len(y), "samples in a task", n_folds, rng) for y in tasks.targets]
    return [
        (
            tasks.take_samples([fold != number for fold in folds]),
            tasks.take_samples([fold == number for fold in folds]),
        )
        for number in range(n_folds)
    ]


def _splitmix64(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _random_share(total: int, share: float, rng: Generator) -> NDArray[np.bool_]:
    """Return a random mask that selects the given share."""
    return rng.permutation(total) < round(share * total)


def _folds(total: int, what: str, n_folds: int, rng: Generator) -> Indices:
    """Assign entries to folds of about the same size."""
    why = f"there are {total} {what}"
    whole_number("n_folds", n_folds, least=2, most=total, why=why, error=DataError)
    return rng.permutation(total) % n_folds


def _equal_shares(total: int, what: str, n_agents: int) -> list[int]:
    why = f"there are {total} {what} and each agent needs one"
    whole_number("n_agents", n_agents, least=1, most=total, why=why, error=DataError)
    return [int(bound) for bound in np.linspace(0, total, n_agents + 1).round()]
