"""Small models of every kind."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from tests.samples import samples, scarce_ratings, tasks

import grassvine as gv
from grassvine.data.ids import Ids
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.models import (
    BiasedSolver,
    FactorScorer,
    FeaturePart,
    ItemPart,
    PriorPart,
    RankedItems,
    RankedUsers,
    RankingModel,
    RatingsModel,
    RegressionScorer,
    SubspaceModel,
    SubspaceSolver,
    TasksModel,
)
from grassvine.models.persistence.forms import Model
from grassvine.models.ranking.scorers import Scorer
from grassvine.sums import BayesianModel, CoefficientPrior, FactorModel
from grassvine.sums.implicit.ease import ItemRegressions
from grassvine.sums.implicit.model import ImplicitModel, Strengths

N_ITEMS, N_USERS, RANK = 20, 60, 3


def ids(kind: str, count: int) -> Ids:
    return Ids(pl.Series([f"{kind}{number:02}" for number in range(count)]))


def item_part(ratings: gv.Ratings, paper: bool, seed: int = 0) -> ItemPart:
    """Factors of no particular quality: laws of a model hold for any."""
    rng = stream(seed, "start", "test model")
    factors = rng.standard_normal((N_ITEMS, RANK))
    return ItemPart(
        items=ids("film ", N_ITEMS),
        factors=np.linalg.qr(factors)[0] if paper else factors,
        item_biases=np.zeros(N_ITEMS) if paper else 0.3 * rng.standard_normal(N_ITEMS),
        centre=0.25,
        solver=SubspaceSolver(0.1, 0.5) if paper else BiasedSolver(2.0, 3.0),
        lowest=0.125,
        highest=0.5,
        counts=np.bincount(ratings.items, minlength=N_ITEMS),
    )


def ratings_model(paper: bool = False, seed: int = 0) -> RatingsModel:
    """Users 0 and 1 have rated nothing, and nobody has rated item 0."""
    seen = scarce_ratings(seed)
    part = item_part(seen, paper, seed)
    return RatingsModel(part, part.users_from(ids("user ", N_USERS), seen))


def choosing_model(seed: int = 0) -> RatingsModel:
    """A model of ratings that has learned what users choose, too."""
    rng = stream(seed, "start", "test choices")
    factors = 0.3 * rng.standard_normal((N_ITEMS, 2))
    strengths = Strengths(0.3, 0.05, 0.4, 1.0, 4.0, 3.0)
    choices = FactorScorer(ImplicitModel(factors, rng.random(N_ITEMS), strengths))
    return replace(ratings_model(False, seed), choices=choices)


def bayesian_model(seed: int = 0) -> RatingsModel:
    """The same for a Bayesian model, on the scale of the ratings of the others."""
    seen = scarce_ratings(seed)
    rng = stream(seed, "start", "test Bayesian model")
    counts = np.bincount(seen.items, minlength=N_ITEMS)
    model = BayesianModel(
        factors=rng.standard_normal((N_ITEMS, RANK)),
        item_biases=0.3 * rng.standard_normal(N_ITEMS),
        centre=0.25,
        scale=1.25,
        noise=0.5,
        factor_variances=0.5 + rng.random(RANK),
        bias_variance=0.5,
        item_precisions=0.5 + rng.random(N_ITEMS),
        item_weights=counts * (0.5 + rng.random(N_ITEMS)),
        user_covariance=np.eye(RANK + 1),
        user_coefficients=0.1 * rng.standard_normal((RANK + 1, RANK + 1)),
        mean_factors=0.1 * rng.standard_normal(RANK),
        mean_user=0.1 * rng.standard_normal(RANK + 1),
        new_item=0.1 * rng.standard_normal(RANK + 1),
        interval_scale=1.5,
    )
    part = ItemPart.bayesian(model, ids("film ", N_ITEMS), 0.125, 0.5, counts)
    return RatingsModel(part, part.users_from(ids("user ", N_USERS), seen))


def feature_part(intercepts: bool = True, seed: int = 0) -> FeaturePart:
    rng = stream(seed, "start", "test model of tasks")
    return FeaturePart(
        features=tuple(f"x{number}" for number in range(N_ITEMS)),
        basis=np.linalg.qr(rng.standard_normal((N_ITEMS, RANK)))[0],
        means=rng.standard_normal(N_ITEMS),
        scales=0.5 + rng.random(N_ITEMS),
        alpha=0.1,
        intercepts=intercepts,
    )


def task_table(seed: int = 0) -> tuple[Array, Array, list[str]]:
    """Samples of all tasks, one under the other, with a level of its own for each task."""
    given = tasks(seed)
    names = [f"school {number}" for number, y in enumerate(given.targets) for _ in y]
    levels = np.concatenate([np.full(len(y), float(k)) for k, y in enumerate(given.targets)])
    return np.vstack(given.features), np.concatenate(given.targets) + levels, names


def uneven_tasks_model(seed: int) -> TasksModel:
    """Some directions are stronger than others."""
    shared = replace(feature_part(seed=seed), strengths=np.array([2.0, 1.0, 0.25]))
    return TasksModel(shared).fold_in(*task_table(seed))


def tasks_model(intercepts: bool = True, seed: int = 0) -> TasksModel:
    return TasksModel(feature_part(intercepts, seed)).fold_in(*task_table(seed))


def hierarchical_model(intercepts: bool = True, seed: int = 0) -> TasksModel:
    """Coefficients with a mean and a covariance of their own."""
    rng = stream(seed, "start", "test distribution of coefficients")
    plain, size = feature_part(seed=seed), N_ITEMS + intercepts
    prior = CoefficientPrior(
        mean=rng.standard_normal(size),
        factor=rng.standard_normal((size, RANK)),
        diagonal=rng.random(size),
        mean_factor=0.1 * rng.standard_normal((size, 2)),
        noise=0.5,
    )
    shared = PriorPart(plain.features, plain.means, plain.scales, prior, 2)
    return TasksModel(shared).fold_in(*task_table(seed))


def incomplete_model(seed: int = 0) -> SubspaceModel:
    rng = stream(seed, "start", "test factors")
    model = subspace_model(seed)
    loadings = rng.standard_normal((N_ITEMS, 4))
    factors = FactorModel(rng.standard_normal(N_ITEMS), loadings, 0.5 + rng.random(N_ITEMS))
    return replace(model, factors=factors)


def subspace_model(seed: int = 0) -> SubspaceModel:
    table = samples(seed)
    _, values, axes = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    variances = values**2 / (len(table) - 1)
    return SubspaceModel(
        features=tuple(f"x{number}" for number in range(N_ITEMS)),
        mean=table.mean(axis=0),
        components=axes[:RANK].T,
        variances=variances[:RANK],
        total_variance=float(variances.sum()),
    )


def ranking_model(regressions: bool = False, seed: int = 0) -> RankingModel:
    """User 0 has chosen nothing, and nobody has chosen item 0."""
    rng, seen = stream(seed, "start", "test ranking"), scarce_ratings(seed)
    seen = seen.with_values((1.0 + np.arange(seen.n_values) % 4).astype(np.float64))
    scorer: Scorer
    if regressions:
        coefficients = rng.standard_normal((N_ITEMS, N_ITEMS))
        np.fill_diagonal(coefficients, 0.0)
        scorer = RegressionScorer(ItemRegressions(coefficients))
    else:
        factors = 0.3 * rng.standard_normal((N_ITEMS, RANK))
        strengths = Strengths(0.3, 0.05, 0.4, 1.7, 4.0, 3.0)
        scorer = FactorScorer(ImplicitModel(factors, rng.random(N_ITEMS), strengths))
    counts = np.bincount(seen.items, minlength=N_ITEMS)
    shared = RankedItems(ids("film ", N_ITEMS), counts, scorer)
    return RankingModel(shared, RankedUsers(ids("user ", N_USERS), seen))


MODELS: dict[str, Callable[[int], Model]] = {
    "ratings with offsets": lambda seed: ratings_model(False, seed),
    "ratings, the paper's": lambda seed: ratings_model(True, seed),
    "ratings with choices": choosing_model,
    "ratings, Bayesian": bayesian_model,
    "ratings without users": lambda seed: RatingsModel(ratings_model(False, seed).shared),
    "ranking by factors": lambda seed: ranking_model(False, seed),
    "ranking by regressions": lambda seed: ranking_model(True, seed),
    "ranking without users": lambda seed: RankingModel(ranking_model(False, seed).shared),
    "tasks": lambda seed: tasks_model(True, seed),
    "tasks without intercepts": lambda seed: tasks_model(False, seed),
    "tasks, uneven": uneven_tasks_model,
    "tasks, distribution": lambda seed: hierarchical_model(True, seed),
    "tasks, distribution without intercepts": lambda seed: hierarchical_model(False, seed),
    "subspace": subspace_model,
    "subspace with missing values": incomplete_model,
}
