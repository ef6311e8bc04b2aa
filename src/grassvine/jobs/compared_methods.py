"""Methods to compare on ratings: our estimators, simple baselines, and cmfrec if installed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from grassvine.data.tables import RatingTable
from grassvine.estimators.baselines import DLMaFitCompleter, RTRMCCompleter
from grassvine.estimators.completion import MatrixCompleter
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.fits.rating_formulations import METHODS, RANK
from grassvine.foundations.arrays import Array
from grassvine.foundations.extras import load_extra


@dataclass(frozen=True, slots=True)
class Setting:
    """Options common to all compared methods; without a rank, each has its default."""

    rank: int | None = None
    agents: int = 5
    network: str = "ring"
    seed: int = 0

    @property
    def given_rank(self) -> int:
        """The rank of methods without a default of their own."""
        return RANK if self.rank is None else self.rank


# Fits the first table and predicts the ratings of the second, all of whose users and items occur in
# the first.
ComparedMethod = Callable[[RatingTable, RatingTable, Setting], Array]


def _ours(method: str) -> ComparedMethod:
    def predict(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
        estimator = MatrixCompleter(
            setting.rank,
            method=method,
            agents=setting.agents,
            network=setting.network,
            random_state=setting.seed,
        )
        return _fit_predict(estimator, train, test)

    return predict


def _rtrmc(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
    return _fit_predict(RTRMCCompleter(setting.given_rank, random_state=setting.seed), train, test)


def _d_lmafit(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
    estimator = DLMaFitCompleter(
        setting.given_rank,
        agents=setting.agents,
        network=setting.network,
        random_state=setting.seed,
    )
    return _fit_predict(estimator, train, test)


def _biases(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
    return _ours("map")(train, test, replace(setting, rank=0))


def _item_means(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
    ratings, n_items = train.ratings, len(train.items)
    sums = np.bincount(ratings.items, ratings.values, minlength=n_items)
    counts = ratings.item_counts()
    return (sums / np.maximum(counts, 1))[test.ratings.items]


def _cmfrec(train: RatingTable, test: RatingTable, setting: Setting) -> Array:
    """Predict with cmfrec's biased factorisation, using its defaults except for the rank."""
    cmfrec = load_extra("cmfrec", "the method cmfrec", "compare")
    sparse = load_extra("scipy.sparse", "the method cmfrec", "compare")
    ratings = train.ratings
    shape = (ratings.n_users, ratings.n_items)
    places = (ratings.users_of_values(), ratings.items)
    model = cmfrec.CMF(k=setting.given_rank, random_state=setting.seed, nthreads=1, verbose=False)
    model.fit(sparse.coo_array((ratings.values, places), shape=shape))
    predicted: Array = model.predict(test.ratings.users_of_values(), test.ratings.items)
    return predicted


METHODS_COMPARED: Mapping[str, ComparedMethod] = {
    **{method: _ours(method) for method in METHODS},
    "rtrmc": _rtrmc,
    "d-lmafit": _d_lmafit,
    "biases": _biases,
    "item-means": _item_means,
    "cmfrec": _cmfrec,
}


def _fit_predict(estimator: RatingsEstimator, train: RatingTable, test: RatingTable) -> Array:
    model = estimator.fit(train).model_
    users, items = test.ratings.users_of_values(), test.ratings.items
    return model.predict(test.users.at(users), test.items.at(items)).ratings
