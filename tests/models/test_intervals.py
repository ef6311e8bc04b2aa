"""Standard deviations and intervals of the Bayesian model, by id."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.models.model_samples import N_ITEMS, N_USERS, bayesian_model, ids, ratings_model
from tests.samples import scarce_ratings

from grassvine.foundations.errors import BasisError, DataError
from grassvine.models import BayesianSolver, RatingsModel, load, save
from grassvine.sums import BayesianCompletionProblem, BayesianModel

USERS, ITEMS = ["user 05", "user 07", "user 05"], ["film 03", "film 04", "film 09"]


def of(model: RatingsModel) -> BayesianModel:
    assert isinstance(model.shared.solver, BayesianSolver)
    return model.shared.solver.bayesian_model


def wide(model: RatingsModel) -> RatingsModel:
    """The same model with a range of ratings that clips nothing."""
    return replace(model, shared=replace(model.shared, lowest=-1e6, highest=1e6))


def test_deviations_are_those_of_the_users_own_ratings() -> None:
    model = wide(bayesian_model())
    found = model.predict(USERS, ITEMS, return_std=True)
    problem = BayesianCompletionProblem(scarce_ratings())
    variances = problem.variances(of(model), np.array([5, 7, 5]), np.array([3, 4, 9]))
    assert found.std is not None and found.lower is None
    np.testing.assert_allclose(found.std, 1.5 * np.sqrt(variances), rtol=1e-12)


def test_an_interval_is_so_many_deviations_wide_and_stays_in_the_range() -> None:
    model = bayesian_model()
    free = wide(model).predict(USERS, ITEMS, return_std=True, return_interval=0.9)
    assert free.std is not None and free.lower is not None and free.upper is not None
    np.testing.assert_allclose(free.upper - free.ratings, 1.6448536 * free.std, rtol=1e-6)
    np.testing.assert_allclose(free.ratings - free.lower, 1.6448536 * free.std, rtol=1e-6)
    found = model.predict(USERS, ITEMS, return_interval=0.9)
    assert found.std is None and found.lower is not None and found.upper is not None
    assert found.lower.min() >= 0.125 and found.upper.max() <= 0.5
    narrow = wide(model).predict(USERS, ITEMS, return_interval=0.5)
    assert narrow.upper is not None and (narrow.upper < free.upper).all()


def test_the_less_is_known_the_wider() -> None:
    """User 0 and item 0 have no ratings; others are not in the model at all."""
    model = wide(bayesian_model())
    users = ["user 05", "user 00", "nobody", "user 05", "user 05", "nobody"]
    items = ["film 03", "film 03", "film 03", "film 00", "nothing", "nothing"]
    found = model.predict(users, items, "fallback", return_std=True)
    assert found.known.tolist() == [True] + 5 * [False]
    known, of_user, of_nobody, of_item, of_nothing, unknown = np.asarray(found.std)
    assert known < of_user == of_nobody
    assert known < of_item and known < of_nothing and of_user < unknown
    refused = model.predict(users, items, "nan", return_std=True, return_interval=0.9)
    assert refused.std is not None and np.isnan(refused.std).tolist() == [False] + 5 * [True]


def test_unknown_users_and_items_get_what_is_expected_of_them() -> None:
    model, expected = wide(bayesian_model()), of(bayesian_model())
    found = model.predict(["nobody", "nobody"], ["film 00", "nothing"], "fallback").ratings
    factors = np.vstack([expected.factors[0], expected.new_item[:-1]])
    biases = np.array([expected.item_biases[0], expected.new_item[-1]])
    wanted = biases + factors @ expected.mean_user[:-1] + expected.mean_user[-1]
    np.testing.assert_allclose(found, expected.centre + expected.scale * wanted)
    alone = RatingsModel(model.shared)  # without users
    again = alone.predict(["nobody"], ["film 00"], "fallback", return_std=True)
    assert again.ratings == pytest.approx(found[:1]) and again.std is not None
    popular = alone.recommend(["nobody"], 1, on_unknown="fallback")
    best = alone.predict(["?"], popular["item"], "fallback").ratings[0]
    assert popular["score"][0] == pytest.approx(best)


def test_new_users_have_intervals_too() -> None:
    model, seen = wide(bayesian_model()), scarce_ratings()
    folded = model.fold_in(ids("new ", N_USERS), ids("film ", N_ITEMS), seen).model
    new = [user.replace("user", "new") for user in USERS]
    found = folded.predict(new, ITEMS, return_interval=0.9)
    wanted = model.predict(USERS, ITEMS, return_interval=0.9)
    for one, other in ((found.lower, wanted.lower), (found.upper, wanted.upper)):
        assert one is not None and other is not None
        np.testing.assert_array_equal(one, other)


def test_saved_and_loaded_the_intervals_are_the_same(tmp_path: Path) -> None:
    model = bayesian_model()
    again = load(save(model, tmp_path / "model"))
    assert isinstance(again, RatingsModel)
    found, wanted = (one.predict(USERS, ITEMS, return_std=True) for one in (again, model))
    assert found.std is not None and wanted.std is not None
    np.testing.assert_array_equal(found.std, wanted.std)
    stored = (tmp_path / "model" / "private.safetensors").read_bytes()
    assert b"covariance" not in stored


def test_other_models_say_that_they_have_none() -> None:
    why = "no standard deviations or intervals, .*; fit it with method='bayes'"
    with pytest.raises(DataError, match=why):
        ratings_model().predict(USERS, ITEMS, return_std=True)
    with pytest.raises(DataError, match=why):
        ratings_model(True).predict(USERS, ITEMS, return_interval=0.5)


@pytest.mark.parametrize("level", [-0.1, 1.0, 90, "wide"])
def test_wrong_levels_are_refused(level: float) -> None:
    with pytest.raises(DataError, match="return_interval"):
        bayesian_model().predict(USERS, ITEMS, return_interval=level)


def test_a_solver_of_another_model_is_refused() -> None:
    model = bayesian_model()
    with pytest.raises(BasisError, match="not those of the Bayesian model"):
        replace(model.shared, factors=2.0 * model.shared.factors)
