"""The highest lower ends of intervals: those of all items, sorted, from a few of them."""

import numpy as np
import pytest
from tests.models.model_samples import N_ITEMS, bayesian_model
from tests.samples import scarce_ratings

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.models import BayesianSolver
from grassvine.models.ranking.best import Best, Wanted
from grassvine.models.ratings import cautious
from grassvine.models.ratings.cautious import best_lower_ends
from grassvine.sums import BayesianCompletionProblem, BayesianModel

REACH = 1.6


def model_and_users() -> tuple[BayesianModel, Ratings, Array]:
    """A model, the ratings of its users, and predictions that differ as much as deviations do."""
    solver, own = bayesian_model().shared.solver, scarce_ratings()
    assert isinstance(solver, BayesianSolver)
    ratings = stream(0, "data", "predictions").standard_normal((own.n_users, N_ITEMS))
    return solver.bayesian_model, own, 0.3 * ratings


def of_all_items(wanted: Wanted) -> Best:
    model, own, ratings = model_and_users()
    users = np.repeat(np.arange(own.n_users), N_ITEMS)
    items = np.tile(np.arange(N_ITEMS), own.n_users)
    variances = BayesianCompletionProblem(own).variances(model, users, items)
    spread = model.interval_scale * np.sqrt(variances).reshape(ratings.shape)
    ends = np.where(wanted.allowed, ratings - REACH * spread, -np.inf)
    if wanted.exclude_seen:
        ends[own.users_of_values(), own.items] = -np.inf
    order = np.argsort(-ends, axis=1, kind="stable")[:, : wanted.k]
    ends = np.take_along_axis(ends, order, axis=1)
    return np.where(np.isneginf(ends), -1, order), ends


@pytest.mark.parametrize("candidates", [1, cautious.CANDIDATES])
@pytest.mark.parametrize("k", [1, 4, N_ITEMS])
@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.1])
def test_they_are_those_of_all_items(
    monkeypatch: pytest.MonkeyPatch, candidates: int, k: int, exclude_seen: bool, share: float
) -> None:
    monkeypatch.setattr(cautious, "CANDIDATES", candidates)
    allowed = stream(1, "data", "allowed").random(N_ITEMS) < share
    wanted = Wanted(k, allowed, exclude_seen)
    model, own, ratings = model_and_users()
    items, ends = best_lower_ends(model, ratings, own, wanted, REACH)
    expected_items, expected_ends = of_all_items(wanted)
    np.testing.assert_array_equal(items, expected_items)
    np.testing.assert_array_equal(ends, expected_ends)


def test_one_round_of_candidates_is_not_always_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test above would not see the second one."""
    monkeypatch.setattr(cautious, "CANDIDATES", 1)
    monkeypatch.setattr(cautious, "SLACK", -np.inf)  # no item is possible
    wanted = Wanted(4, np.ones(N_ITEMS, bool), exclude_seen=True)
    model, own, ratings = model_and_users()
    items, _ = best_lower_ends(model, ratings, own, wanted, REACH)
    assert (items != of_all_items(wanted)[0]).any()


def test_equal_ends_are_in_the_order_of_the_items() -> None:
    model, own, _ = model_and_users()
    wanted = Wanted(N_ITEMS, np.ones(N_ITEMS, bool), exclude_seen=False)
    items, ends = best_lower_ends(model, np.zeros((own.n_users, N_ITEMS)), own, wanted, 0.0)
    np.testing.assert_array_equal(items, np.tile(np.arange(N_ITEMS), (own.n_users, 1)))
    assert (ends == 0.0).all()


def test_variances_are_at_least_what_the_bound_says() -> None:
    model, own, _ = model_and_users()
    problem, items = BayesianCompletionProblem(own), np.arange(N_ITEMS)
    for user in range(own.n_users):
        variances, noises = problem.variances_and_noise(model, np.full(N_ITEMS, user), items)
        assert noises[user] > 0.0 and not np.delete(noises, user).any()
        assert (variances > model.least_variances(float(noises[user]))).all()
