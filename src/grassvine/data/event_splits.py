"""Splits of events into training and test, drawn from what recommendations are used for.

- ``"random"``: a share of each user's events, at least one of each user staying in training.
- ``"users"``: a share of the users with two events or more, none of which is fitted: 80 % of their
  events are known when recommendations are made, the rest are the test (strong generalisation).
- ``"last"``: the latest event of each user with two or more.
- ``"time"``: the latest share of all events. Users and items without earlier events are part of
  the test events, but no model can know them.

The draws depend on the data and the seed alone.
"""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import choice, real_number
from grassvine.foundations.seeds import stream

HowToSplit: TypeAlias = Literal["random", "users", "last", "time"]
Mask: TypeAlias = NDArray[np.bool_]
TESTED = 0.2  # of the events of test users


def masks_of_split(
    events: Ratings, how: str, share: float, seed: int, times: Indices | None = None
) -> tuple[Mask, Mask | None, Mask]:
    """Return masks of the events fitted, of those known of test users if not fitted, and tested.

    Parameters
    ----------
    events : Ratings
    how : {"random", "users", "last", "time"}
    share : float
        The share of events or users in the test; ignored with ``"last"``.
    seed : int
    times : array of int, optional
        The rank by time of each event, which ``"last"`` and ``"time"`` need.
    """
    choice("split", how, get_args(HowToSplit), error=DataError)
    real_number("holdout", share, least=0.0, below=1.0, error=DataError)
    rng, known = stream(seed, "data", "event split"), None
    if how == "random":
        test = _share_of_each(events, np.ones(events.n_users, bool), share, rng)
        fit = ~test
    elif how == "users":
        able = np.flatnonzero(np.diff(events.starts) >= 2)  # one to know and one to test
        chosen = np.zeros(events.n_users, dtype=bool)
        chosen[rng.permutation(able)[: max(round(share * len(able)), 1)]] = True
        test = _share_of_each(events, chosen, TESTED, rng, least=1)
        of_chosen = chosen[events.users_of_values()]
        fit, known = ~of_chosen, of_chosen & ~test
    elif times is None:
        raise DataError(
            Option("split", how),
            " needs times, and the table has none; add a column of times, or use ",
            Option("split", "random"),
            ".",
        )
    else:
        test = _last_of_each(events, times) if how == "last" else _latest(times, share)
        fit = ~test
    if not test.any() or not fit.any():
        empty = "test" if fit.any() else "training"
        raise DataError(
            f"the split leaves no event for the {empty}; use more events, or another ",
            Option("holdout"),
            ".",
        )
    return fit, known, test


def _share_of_each(
    events: Ratings, users: Mask, share: float, rng: Generator, least: int = 0
) -> Mask:
    """Return a random share of the events of each of these users, but never all."""
    counts = np.diff(events.starts)
    # The fraction that is left is rounded up with its probability, so that few events count too.
    sizes = np.floor(share * counts + rng.random(len(counts))).astype(np.int64)
    sizes = np.where(users, np.minimum(np.maximum(sizes, least), np.maximum(counts - 1, 0)), 0)
    user = events.users_of_values()
    order = np.lexsort((rng.random(events.n_values), user))
    place = np.empty(events.n_values, dtype=np.int64)
    place[order] = np.arange(events.n_values) - events.starts[user[order]]
    return place < sizes[user]


def _last_of_each(events: Ratings, times: Indices) -> Mask:
    """Return the latest event of each user with two or more; the last in order of equal ones."""
    user = events.users_of_values()
    order = np.lexsort((np.arange(events.n_values), times, user))
    last = np.zeros(events.n_values, dtype=bool)
    last[order[events.starts[1:][np.diff(events.starts) >= 2] - 1]] = True
    return last


def _latest(times: Indices, share: float) -> Mask:
    """Return the latest share of all events; equal times stay together, in training."""
    if not len(times):
        return np.zeros(0, dtype=bool)
    threshold = np.sort(times)[max(len(times) - round(share * len(times)) - 1, 0)]
    return times > threshold
