"""Measures of predicted ratings, on ratings that were fitted or held out."""

from dataclasses import dataclass

import numpy as np

from grassvine.data.ids import UNKNOWN
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.models.ratings.model import RatingsModel
from grassvine.models.ratings.parts import BayesianSolver
from grassvine.models.ratings.scores import INTERVAL


@dataclass(frozen=True, slots=True, eq=False)
class RatingMeasures:
    """Ratings and predictions of pairs whose user and item are known, and the errors.

    Attributes
    ----------
    truth, predicted : array
    rmse, mae : float
        Root mean square and mean absolute error.
    known : float
        The share of the pairs asked for.
    coverage : float or None
        The share of the ratings inside their 90 % intervals, if the model has intervals.
    """

    truth: Array
    predicted: Array
    rmse: float
    mae: float
    known: float
    coverage: float | None = None


def measure_ratings(model: RatingsModel, table: RatingTable) -> RatingMeasures:
    """Compare the ratings of a table with their predictions.

    Users are found by id, and also by owner if the model identifies them by both.
    """
    private, shared = model.private, model.shared
    if private is None:
        raise DataError(
            "the model was fitted or loaded without users, so its errors cannot be computed; "
            "add users with partial_fit, preferably from other ratings than these."
        )
    ids, ratings = table.users_with_owners, table.ratings
    user = private.users.numbers(ids.series, "user", ids.owners)
    user = np.where(private.counts[user] > 0, user, UNKNOWN)
    user = np.repeat(user, np.diff(ratings.starts))
    item = shared.items.numbers(table.items.series, "item")
    item = np.where(shared.counts[item] > 0, item, UNKNOWN)[ratings.items]
    known = (user != UNKNOWN) & (item != UNKNOWN)
    if not known.any():
        raise DataError(
            "none of these pairs has a known user and a known item; pass ratings of known ones."
        )
    truth = ratings.stored.astype(np.float64)
    if not known.all():
        user, item, truth = user[known], item[known], truth[known]
    predicted, coverage = model.predict_by_number(user, item), None
    if isinstance(shared.solver, BayesianSolver):
        std = model.deviations_by_number(user, item)
        lower, upper = model.interval(predicted, std, INTERVAL)
        coverage = float(np.mean((truth >= lower) & (truth <= upper)))
    wrong = predicted - truth
    return RatingMeasures(
        truth,
        predicted,
        rmse=float(np.sqrt(np.mean(wrong**2))),
        mae=float(np.mean(np.abs(wrong))),
        known=float(np.mean(known)),
        coverage=coverage,
    )
