"""How far predictions of a Bayesian model may be off."""

from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np

from grassvine.data.ids import UNKNOWN
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import real_number
from grassvine.foundations.watch import Watch
from grassvine.models.ratings.parts import BayesianSolver, ItemPart, UserPart


def deviations(
    shared: ItemPart,
    private: UserPart | None,
    user: Indices,
    item: Indices,
    watch: Watch | None = None,
) -> Array:
    """Return the standard deviation of the rating of each pair of numbers around its prediction.

    −1 stands for an unknown user or item. The covariances of the users are computed from their
    ratings, not stored.
    """
    if not isinstance(shared.solver, BayesianSolver):
        raise DataError(
            "the model has no standard deviations or intervals, because it was not fitted by "
            "variational Bayes; fit it with ",
            Option("method", "bayes"),
            ".",
        )
    users, places = np.unique(user, return_inverse=True)
    known = users[users != UNKNOWN]
    table = shared.no_ratings if private is None else private.seen.choose_users(known)
    if len(known) < len(users):
        # The unknown user comes first of the distinct ones, and last of the table, without ratings.
        table = replace(table, starts=np.append(table.starts, table.starts[-1]))
        places = (places - 1) % len(users)
    return shared.solver.deviations(table, places, item, watch)


def deviations_of_level(level: object) -> float:
    """Return how many standard deviations the interval of a level reaches to both sides."""
    share = real_number("return_interval", level, least=0.0, below=1.0, error=DataError)
    return _deviations(share)


@cache
def _deviations(share: float) -> float:
    return NormalDist().inv_cdf(0.5 * (1.0 + share))
