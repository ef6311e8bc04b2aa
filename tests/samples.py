"""Small instances of everything that claims a law."""

from collections.abc import Callable

import numpy as np

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems import LocalProblem

N_ITEMS = 20


def ratings(seed: int = 0, n_users: int = 60, n_items: int = N_ITEMS) -> gv.Ratings:
    """Every user has at least 8 ratings."""
    rng = stream(seed, "data", "test ratings")
    counts = rng.integers(8, 16, n_users)
    items = np.concatenate([rng.choice(n_items, count, replace=False) for count in counts])
    users = np.repeat(np.arange(n_users), counts)
    values = rng.standard_normal(len(users))
    return gv.Ratings.from_arrays(users, items, values, n_users=n_users, n_items=n_items)


def scarce_ratings(seed: int = 0) -> gv.Ratings:
    """Users 0 and 1 have nothing and one rating, user 2 has two, item 0 is rated by nobody."""
    whole = ratings(seed)
    users, items = whole.users_of_values(), whole.items
    place = np.arange(whole.n_values) - whole.starts[users]
    allowed = np.where(users == 0, 0, np.where(users == 1, 1, np.where(users == 2, 2, 99)))
    kept = (place < allowed) & (items != 0)
    return gv.Ratings.from_arrays(
        users[kept],
        items[kept],
        whole.values[kept],
        n_users=whole.n_users,
        n_items=whole.n_items,
    )


def tasks(seed: int = 0) -> gv.Tasks:
    """Tasks with fewer, as many and more samples than features."""
    rng = stream(seed, "data", "test tasks")
    sizes = [5, 8, N_ITEMS, N_ITEMS + 1, N_ITEMS + 2, 50]
    return gv.Tasks.from_arrays(
        [rng.standard_normal((size, N_ITEMS)) for size in sizes],
        [rng.standard_normal(size) for size in sizes],
    )


def samples(seed: int = 0) -> Array:
    return stream(seed, "data", "test samples").standard_normal((40, N_ITEMS))


def own_function(basis: Array) -> tuple[float, Array, Array]:
    """½ tr(UᵀDU) for a diagonal D: two directions are cheaper than the others."""
    price = np.where(np.arange(len(basis)) < 2, 1.0, 5.0)[:, None]
    return 0.5 * float(np.sum(price * basis**2)), price * basis, 5.0 * np.eye(basis.shape[1])


PROBLEMS: dict[str, Callable[[int], LocalProblem]] = {
    "completion": lambda seed: gv.CompletionProblem(ratings(seed)),
    "completion, λ > 0": lambda seed: gv.CompletionProblem(ratings(seed), unobserved=0.1),
    "completion, μ > 0": lambda seed: gv.CompletionProblem(ratings(seed), tikhonov=0.5),
    "completion, both": lambda seed: gv.CompletionProblem(
        ratings(seed), unobserved=0.1, tikhonov=0.5
    ),
    "completion, scarce": lambda seed: gv.CompletionProblem(scarce_ratings(seed), unobserved=0.1),
    "multitask": lambda seed: gv.MultitaskProblem(tasks(seed)),
    "multitask, λ > 0": lambda seed: gv.MultitaskProblem(tasks(seed), alpha=0.5),
    "pca": lambda seed: gv.PCAProblem(samples(seed)),
    "own": lambda seed: gv.CustomProblem(N_ITEMS, own_function),
}
