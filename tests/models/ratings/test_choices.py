"""Recommendations from models of ratings: by what users choose, by rating, with care."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.models.model_samples import N_ITEMS, choosing_model, ratings_model

import grassvine as gv
from grassvine.data.ids import Ids
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream
from grassvine.models import RankedItems, RankedUsers, RankingModel
from grassvine.sums.implicit.problem import events_of


def ranking_of(model: gv.models.RatingsModel) -> RankingModel:
    """The same choices as a model of their own."""
    assert model.choices is not None and model.private is not None
    shared = RankedItems(model.shared.items, model.shared.counts, model.choices)
    return RankingModel(shared, RankedUsers(model.private.users, events_of(model.private.seen)))


def test_by_default_items_are_ranked_by_what_users_choose() -> None:
    model = choosing_model()
    found, wanted = model.recommend(k=5), ranking_of(model).recommend(k=5)
    assert found.select(wanted.columns).equals(wanted)
    ratings = model.predict(found["user"], found["item"]).ratings
    np.testing.assert_array_equal(found["rating"].to_numpy(), ratings)
    assert found.columns == [*wanted.columns, "rating"]


def test_a_model_without_choices_ranks_by_rating() -> None:
    model, other = ratings_model(), choosing_model()
    assert model.recommend(k=4).equals(other.recommend(k=4, score="rating"))
    assert "rating" not in model.recommend(k=4).columns
    with pytest.raises(DataError, match="learn_choices=True"):
        model.recommend(score="chosen")
    with pytest.raises(DataError, match="learn_choices=True"):
        model.explain("user 05", "film 03")
    with pytest.raises(DataError, match="did you mean 'rating'"):
        model.recommend(score="ratings")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no standard deviations"):
        model.recommend(score="cautious")


def test_reasons_add_up_for_ratings_too() -> None:
    model = choosing_model()
    for item in ("film 03", "film 11"):
        why = model.explain("user 05", item)
        assert why.popularity + float(why.shares["share"].sum()) == pytest.approx(
            why.score, abs=1e-10
        )
        assert why.score == ranking_of(model).explain("user 05", item).score


@pytest.mark.parametrize("score", ["chosen", "rating"])
def test_lists_to_leave_out_and_to_choose_from(score: str) -> None:
    model = choosing_model()
    some = ["film 02", "film 05", "film 09", "nobody knows this"]
    options: dict[str, Any] = {"score": score, "exclude_seen": False}
    chosen = model.recommend(["user 05"], 20, candidates=some, **options)
    assert set(chosen["item"]) == set(some[:3])
    left = model.recommend(["user 05"], 20, exclude=some, **options)
    assert not set(left["item"]) & set(some) and len(left) == N_ITEMS - 1 - 3
    often = int(np.median(model.shared.counts))
    found = model.recommend(["user 05"], 20, min_users=often, **options)
    counts = dict(zip(model.shared.items.series, model.shared.counts, strict=True))
    assert all(counts[item] >= often for item in found["item"])


@pytest.mark.parametrize("score", ["chosen", "rating"])
def test_unknown_users_get_what_is_most_rated(score: Any) -> None:
    model = choosing_model()
    found = model.recommend(["who", "user 05"], 3, score=score, on_unknown="fallback")
    order = np.argsort(-model.shared.counts, kind="stable")[:3]
    unknown = found.filter(~pl.col("known"))
    assert unknown["item"].to_list() == [f"film {item:02}" for item in order]
    assert unknown["score"].is_not_nan().all()


def test_new_users_are_ranked_by_choices_too() -> None:
    model = choosing_model()
    assert model.private is not None
    own = model.private.seen.choose_users(np.array([7]))
    folded = model.fold_in(Ids(pl.Series(["new"])), model.shared.items, own).model
    wanted = model.recommend(["user 07"], 5)
    assert folded.recommend(["new"], 5).drop("user").equals(wanted.drop("user"))


def test_a_cautious_score_is_the_lower_end_of_the_interval() -> None:
    rng = stream(3, "data", "cautious")
    taste = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15))
    popular = np.linspace(0.1, 0.8, 15)
    user, item = np.nonzero(rng.random(taste.shape) < popular)
    frame = pl.DataFrame(
        {
            "user": user,
            "item": item,
            "rating": 3.0 + taste[user, item] + rng.normal(0, 0.3, len(user)),
        }
    )
    model = gv.MatrixCompleter(rank=2).fit(frame)
    assert model.choices_run_ is not None and model.choices_run_.n_slots <= 20
    found = model.recommend(k=15, score="cautious")
    inside = found.filter(pl.col("score") > model.model_.shared.lowest + 1e-9)
    np.testing.assert_allclose(inside["score"], inside["lower"], rtol=1e-9, atol=1e-9)
    by_user = found.group_by("user", maintain_order=True).agg(pl.col("score"))
    assert all(scores.is_sorted(descending=True) for scores in by_user["score"])
    shown = model.recommend([0, 1], 3)
    assert (shown["lower"] <= shown["rating"]).all() and (shown["rating"] <= shown["upper"]).all()
    several = gv.MatrixCompleter(rank=2, agents=4).fit(frame)
    one, other = (found.model_.choices.model for found in (model, several))
    np.testing.assert_allclose(one.rows, other.rows, rtol=0, atol=1e-9)
    without = gv.MatrixCompleter(rank=2, learn_choices=False).fit(frame)
    assert without.choices_run_ is None and without.model_.choices is None
    assert gv.MatrixCompleter(rank=2, method="map").fit(frame).model_.choices is not None
    subspace = gv.MatrixCompleter(rank=2, method="exact-subspace", regularization=0.1).fit(frame)
    assert subspace.model_.choices is None


def test_choices_at_random_say_nothing() -> None:
    rng = stream(5, "data", "at random")
    for spread, told in ((0.0, False), (0.25, True)):
        chance = np.linspace(0.4 - spread, 0.4 + spread, 30)
        user, item = np.nonzero(rng.random((150, 30)) < chance)
        rating = rng.integers(1, 6, len(user)).astype(float)
        frame = pl.DataFrame({"user": user, "item": item, "rating": rating})
        model = gv.MatrixCompleter(2).fit(frame)
        assert model.choices_run_ is not None
        assert (model.model_.choices is not None) == told
        assert ("rating" in model.recommend(k=1).columns) == told


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tiny_tables_have_choices_or_none(rows: int) -> None:
    frame = pl.DataFrame(
        {
            "user": [1, 2, 2, 3, 1][:rows],
            "item": [1, 1, 2, 3, 3][:rows],
            "rating": [1.0, 2, 3, 4, 5][:rows],
        }
    )
    model = gv.MatrixCompleter(rank=0).fit(frame)
    assert model.recommend(k=2) is not None


@pytest.mark.parametrize("method", ["bayes", "map"])
def test_new_items_are_learned_from_their_first_ratings(method: str) -> None:
    """The error is like that of a fit to all ratings at once."""
    rng = stream(4, "data", "new items")
    taste = 1.5 * rng.standard_normal((300, 2)) @ rng.standard_normal((2, 24))
    taste += rng.standard_normal(24)
    popular = np.linspace(0.2, 0.8, 24)[rng.permutation(24)]
    user, item = np.nonzero(rng.random(taste.shape) < popular)
    rating = 3.0 + taste[user, item] + rng.normal(0, 0.3, len(user))
    frame = pl.DataFrame({"user": user, "item": item, "rating": rating})
    is_test = pl.Series(rng.random(len(user)) < 0.2)
    train, test, late = frame.filter(~is_test), frame.filter(is_test), pl.col("item") >= 20
    whole = gv.MatrixCompleter(2, method=method).fit(train)
    model = gv.MatrixCompleter(2, method=method).fit(train.filter(~late))
    model.partial_fit(train.filter(late))
    assert model.errors(test.filter(late))["rmse"] < 1.1 * whole.errors(test.filter(late))["rmse"]
    chosen = model.recommend(k=24)
    assert set(chosen["item"]) >= {20, 21, 22, 23}
    assert chosen["score"].max() < 2.0  # it is meant to be between 0 and 1
    found = model.predict([1, 2], [20, 21])
    assert found["known"].all()
    strange = pl.DataFrame({"user": [999, 999], "item": [77, 3], "rating": [5.0, 4.0]})
    assert 77 in model.partial_fit(strange).model_.shared.items.series


def test_a_subspace_cannot_take_up_new_items() -> None:
    frame = pl.DataFrame(
        {"user": np.repeat(np.arange(20), 5), "item": np.tile(np.arange(5), 20)}
    ).with_columns(rating=pl.col("user") % 3 + pl.col("item") * 0.5)
    model = gv.MatrixCompleter(2, method="exact-subspace", regularization=0.1).fit(frame)
    with pytest.raises(DataError, match="items that the model does not know"):
        model.partial_fit(pl.DataFrame({"user": [1], "item": [99], "rating": [3.0]}))
