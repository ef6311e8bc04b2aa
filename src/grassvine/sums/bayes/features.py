r"""What is known of an item before its ratings are weighed: who rated it, and how many.

Ratings are not missing at random: which items are rated by the same users says what they have in
common. With O the users×items matrix that is 1 where there is a rating, and n the numbers of
ratings, the leading right singular vectors V of

.. math:: \tilde O = \operatorname{diag}(n_j)^{-1/2}\, O\, \operatorname{diag}(n_i)^{-1/2}

are found by power iterations, of which every agent needs one sum. The features of an item are
log(1 + n_i) and the mean, over the users who rated it, of their whitened rows of
:math:`\tilde O V`.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from grassvine.data.passes import total
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.seeds import stream
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce

N_FEATURES, N_MORE = 40, 5  # columns of V that are used, and that help to find them
N_POWER_ITERATIONS = 3
SHRINKAGE = 10.0  # users without anything in common, added to the mean over users
RIDGE = 10.0  # items or users without an effect of their features, added to a regression
# The standardised log(1 + n_i) of an item without ratings: fewer than most have, but it may be new.
UNRATED = -1.0
# Smaller directions are rounding errors.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class TableStatistics:
    """Counts and sums over all agents: of the ratings, and of the standardised ones per item.

    Attributes
    ----------
    counts : array of shape (n_items,)
        Ratings per item.
    n_users : float
        Users with ratings.
    item_sums : array of shape (n_items,)
        Sum of the standardised ratings per item.
    centre, scale : float
        Mean and standard deviation of all ratings.
    """

    counts: Array
    n_users: float
    item_sums: Array
    centre: float
    scale: float

    @property
    def density(self) -> float:
        """The number of ratings for each user and item."""
        n_items = np.count_nonzero(self.counts)
        return float(self.n_ratings / max(n_items + self.n_users, 1.0))

    @property
    def n_ratings(self) -> float:
        """The number of all ratings."""
        return max(float(self.counts.sum()), 1.0)


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Standardised features of the items, and ridge regression on those of the rated ones.

    Attributes
    ----------
    rows : array of shape (n_items + 1, n_features)
        The last one is that of any item without ratings.
    rated : bool array of shape (n_items,)
    """

    rows: Array
    rated: NDArray[np.bool_]

    @cached_property
    def _projection(self) -> Array:
        """The matrix that turns targets of the rated items into coefficients."""
        rows = self.rows[:-1][self.rated]
        ridge = RIDGE * np.eye(rows.shape[1])
        return np.linalg.solve(rows.T @ rows + ridge, rows.T).astype(np.float64)

    def fitted(self, targets: Array) -> Array:
        """Return what the regression expects of each row, from the targets of the rated items."""
        known = targets[self.rated]
        mean = known.mean(axis=0)
        fitted: Array = mean + self.rows @ (self._projection @ (known - mean))
        return fitted


def table_statistics(own_ratings: Own[Ratings], iterate: Iterate) -> Subprogram[TableStatistics]:
    """Add up the statistics of all agents' ratings, in two sums."""

    def own(data: Data) -> tuple[Array, float, float]:
        ratings = data[own_ratings]
        counts = ratings.item_counts().astype(np.float64)
        n_users = float(np.count_nonzero(np.diff(ratings.starts)))
        return counts, n_users, total(ratings.stored, np.sum)

    counts, n_users, values = yield from all_reduce(iterate, own)
    n_ratings = max(float(counts.sum()), 1.0)
    centre = yield from agree(float(values) / n_ratings)

    def own_centred(data: Data) -> tuple[Array, float]:
        # Centred first: the squares of ratings far from 0 would lose the digits of the variance.
        ratings = data[own_ratings]
        squares = total(ratings.stored, lambda values: (values - centre) @ (values - centre))
        return ratings.item_sums(centre), squares

    sums, squares = yield from all_reduce(iterate, own_centred)
    deviation = math.sqrt(max(float(squares) / n_ratings, 0.0))
    # Equal ratings deviate by rounding errors; then any scale will do.
    scale = yield from agree(deviation if deviation > 1e-12 * abs(centre) else 1.0)
    return _statistics(counts, float(n_users), sums, centre, scale)


def _statistics(
    counts: Array, n_users: float, sums: Array, centre: float, scale: float
) -> TableStatistics:
    return TableStatistics(counts, n_users, sums / scale, centre, scale)


@dataclass(frozen=True, eq=False)
class CoRatings:
    """Products with Õ of one agent's users.

    Attributes
    ----------
    ratings : Ratings
    counts : array of shape (n_items,)
        Ratings per item of all agents.
    """

    ratings: Ratings
    counts: Array

    def rows(self, block: Array) -> Array:
        """Return Õ·block."""
        sums = np.zeros((self.ratings.n_users, block.shape[1]))
        _kernels().add_rows_of_items(*self._places, self._of_items * block, sums)
        rows: Array = self._of_users * sums
        return rows

    def product(self, block: Array) -> Array:
        """Return ÕᵀÕ·block."""
        product: Array = self._of_items * self.over_users(self._of_users * self.rows(block))
        return product

    def over_users(self, rows: Array) -> Array:
        """Return the sum of the rows of the users who rated each item."""
        sums = np.zeros((self.ratings.n_items, rows.shape[1]))
        _kernels().add_rows_of_users(*self._places, rows, sums)
        return sums

    @property
    def _places(self) -> tuple[Indices, NDArray[np.int32]]:
        return self.ratings.starts, self.ratings.items

    @cached_property
    def _of_users(self) -> Array:
        own = np.maximum(np.diff(self.ratings.starts), 1)
        return (1.0 / np.sqrt(own))[:, None]

    @cached_property
    def _of_items(self) -> Array:
        return (1.0 / np.sqrt(np.maximum(self.counts, 1.0)))[:, None]


def item_features(
    ratings: Own[Ratings], counts: Array, seed: int, iterate: Iterate
) -> Subprogram[ItemFeatures]:
    """Find the features of the items, in four sums."""
    own = Own(lambda data: CoRatings(data[ratings], counts))

    def own_product(block: Array, data: Data) -> tuple[Array]:
        return (data[own].product(block),)

    def own_means(block: Array, data: Data) -> tuple[Array, Array]:
        rows = data[own].rows(block)
        return data[own].over_users(rows), rows.T @ rows

    n_items = len(counts)
    size = min(N_FEATURES + N_MORE, n_items)
    block = _orthonormal(stream(seed, "co-rating").standard_normal((n_items, size)))
    for _ in range(N_POWER_ITERATIONS):
        (product,) = yield from all_reduce(iterate, partial(own_product, block))
        block = _orthonormal(product)
    sums, gram = yield from all_reduce(iterate, partial(own_means, block))
    energies = np.linalg.eigvalsh(gram)[::-1]
    large = int(np.count_nonzero(energies > NEGLIGIBLE * max(energies[0], 1e-300)))
    n_features = yield from agree(min(large, N_FEATURES))
    return _features(sums, gram, counts, int(n_features))


def _features(sums: Array, gram: Array, counts: Array, n_features: int) -> ItemFeatures:
    energies, axes = np.linalg.eigh(gram)
    largest = slice(len(energies) - n_features, None)
    whitening = axes[:, largest] / np.sqrt(energies[largest])
    shared = (sums @ whitening) / (counts[:, None] + SHRINKAGE)
    rated = counts > 0
    rows = np.column_stack([np.log1p(counts), shared])
    largest_values = np.abs(rows).max(axis=0)
    rows = rows - rows[rated].mean(axis=0)
    deviations = np.sqrt(np.mean(rows[rated] ** 2, axis=0))
    varies = deviations > NEGLIGIBLE * largest_values
    rows = rows / np.where(varies, deviations, np.inf)
    of_unrated = np.zeros(rows.shape[1])
    of_unrated[0] = UNRATED if varies[0] else 0.0
    rows[~rated] = of_unrated
    return ItemFeatures(np.vstack([rows, of_unrated]), rated)


def _orthonormal(block: Array) -> Array:
    """Return an orthonormal basis of the columns, whose signs do not depend on the library."""
    basis, triangle = np.linalg.qr(block)
    return basis * np.where(np.diag(triangle) < 0.0, -1.0, 1.0)


def _kernels() -> ModuleType:
    # Importing numba takes most of a second; only fits of ratings need it.
    from grassvine.sums.bayes import _kernels

    return _kernels
