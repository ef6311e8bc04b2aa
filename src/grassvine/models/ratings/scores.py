"""By what a model of ratings ranks items: what users choose, ratings, or cautious ratings."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from grassvine.data.ids import UNKNOWN
from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import choice
from grassvine.foundations.watch import Watch
from grassvine.models.ranking.best import Best, Wanted, best_in_blocks
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.models.ratings.cautious import best_lower_ends
from grassvine.models.ratings.deviations import deviations_of_level
from grassvine.models.ratings.parts import BayesianSolver, UserPart
from grassvine.sums.implicit.problem import events_of

if TYPE_CHECKING:
    from grassvine.models.ratings.model import RatingsModel

Score: TypeAlias = Literal["chosen", "rating", "cautious"]
INTERVAL = 0.9  # of ratings beside recommendations; its lower end is the cautious score


def choices_of(model: "RatingsModel") -> FactorScorer:
    """Return what the model has learned of choices."""
    if model.choices is None:
        raise DataError(
            "the model has not learned what users choose; fit it by sums with ",
            Option("learn_choices", True),
            ".",
        )
    return model.choices


def score_of(model: "RatingsModel", asked: str | None) -> str:
    """Return by what items are ranked."""
    if asked is None:
        return "rating" if model.choices is None else "chosen"
    chosen = choice("score", asked, get_args(Score), error=DataError)
    if chosen == "chosen":
        choices_of(model)
    if chosen == "cautious" and not isinstance(model.shared.solver, BayesianSolver):
        raise DataError(
            "the model has no standard deviations, because it was not fitted by variational "
            "Bayes; fit it with ",
            Option("method", "bayes"),
            ", or use ",
            Option("score", "rating"),
            ".",
        )
    return chosen


def best_items(
    model: "RatingsModel",
    by: str,
    private: UserPart,
    user: Indices,
    wanted: Wanted,
    watch: Watch | None,
) -> Best:
    """Return the best items of known users, and their scores."""
    shared = model.shared

    def rated(users: Indices, own: Ratings) -> Best:
        weights = np.ones((len(users), shared.rank + 1))
        weights[:, :-1] = private.weights[users]
        items, scores = wanted.of_rows(shared.rows, weights, own)
        return items, scores + (shared.centre + private.biases[users])[:, None]

    def lower_ends(users: Indices, own: Ratings) -> Best:
        assert isinstance(shared.solver, BayesianSolver)
        ratings = private.weights[users] @ shared.factors.T + shared.item_biases
        ratings += (shared.centre + private.biases[users])[:, None]
        reach, bayesian = deviations_of_level(INTERVAL), shared.solver.bayesian_model
        return best_lower_ends(bayesian, shared.clipped(ratings), own, wanted, reach)

    def chosen(users: Indices, own: Ratings) -> Best:
        return choices_of(model).best(events_of(own), wanted)

    find = {"rating": rated, "cautious": lower_ends, "chosen": chosen}[by]
    return best_in_blocks(find, private.seen, user, wanted, watch)


def popularity_of(choices: FactorScorer) -> Array:
    """Return the scores of all items for a user without events."""
    n_items = choices.n_items
    nobody = Ratings(n_items, np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0))
    scores: Array = choices.scores(nobody)[0]
    return scores


def ratings_beside(model: "RatingsModel", user: Indices, items: Indices) -> dict[str, Array]:
    """Return the predicted rating of each recommended item, with its interval if there is."""
    if model.private is not None and (items != UNKNOWN).all() and (user != UNKNOWN).all():
        return _ratings_of_known(model, model.private, user, items)
    flat, whose = items.ravel(), np.repeat(user, items.shape[1])
    shown = flat != UNKNOWN
    found = {"rating": np.full(flat.shape, np.nan)}
    ratings = model.predict_by_number(whose[shown], flat[shown])
    found["rating"][shown] = ratings
    if isinstance(model.shared.solver, BayesianSolver):
        std = model.deviations_by_number(whose[shown], flat[shown])
        ends = model.interval(ratings, std, INTERVAL)
        for name, end in zip(("lower", "upper"), ends, strict=True):
            found[name] = np.full(flat.shape, np.nan)
            found[name][shown] = end
    return {name: values.reshape(items.shape) for name, values in found.items()}


def _ratings_of_known(
    model: "RatingsModel", private: UserPart, user: Indices, items: Indices
) -> dict[str, Array]:
    """Return the same where users and items are all known, which takes a third of the time."""
    shared, (count, k) = model.shared, items.shape
    ratings = shared.centre + shared.item_biases[items] + private.biases[user][:, None]
    ratings += np.einsum("ur,ukr->uk", private.weights[user], shared.factors[items])
    ratings = shared.clipped(ratings)
    if not isinstance(shared.solver, BayesianSolver):
        return {"rating": ratings}
    own, whose = private.seen.choose_users(user), np.repeat(np.arange(count), k)
    std = shared.solver.deviations(own, whose, items.ravel()).reshape(items.shape)
    lower, upper = model.interval(ratings, std, INTERVAL)
    return {"rating": ratings, "lower": lower, "upper": upper}
