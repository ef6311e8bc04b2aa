"""Recommendations from events, as users of the library call them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.engines.elsewhere_engine import ElsewhereEngine
from tests.real_data import real_file
from tests.sums.implicit.choices import N_ITEMS, events

import grassvine as gv
from grassvine.data.tables.event_input import as_event_table
from grassvine.datasets import read_ratings
from grassvine.estimators import ImplicitRecommender
from grassvine.foundations.errors import DataError, PlanError, UnknownIdWarning
from grassvine.jobs.ranking_methods import RankingSetting, popularity
from grassvine.metrics import found, ndcg, paired_difference

SHOPS = np.array(["north", "south", "west"])


def clicks(seed: int = 0, **options: Any) -> pl.DataFrame:
    """A table of clicks with counts and the shop of each person."""
    given: dict[str, Any] = {"n_users": 400, "per_user": 14.0, "counted": True, **options}
    table = events(seed, **given)
    user = table.users_of_values()
    return pl.DataFrame(
        {
            "person": [f"p{number:03d}" for number in user],
            "article": table.items * 7,
            "clicks": table.values.astype(int),
            "shop": SHOPS[user % 3],
        }
    )


@pytest.fixture(scope="module")
def fitted() -> ImplicitRecommender:
    return ImplicitRecommender(agents="shop").fit(clicks())


def test_every_shop_ends_with_the_same_model(fitted: ImplicitRecommender) -> None:
    assert fitted.n_agents_ == 3 and fitted.agreement_ < 1e-6
    assert fitted.n_items_ == N_ITEMS and fitted.n_iter_ <= 20
    alone = ImplicitRecommender().fit(clicks().drop("shop"))
    one, other = fitted.model_.shared.scorer.model, alone.model_.shared.scorer.model
    np.testing.assert_allclose(one.factors, other.factors, rtol=0, atol=1e-9)
    ranked, wanted = (model.recommend(["p001"])["item"].to_list() for model in (fitted, alone))
    assert ranked == wanted


@pytest.mark.parametrize("method", ["factors", "ease"])
def test_it_ranks_held_out_choices_better_than_popularity(method: str) -> None:
    split = as_event_table(clicks()).split_for_test("random", 0.2, seed=1)
    model = ImplicitRecommender(method=method).fit(split.train)
    measured = model.measure(split.test, k=10)
    tested = np.flatnonzero(np.diff(split.test.ratings.starts) > 0)
    relevant = split.test.ratings.choose_users(tested)
    lists = popularity(split, tested, 10, RankingSetting())
    popular = ndcg(found(lists, relevant), np.diff(relevant.starts), 10)
    mean, error = paired_difference(measured.per_user["ndcg"], popular)
    assert mean > 3 * error
    assert model.score(split.test) == pytest.approx(model.measure(split.test).mean("ndcg"))


@pytest.mark.parametrize("method", ["factors", "ease"])
def test_a_saved_model_recommends_the_same(method: str, tmp_path: Path) -> None:
    model = ImplicitRecommender(method=method, random_state=3).fit(clicks())
    model.save(tmp_path / "model")
    again = ImplicitRecommender.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.recommend(k=3).equals(model.recommend(k=3))
    why = again.explain("p001", 7)
    assert why.popularity + float(why.shares["share"].sum()) == pytest.approx(why.score, abs=1e-10)
    model.save(tmp_path / "shared", private=False)
    empty = ImplicitRecommender.load(tmp_path / "shared")
    assert empty.model_.private is None
    assert len(empty.partial_fit(clicks().head(20)).recommend(k=2))


def test_frames_come_back_in_the_library_of_the_user() -> None:
    found = ImplicitRecommender().fit(clicks().to_pandas()).recommend(["p001"], 3)
    assert isinstance(found, pd.DataFrame)
    titled = ImplicitRecommender().fit(clicks()).recommend(["p001"], 3, titles={7: "Seven"})
    assert titled.columns[:3] == ["user", "item", "title"]


def test_new_people_and_new_articles_need_no_refit(fitted: ImplicitRecommender) -> None:
    one = fitted.fold_in({7: 2, 14: 1})
    several = fitted.fold_in({"ann": [7, 14], "bob": {21: 3}})
    assert one.recommend()["user"].unique().to_list() == ["new"]
    assert several.recommend(k=2)["user"].to_list() == ["ann", "ann", "bob", "bob"]
    assert fitted.fold_in([7, 14]).recommend(k=1)["user"].to_list() == ["new"]
    model = ImplicitRecommender().fit(clicks())
    before = model.recommend(["p001"], 3)
    model.partial_fit(pl.DataFrame({"person": ["p002", "zoe"], "article": [1000, 1000]}))
    assert 1000 in model.recommend(["p003"], 41, exclude_seen=True)["item"]
    after = model.recommend(["p001"], 3, exclude=[1000])
    assert after["item"].to_list() == before["item"].to_list()
    ease = ImplicitRecommender(method="ease").fit(clicks())
    with pytest.warns(UnknownIdWarning, match="1 of 2 events are of items"):
        ease.partial_fit(pl.DataFrame({"person": ["zoe", "zoe"], "article": [1000, 7]}))


def test_unknown_people_get_what_is_popular(fitted: ImplicitRecommender) -> None:
    with pytest.warns(UnknownIdWarning, match="most chosen items"):
        found = fitted.recommend(["nobody"], 3)
    assert len(found) == 3 and not found["known"].any()
    with pytest.raises(DataError, match="no events of such users"):
        clone(fitted).set_params(on_unknown="raise").fit(clicks()).recommend(["nobody"])


BAD: dict[str, tuple[Any, str]] = {
    "one event": ({"user": [1], "item": [2]}, "has 1 event of 1 user with 1 item"),
    "one user": ({"user": [1, 1], "item": [2, 3]}, "two users and two items or more"),
    "one item": ({"user": [1, 2], "item": [2, 2]}, "two users and two items or more"),
    "zero": ({"user": [1, 2], "item": [2, 3], "count": [0, 1]}, "1 of 2 counts is 0"),
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD)
def test_tables_that_say_nothing_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ImplicitRecommender().fit(pl.DataFrame(columns))


def test_the_smallest_table_works() -> None:
    table = pl.DataFrame({"user": ["a", "b", "b"], "item": [1, 1, 2]})
    for method in ("factors", "ease"):
        found = ImplicitRecommender(method=method).fit(table).recommend()
        assert found.select("user", "item").rows() == [("a", 2)]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(PlanError, match="did you mean 'ease'"):
        ImplicitRecommender(method="eas").fit(clicks())
    with pytest.raises(PlanError, match="rank is 99, but the table has 40 items"):
        ImplicitRecommender(99).fit(clicks())
    with pytest.raises(NotFittedError):
        ImplicitRecommender().recommend()
    with pytest.raises(DataError, match="two users"):
        ImplicitRecommender().fit(clicks().head(1))


def test_ratings_without_a_column_of_ratings_name_this_estimator() -> None:
    for frame in (clicks().drop("clicks", "shop"), clicks().drop("shop")):
        with pytest.raises(DataError, match="ImplicitRecommender"):
            gv.MatrixCompleter().fit(frame)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "clicks.parquet"
    doubled = pl.concat([clicks(), clicks().head(50)])
    doubled.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path, row_group_size=200)
    return path


@pytest.mark.parametrize("engine", [None, ElsewhereEngine()], ids=["local", "elsewhere"])
def test_events_that_stay_in_files_give_the_same_factors(stored: Path, engine: Any) -> None:
    dataset = gv.RatingDataset.of_events(stored, "shop")
    here = ImplicitRecommender(4, agents="shop").fit(pl.read_parquet(stored))
    there = ImplicitRecommender(4, engine=engine or "local").fit(dataset)
    one, other = (found.model_.shared.scorer.model for found in (here, there))
    assert one.rows.tobytes() == other.rows.tobytes()
    assert there.model_.private is None
    assert len(there.partial_fit(clicks().head(30)).recommend(k=1))


def test_stored_ratings_are_not_events(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 4], "rating": [5.0, 1.0], "shop": ["a", "b"]})
    frame.write_parquet(path)
    with pytest.raises(DataError, match="create it by RatingDataset"):
        ImplicitRecommender().fit(gv.RatingDataset.by_column(path, "shop"))
    assert gv.RatingDataset.of_events(path, "shop").assumed[-1] == "Every row counts once."
    frame.with_columns(count=pl.Series([0, 1])).write_parquet(path)
    with pytest.raises(DataError, match="negative or 0, such as 0 in row 0"):
        gv.RatingDataset.of_events(path, "shop")


@pytest.mark.slow
def test_movielens_1m_as_events() -> None:
    """Figures of issue 17, of one split; popularity .226, tuned implicit .474."""
    table = read_ratings(real_file("ml-1m/ratings.dat"))
    for least, wanted in ((1.0, 0.474), (4.0, 0.425)):
        chosen = table.ratings.take_values(table.ratings.values >= least)
        kept = type(table)(table.users, table.items, chosen)
        split = as_event_table(kept).split_for_test("random", 0.2, seed=0)
        model = ImplicitRecommender(64).fit(split.train)
        assert model.n_iter_ <= 20
        assert model.measure(split.test).mean("ndcg") > wanted
