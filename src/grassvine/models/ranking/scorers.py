"""How users are scored from their events: by factors, or by regressions between items.

A user's scores are a function of the shared model and of the user's own events, in a fit and for
new users alike, and the sum of one share per event and of a rest, the popularity.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.models.ranking.best import Best, ItemRows, Wanted
from grassvine.sums.implicit.ease import COUNT, ItemRegressions
from grassvine.sums.implicit.model import ImplicitModel
from grassvine.sums.implicit.problem import ImplicitProblem, solve_few


class Scorer(Protocol):
    """A fitted model of what users choose."""

    @property
    def n_items(self) -> int:
        """The number of items."""
        ...

    @property
    def rank(self) -> int:
        """The number of factors per item; 0 if the model has none."""
        ...

    def scores(self, events: Ratings) -> Array:
        """Return the scores of all items for each user, users×items."""
        ...

    def best(self, events: Ratings, wanted: Wanted) -> Best:
        """Return the best items of each user, and their scores."""
        ...

    def shares(self, events: Ratings, item: int) -> tuple[Array, float]:
        """Return what each event of a single user adds to the score of an item, and the rest."""
        ...

    def similarities(self, item: int) -> Array:
        """Return how similar all items are to an item."""
        ...


@dataclass(frozen=True, eq=False)
class FactorScorer:
    """Scores from item factors and popularity; see :mod:`grassvine.sums.implicit.model`.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> scorer = gv.ImplicitRecommender(rank=1).fit(clicks).model_.shared.scorer
    >>> of_somebody_new = gv.Ratings.from_arrays([0], [1], [1.0], n_items=3)
    >>> scorer.scores(of_somebody_new).shape
    (1, 3)
    """

    model: ImplicitModel

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.model.n_items

    @property
    def rank(self) -> int:
        """The number of factors per item."""
        return self.model.factors.shape[1]

    def scores(self, events: Ratings) -> Array:
        """Return the scores of all items for each user, users×items."""
        scores: Array = ImplicitProblem(events).solve(self.model) @ self.model.rows.T
        return scores

    def best(self, events: Ratings, wanted: Wanted) -> Best:
        """Return the best items of each user, and their scores."""
        return wanted.of_rows(self._rows, solve_few(events, self.model), events)

    @cached_property
    def _rows(self) -> ItemRows:
        return ItemRows(self.model.rows)

    def shares(self, events: Ratings, item: int) -> tuple[Array, float]:
        """Return what each event of a single user adds to the score of an item, and the rest.

        With z = S⁻¹A_i, the score s·b_i + A_i·w is the sum of v_k(1 − s·b_k)A_k·z over the events k
        and of s·(b_i − C_{A,b}·z), what the user gets for being as active as s.
        """
        strengths, rank, common = self.model.strengths, self.rank, self.model.common
        level = float(strengths.levels(events)[0])
        if not events.n_values:
            return np.empty(0), level * float(self.model.popularity[item])
        factors = self.model.factors[events.items]
        confidences = strengths.confidences(events)
        matrix = factors.T @ (confidences[:, None] * factors) + common[:rank, :rank]
        matrix[np.diag_indices(rank)] += strengths.ridges(events)[0]
        image = np.linalg.solve(matrix, self.model.factors[item])
        targets = confidences * (1.0 - level * self.model.popularity[events.items])
        rest = level * (self.model.popularity[item] - common[rank, :rank] @ image)
        return targets * (factors @ image), float(rest)

    def similarities(self, item: int) -> Array:
        """Return the cosines of the factors."""
        lengths = np.linalg.norm(self.model.factors, axis=1)
        directions = self.model.factors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        cosines: Array = directions @ directions[item]
        return cosines


@dataclass(frozen=True, eq=False)
class RegressionScorer:
    """Scores from regressions between items; see :mod:`grassvine.sums.implicit.ease`.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> scorer = gv.ImplicitRecommender(method="ease").fit(clicks).model_.shared.scorer
    >>> scorer.model.coefficients.shape
    (3, 3)
    """

    model: ItemRegressions

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.model.coefficients)

    @property
    def rank(self) -> int:
        """0: the model has no factors."""
        return 0

    def scores(self, events: Ratings) -> Array:
        """Return the scores of all items for each user, users×items."""
        from grassvine.models._kernels import add_rows  # numba takes long to import

        confidences = np.log2(1.0 + events.values / COUNT)
        scores = np.zeros((events.n_users, events.n_items))
        add_rows(events.starts, events.items, confidences, self.model.coefficients, scores)
        return scores

    def best(self, events: Ratings, wanted: Wanted) -> Best:
        """Return the best items of each user, and their scores."""
        return wanted.of_scores(self.scores(events), events)

    def shares(self, events: Ratings, item: int) -> tuple[Array, float]:
        """Return x_k B_ki for each event k of a single user, and a rest of 0."""
        confidences = np.log2(1.0 + events.values / COUNT)
        return confidences * self.model.coefficients[events.items, item], 0.0

    def similarities(self, item: int) -> Array:
        """Return the coefficients of an item in the scores of all others."""
        return self.model.coefficients[item].copy()
