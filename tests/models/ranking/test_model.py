"""Ranking models: recommendations, their reasons, new users and new items."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.model_samples import N_ITEMS, N_USERS, ids, ranking_model
from tests.sums.implicit.choices import events

import grassvine as gv
from grassvine.data.ids import Ids
from grassvine.foundations.errors import DataError, PlanError, UnknownIdWarning
from grassvine.models import RankedItems, RankedUsers, RankingModel
from grassvine.models.ranking.measures import measure_ranking
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.sums import ImplicitFactorization, ImplicitModel, ImplicitProblem

KINDS = pytest.mark.parametrize("regressions", [False, True], ids=["factors", "regressions"])


def dense_scores(model: RankingModel) -> np.ndarray:
    assert model.private is not None
    return model.shared.scorer.scores(model.private.seen)


@KINDS
@given(seed=st.integers(0, 2**32), k=st.integers(1, 25))
def test_the_best_items_are_those_with_the_highest_scores(
    regressions: bool, seed: int, k: int
) -> None:
    model = ranking_model(regressions, seed)
    assert model.private is not None
    scores = dense_scores(model)
    found = model.recommend(k=k)
    for (user,), mine in found.group_by("user", maintain_order=True):
        number = int(str(user)[5:])
        own = model.private.seen.choose_users(np.array([number]))
        allowed = np.setdiff1d(np.arange(1, N_ITEMS), own.items)
        best = allowed[np.lexsort((allowed, -scores[number, allowed]))][:k]
        assert mine["item"].to_list() == [f"film {item:02}" for item in best]
        np.testing.assert_allclose(mine["score"], scores[number, best], rtol=1e-10, atol=1e-12)
        assert mine["rank"].to_list() == list(range(1, len(best) + 1))
    silent = np.flatnonzero(model.private.counts == 0)
    assert not {f"user {user:02}" for user in silent} & set(found["user"])


@KINDS
@given(seed=st.integers(0, 2**32))
def test_shares_add_up_to_the_score(regressions: bool, seed: int) -> None:
    model = ranking_model(regressions, seed)
    for user in ("user 05", "user 40"):
        for item in ("film 03", "film 11"):
            why = model.explain(user, item)
            assert why.popularity + float(why.shares["share"].sum()) == pytest.approx(
                why.score, abs=1e-10
            )
            score = dense_scores(model)[int(user[5:]), int(item[5:])]
            assert why.score == pytest.approx(score, abs=1e-12)
            assert why.shares["share"].is_sorted(descending=True)


@KINDS
def test_a_share_is_what_the_score_loses_with_its_event(regressions: bool) -> None:
    """For regressions, exactly: x_k B_ki. Of factors, the other shares change too, but not much."""
    model = ranking_model(regressions)
    assert model.private is not None
    seen = model.private.seen
    why = model.explain("user 05", "film 03")
    first = why.shares.row(0, named=True)
    without = seen.take_values(
        ~((seen.users_of_values() == 5) & (seen.items == int(first["item"][5:])))
    )
    less = model.shared.scorer.scores(without)[5, 3]
    if regressions:
        assert why.score - less == pytest.approx(first["share"], abs=1e-12)
    else:
        assert why.score > less


@KINDS
def test_lists_to_leave_out_and_to_choose_from(regressions: bool) -> None:
    model = ranking_model(regressions)
    some = ["film 02", "film 05", "film 09", "nobody knows this"]
    chosen = model.recommend(["user 05"], 20, candidates=some, exclude_seen=False)
    assert set(chosen["item"]) == set(some[:3])
    left = model.recommend(["user 05"], 20, exclude=some, exclude_seen=False)
    assert not set(left["item"]) & set(some) and len(left) == N_ITEMS - 1 - 3
    counts = model.shared.counts
    often = model.recommend(["user 05"], 20, min_users=int(np.median(counts)), exclude_seen=False)
    assert {int(item[5:]) for item in often["item"]} == set(
        np.flatnonzero(counts >= np.median(counts)).tolist()
    )
    assert "film 00" not in model.recommend(["user 05"], 20, exclude_seen=False)["item"]
    with pytest.raises(DataError, match="no item is left"):
        model.recommend(candidates=["nobody knows this"])
    with pytest.raises(PlanError, match="min_users is 0"):
        model.recommend(min_users=0)


def test_unknown_users_get_what_is_popular_or_nothing() -> None:
    model = ranking_model()
    asked = ["user 05", "nobody", "user 00"]
    with pytest.raises(DataError, match="does not know 2 of the users"):
        model.recommend(asked)
    found = model.recommend(asked, 3, on_unknown="fallback", exclude=["film 07"])
    unknown = found.filter(~pl.col("known"))
    order = np.argsort(-model.shared.counts, kind="stable")
    popular = [f"film {item:02}" for item in order if item != 7][:3]
    assert unknown["item"].to_list() == popular * 2
    with pytest.warns(UnknownIdWarning, match="they get the most chosen items"):
        model.recommend(asked, 3, on_unknown="warn")
    nothing = model.recommend(asked, 3, on_unknown="nan").filter(~pl.col("known"))
    assert nothing["item"].to_list() == [None, None] and nothing["rank"].to_list() == [0, 0]


def test_similar_items_are_known_and_others() -> None:
    for model in (ranking_model(), ranking_model(True)):
        found = model.similar_items("film 04", 30)
        assert "film 04" not in found["item"] and "film 00" not in found["item"]
        assert len(found) == N_ITEMS - 2 and found["similarity"].is_sorted(descending=True)
    with pytest.raises(DataError, match="no events of such items"):
        ranking_model().similar_items("film 00")


@KINDS
def test_a_folded_in_user_is_ranked_like_a_fitted_one(regressions: bool) -> None:
    model = ranking_model(regressions)
    assert model.private is not None
    own = model.private.seen.choose_users(np.array([7]))
    folded = model.fold_in(Ids(pl.Series(["new"])), model.shared.items, own)
    wanted = model.recommend(["user 07"], 5)
    found = folded.model.recommend(["new"], 5)
    assert found.drop("user").equals(wanted.drop("user"))
    joined = model.with_users(Ids(pl.Series(["new"])), model.shared.items, own).model
    assert joined.recommend(["new"], 5).drop("user").equals(wanted.drop("user"))
    assert joined.recommend(["user 07"], 5).equals(wanted)


def test_further_events_of_a_known_user_are_added() -> None:
    model = ranking_model()
    assert model.private is not None
    more = gv.Ratings.from_arrays([0, 0], [3, 4], [2.0, 1.0], n_items=N_ITEMS)
    found = model.with_users(Ids(pl.Series(["user 05"])), model.shared.items, more).model
    assert found.private is not None
    assert len(found.private.users) == N_USERS
    before, after = (
        {int(item): value for item, value in zip(own.items, own.values, strict=True)}
        for own in (one.seen.choose_users(np.array([5])) for one in (model.private, found.private))
    )
    assert after == before | {3: before.get(3, 0.0) + 2.0, 4: before.get(4, 0.0) + 1.0}


def test_unknown_items_of_new_users_are_refused_or_dropped() -> None:
    model = ranking_model()
    table = gv.Ratings.from_arrays([0, 0], [0, 1], [1.0, 1.0])
    new, items = Ids(pl.Series(["new"])), Ids(pl.Series(["film 03", "unheard"]))
    with pytest.raises(DataError, match="1 of 2 ratings are of items"):
        model.fold_in(new, items, table)
    assert model.fold_in(new, items, table, unknown_items="drop").n_dropped == 1


def learned(table: gv.Ratings) -> RankingModel:
    plan = gv.Plan(table.n_items, 3, gv.networks.path(1), ImplicitFactorization(), seed=1)
    state = gv.run(plan, [ImplicitProblem(table)]).states[0]
    counts = np.bincount(table.items, minlength=table.n_items)
    scorer = FactorScorer(ImplicitModel.from_arrays(state))
    shared = RankedItems(ids("film ", table.n_items), counts, scorer)
    return RankingModel(shared, RankedUsers(ids("user ", table.n_users), table))


def test_a_new_item_joins_those_that_the_same_users_choose() -> None:
    """Item 32, of the second half, is unknown at the fit."""
    table = events(n_users=400, per_user=14.0)
    late = table.items == 32
    model = learned(table.take_values(~late))
    fresh = table.take_values(late)
    catalogue = ids("film ", table.n_items)
    longer = model.with_items(ids("user ", 400), catalogue, fresh)
    assert longer.shared.counts[32] == late.sum()
    assert isinstance(longer.shared.scorer, FactorScorer)
    near = longer.similar_items("film 32", 10)["item"].str.slice(5).cast(pl.Int64)
    assert float(np.mean(near.to_numpy() >= 20)) >= 0.8
    known = np.arange(table.n_items) != 32
    assert isinstance(model.shared.scorer, FactorScorer)
    before, after = model.shared.scorer.model.rows, longer.shared.scorer.model.rows
    np.testing.assert_array_equal(after[known], before[known])
    everything = longer.with_users(ids("user ", 400), catalogue, fresh).model
    assert everything.private is not None
    assert everything.private.seen.n_values == table.n_values


def test_ids_of_new_items_enter_the_catalogue_in_order() -> None:
    model = learned(events(n_users=400, per_user=14.0))
    items = Ids(pl.Series(["aardvark", "film 03", "zebra"]))
    table = gv.Ratings.from_arrays([0, 0, 1, 1], [0, 1, 1, 2], np.ones(4))
    users = Ids(pl.Series(["user 000", "zoe"]))
    longer = model.with_items(users, items, table)
    assert len(longer.shared.items) == 42
    assert longer.shared.items.series.to_list() == sorted(longer.shared.items.series.to_list())
    assert longer.with_users(users, items, table).n_dropped == 0
    wanted = model.recommend(["user 10"], 5)["item"].to_list()
    found = longer.recommend(["user 10"], 5, exclude=["aardvark", "zebra"])["item"].to_list()
    assert found == wanted
    with pytest.raises(DataError, match="cannot be extended"):
        ranking_model(True).with_items(users, items, table)


def test_measures_are_those_of_the_lists() -> None:
    model = ranking_model()
    relevant = gv.Ratings.from_arrays([0, 1, 1, 2], [3, 4, 5, 0], np.ones(4), n_users=3, n_items=6)
    users = Ids(pl.Series(["user 05", "user 06", "who"]))
    items = Ids(pl.Series([*(f"film {number:02}" for number in range(5)), "unheard"]))
    found = measure_ranking(model, users, items, relevant, 19)
    assert found.n_users == 2 and found.n_unknown == 1
    lists = model.recommend(["user 05", "user 06"], 19)
    for number, (user, wanted) in enumerate((("user 05", "film 03"), ("user 06", "film 04"))):
        mine = lists.filter(pl.col("user") == user)["item"].to_list()
        assert found.per_user["recall"][number] == (wanted in mine) / (1 + number)
    assert set(found.summary()) >= {"ndcg@19", "recall@19", "coverage@19", "users"}
    with pytest.raises(DataError, match="without users"):
        measure_ranking(RankingModel(model.shared), users, items, relevant, 3)


def test_parts_that_do_not_fit_are_refused() -> None:
    model = ranking_model()
    assert model.private is not None
    with pytest.raises(DataError, match="two parts of the same model"):
        RankingModel(
            model.shared, RankedUsers(ids("u", 2), gv.Ratings.from_arrays([0, 1], [0, 1], [1, 1]))
        )
    with pytest.raises(DataError, match="not all positive"):
        RankedUsers(ids("u", 1), gv.Ratings.from_arrays([0], [0], [-1.0]))
    assert "rank=3" in repr(model) and "none" in repr(RankingModel(model.shared))
    with pytest.raises(DataError, match="fold users in"):
        RankingModel(model.shared).recommend()
