"""What else ``fit``, ``fold_in`` and ``recommend`` take."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from tests.estimators.test_completion import table

from grassvine.estimators import MatrixCompleter
from grassvine.foundations.errors import DataError

OPTIONS: dict[str, Any] = {"random_state": 0}


@pytest.fixture(scope="module")
def fitted() -> MatrixCompleter:
    return MatrixCompleter(2, **OPTIONS).fit(table())


def bits(estimator: MatrixCompleter) -> bytes:
    return estimator.subspace_.tobytes()


def test_a_file_a_lazy_frame_a_wide_frame_and_a_dict_are_as_a_frame(
    fitted: MatrixCompleter, tmp_path: Path
) -> None:
    frame = table()
    frame.write_csv(tmp_path / "ratings.csv")
    by_user = {
        user: dict(zip(own["product"], own["stars"], strict=True))
        for (user,), own in frame.group_by("customer", maintain_order=True)
    }
    wide = frame.pivot(on="product", index="customer", values="stars").to_pandas()
    wide.columns = [wide.columns[0], *map(int, wide.columns[1:])]
    for given in (tmp_path / "ratings.csv", str(tmp_path / "ratings.csv"), frame.lazy(), by_user):
        assert bits(MatrixCompleter(2, **OPTIONS).fit(given)) == bits(fitted)
    assert bits(MatrixCompleter(2, **OPTIONS).fit(wide)) == bits(fitted)
    owned = MatrixCompleter(2, agents="shop", **OPTIONS).fit(str(tmp_path / "ratings.csv"))
    assert owned.n_agents_ == 3
    assert owned.errors(tmp_path / "ratings.csv") == owned.errors(frame)
    with pytest.raises(DataError, match=r"are read from .*ratings.csv; omit y"):
        MatrixCompleter(2).fit(tmp_path / "ratings.csv", frame["stars"])


def test_new_users_may_be_dicts(fitted: MatrixCompleter) -> None:
    own = {3: 5.0, 7: 1.5, 12: 4.0}
    frame = pl.DataFrame({"user": ["mia"] * 3, "item": list(own), "rating": list(own.values())})
    wanted = fitted.fold_in(frame).recommend(["mia"], 3)
    assert fitted.fold_in({"mia": own}).recommend(k=3).equals(wanted)
    assert fitted.fold_in(own).recommend(["new"], 3)["item"].equals(wanted["item"])
    wrong: Any
    for wrong in ({"mia": own, "leo": 3.0}, {"mia": {}}, {"user": ["mia"], "item": {3: 1.0}}):
        with pytest.raises(DataError, match=r"the ratings of user .*pass \{user: \{item: rating"):
            fitted.fold_in(wrong)
    with pytest.raises(DataError, match=r"the ratings of user 3 are 5.0; pass \{user: \{item"):
        fitted.partial_fit(own)  # a user that stays needs an id


def test_recommend_serves_all_by_default(fitted: MatrixCompleter) -> None:
    everyone = fitted.recommend(k=2)
    assert everyone.equals(fitted.recommend(table()["customer"].unique().sort(), k=2))


def test_owners_are_a_column_where_ratings_are_separate() -> None:
    frame = table()
    pairs, stars = frame.select("customer", "product", "shop"), frame["stars"]
    apart = MatrixCompleter(2, agents="shop", **OPTIONS).fit(pairs, stars)
    together = MatrixCompleter(2, agents="shop", **OPTIONS).fit(frame)
    assert apart.n_agents_ == 3 and bits(apart) == bits(together)
    assert apart.score(pairs, stars) == together.score(frame)
    assert (apart.predict(pairs) == together.predict(frame)).all()
    estimator = MatrixCompleter(2, agents="shop", **OPTIONS)
    folds = KFold(3, shuffle=True, random_state=1)
    scores = cross_val_score(estimator, pairs.to_pandas(), stars.to_numpy(), cv=folds)
    assert (scores > 0.5).all()
    search = GridSearchCV(estimator, {"rank": [1, 2]}, cv=folds)
    assert search.fit(pairs.to_pandas(), stars.to_numpy()).best_params_ == {"rank": 2}
    with pytest.raises(DataError, match=r"in an array have no column 'shop'; pass a frame"):
        estimator.fit(np.array([[1, 2], [3, 4]]), [1.0, 2.0])
