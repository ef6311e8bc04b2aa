"""User ids that several owners have stand for separate users."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold, cross_val_score
from tests.estimators.test_completion import SHOPS, table

import grassvine as gv
from grassvine.estimators import MatrixCompleter
from grassvine.foundations.errors import DataError, ModelError, UnknownIdWarning
from grassvine.models.persistence import files
from grassvine.models.persistence.id_files import read_ids, write_ids

OPTIONS: dict[str, Any] = {"agents": "shop", "random_state": 0}


def distinct() -> pl.DataFrame:
    """Ratings by users with unique ids."""
    return table()


def shared() -> pl.DataFrame:
    """The same ratings, but each shop numbers its users from 0."""
    number = pl.col("customer").str.slice(1).cast(pl.Int64)
    return table().with_columns(customer=number // 3)


@pytest.fixture(scope="module")
def fitted() -> MatrixCompleter:
    return MatrixCompleter(2, **OPTIONS).fit(shared())


@pytest.fixture(scope="module")
def wanted() -> MatrixCompleter:
    return MatrixCompleter(2, **OPTIONS).fit(distinct())


def test_separate_users_are_learned_as_if_they_had_ids_of_their_own(
    fitted: MatrixCompleter, wanted: MatrixCompleter
) -> None:
    # The agents' sums are over the same users in the same order.
    assert fitted.subspace_.tobytes() == wanted.subspace_.tobytes()
    assert fitted.n_users_ == wanted.n_users_ == 120
    assert "40 user ids have ratings with several agents" in fitted.assumed_[-1]
    assert (fitted.predict(shared()) == wanted.predict(distinct())).all()
    # means over the users in another order
    assert fitted.errors(shared()) == pytest.approx(wanted.errors(distinct()), rel=1e-12)


def test_an_id_of_several_owners_is_a_user_only_with_its_owner(
    fitted: MatrixCompleter, wanted: MatrixCompleter
) -> None:
    message = (
        "3 owners have user 7 ('north', 'south', 'west'); name the owner of each user with owners."
    )
    with pytest.raises(DataError, match=re.escape(message)):
        fitted.predict([7], [3])
    with pytest.raises(DataError, match=re.escape(message)):
        fitted.recommend([7])
    found = fitted.predict([7] * 3, [3] * 3, owners=SHOPS)["rating"].to_list()
    assert found == wanted.predict(["u021", "u022", "u023"], [3] * 3)["rating"].to_list()
    one = fitted.recommend([7], 2, owners=["south"])
    assert one["item"].equals(wanted.recommend(["u022"], 2)["item"])
    assert one["owner"].to_list() == ["south"] * 2
    everyone = fitted.recommend(k=1)
    assert len(everyone) == 120 and everyone.select("user", "owner").n_unique() == 120
    with pytest.warns(UnknownIdWarning, match="1 of 1 pairs"):
        fitted.predict([7], [3], owners=["east"])
    with pytest.raises(DataError, match="got 2 users and 1 owners; pass one owner per user"):
        fitted.predict([7, 7], [3, 3], owners=["north"])
    with pytest.raises(DataError, match="the owner ids are whole numbers"):
        fitted.predict([7], [3], owners=[0])


def test_folds_with_a_column_of_owners_are_scored() -> None:
    frame = shared()
    pairs = frame.select("customer", "product", "shop").to_pandas()
    folds = KFold(3, shuffle=True, random_state=1)
    estimator = MatrixCompleter(2, **OPTIONS)
    assert (cross_val_score(estimator, pairs, frame["stars"].to_numpy(), cv=folds) > 0.5).all()


def test_tables_of_one_owner_each_number_the_owners(wanted: MatrixCompleter) -> None:
    tables = [shared().filter(shop=shop).drop("shop") for shop in SHOPS]
    found = MatrixCompleter(2, random_state=0).fit(tables)
    assert found.predict([7], [3], owners=[1])["rating"].to_list() == (
        wanted.predict(["u022"], [3])["rating"].to_list()
    )
    with pytest.raises(DataError, match="40 user ids have ratings in several tables"):
        MatrixCompleter(2, shared_users="error").fit(tables)


def test_new_ratings_go_to_the_user_of_their_owner(fitted: MatrixCompleter) -> None:
    new = pl.DataFrame(
        {"customer": [7, 7, 500], "product": [3, 3, 3], "stars": [1.0, 5.0, 2.0]}
    ).with_columns(shop=pl.Series(["north", "south", "south"]))
    grown = MatrixCompleter(2, **OPTIONS).fit(shared()).partial_fit(new)
    before, after = (e.predict([7] * 3, [5] * 3, owners=SHOPS)["rating"] for e in (fitted, grown))
    assert (before != after).to_list() == [True, True, False]
    assert grown.predict([500], [5])["known"].all()  # an id of one owner needs none
    with pytest.raises(DataError, match="3 owners have user 7"):
        grown.partial_fit(new[:1].drop("shop"))
    ids = MatrixCompleter(2, **OPTIONS).fit(shared().filter(pl.col("shop") == "north"))
    with pytest.raises(DataError, match="user 7 has new ratings with several owners, but is one"):
        ids.partial_fit(new)


def test_saved_and_loaded_owners_are_kept(fitted: MatrixCompleter, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = MatrixCompleter.load(tmp_path / "model")
    assert (loaded.predict(shared()) == fitted.predict(shared())).all()
    users = files.load(tmp_path / "model").private.users  # type: ignore[union-attr]
    ids = pl.DataFrame({"id": users.series, "owner": users.owners}).to_struct()
    assert read_ids("users", write_ids(ids), 120, ascending=True).equals(ids)
    with pytest.raises(ModelError, match="duplicate ids"):
        read_ids("users", write_ids(ids.gather([0, 0])), 2, ascending=True)
    with pytest.raises(ModelError, match="not in ascending order"):
        read_ids("users", write_ids(ids.gather([1, 0])), 2, ascending=True)


def test_agents_that_read_their_own_parts_have_users_of_their_own(
    fitted: MatrixCompleter, tmp_path: Path
) -> None:
    shared().write_parquet(tmp_path / "ratings.parquet")
    dataset = gv.RatingDataset.by_column(tmp_path / "ratings.parquet", "shop")
    found = MatrixCompleter(2, **OPTIONS).fit(dataset)
    assert found.subspace_.tobytes() == fitted.subspace_.tobytes()
    assert (found.n_users_, found.assumed_) == (fitted.n_users_, fitted.assumed_)
    for agent in dataset.agents:
        found.partial_fit(dataset.part(agent).read())
    assert np.array_equal(found.predict(shared()), fitted.predict(shared()))
