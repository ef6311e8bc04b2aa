"""Statistics of the ratings of all agents, by one sum."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.data.passes import total
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce


@dataclass(frozen=True, slots=True, eq=False)
class RatingStatistics:
    """Counts per item, number of users with ratings, mean and standard deviation."""

    counts: Array
    n_users: float
    centre: float
    deviation: float

    @property
    def noise_scale(self) -> float:
        """About the largest singular value of noise with the variance of the ratings."""
        total = self.counts.sum()
        return self.deviation * (
            math.sqrt(total / len(self.counts)) + math.sqrt(total / self.n_users)
        )


def rating_statistics(own_ratings: Own[Ratings], iterate: Iterate) -> Subprogram[RatingStatistics]:
    """Add up the statistics of all agents' ratings."""

    def own(data: Data) -> tuple[Array, float, float, float]:
        ratings = data[own_ratings]
        counts = ratings.item_counts().astype(np.float64)
        n_users = float(np.count_nonzero(np.diff(ratings.starts)))
        squares = total(ratings.stored, lambda values: values @ values)
        return counts, n_users, total(ratings.stored, np.sum), squares

    sums = yield from all_reduce(iterate, own)
    centre, deviation = _moments(sums)
    return _statistics(sums, centre, (yield from agree(deviation)))


def _moments(sums: Sequence[Array]) -> tuple[float, float]:
    """Return mean and standard deviation from the sums over all agents."""
    counts, _, values, squares = sums
    n_ratings = max(counts.sum(), 1.0)
    centre = float(values / n_ratings)
    variance = max(float(squares / n_ratings) - centre * centre, 0.0)
    return centre, math.sqrt(variance) or 1.0  # if all ratings are equal any scale will do


def _statistics(sums: Sequence[Array], centre: float, deviation: float) -> RatingStatistics:
    counts, n_users, _, _ = sums
    return RatingStatistics(counts, max(float(n_users), 1.0), centre, deviation)
