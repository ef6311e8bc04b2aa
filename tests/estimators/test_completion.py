import copy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import grassvine as gv
from grassvine.demo import masked_digits
from grassvine.estimators import DLMaFitCompleter, MatrixCompleter, RTRMCCompleter
from grassvine.fits.rating_formulations import METHODS
from grassvine.foundations.errors import (
    DataError,
    GrassvineError,
    NetworkError,
    PlanError,
    UnknownIdWarning,
)

N_USERS, N_ITEMS = 120, 30
SHOPS = ("north", "south", "west")


def table(seed: int = 0) -> pl.DataFrame:
    """Ratings from 1 to 5 of a table of rank 2, by users with names, in three shops."""
    rng = np.random.default_rng([seed, 17])
    level = rng.normal(0, 0.5, N_ITEMS)
    taste = rng.normal(size=(N_USERS, 2)) @ rng.normal(size=(2, N_ITEMS)) * 0.7
    known = rng.random((N_USERS, N_ITEMS)) < 0.5
    user, item = np.nonzero(known)
    noise = 0.1 * rng.normal(size=len(user))
    values = np.clip(3 + level[item] + taste[user, item] + noise, 1, 5)
    return pl.DataFrame(
        {
            "customer": [f"u{number:03d}" for number in user],
            "product": item,
            "stars": values,
            "shop": [SHOPS[number % 3] for number in user],
        }
    )


@pytest.fixture(scope="module")
def halves() -> tuple[pl.DataFrame, pl.DataFrame]:
    frame = table()
    test = np.random.default_rng(5).random(len(frame)) < 0.2
    return frame.filter(~test), frame.filter(test)


@pytest.fixture(scope="module")
def fitted(halves: tuple[pl.DataFrame, pl.DataFrame]) -> MatrixCompleter:
    return MatrixCompleter(2, random_state=0).fit(halves[0])


def error_of_means(halves: tuple[pl.DataFrame, pl.DataFrame]) -> float:
    train, test = halves
    means = train.group_by("product").agg(pl.col("stars").mean().alias("mean"))
    joined = test.join(means, on="product")
    return float(((joined["stars"] - joined["mean"]) ** 2).mean() ** 0.5)  # type: ignore[operator]


ALL = [
    *(MatrixCompleter(2, method=m, agents=3, max_iter=60, random_state=0) for m in METHODS),
    DLMaFitCompleter(2, agents=3, max_iter=60, random_state=0),
    RTRMCCompleter(2, random_state=0),
]


# The paper's variants have a constant ρ, which leaves their agents apart on this small table.
@pytest.mark.filterwarnings("ignore:the agents do not agree.* use method='gossip' with rho='auto'")
@pytest.mark.parametrize("estimator", ALL, ids=lambda e: getattr(e, "method", type(e).__name__))
def test_every_method_predicts_better_than_means(
    estimator: Any, halves: tuple[pl.DataFrame, pl.DataFrame]
) -> None:
    found = clone(estimator).fit(halves[0]).errors(halves[1])
    assert found["rmse"] < 0.8 * error_of_means(halves)


@pytest.mark.parametrize("method", ["bayes", "map", "exact-subspace"])
def test_what_many_learn_is_what_one_learns(
    method: str, halves: tuple[pl.DataFrame, pl.DataFrame]
) -> None:
    errors = {
        agents: MatrixCompleter(2, method=method, agents=agents, random_state=0)
        .fit(halves[0])
        .errors(halves[1])["rmse"]
        for agents in (1, 3, 7, "shop")
    }
    # Sums in another order differ by rounding, and users are numbered alike whoever holds them.
    assert np.ptp(list(errors.values())) < 1e-6


def test_tables_of_several_owners_are_as_one_table(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter
) -> None:
    tables = [halves[0].filter(pl.col("shop") == shop) for shop in SHOPS]
    together = MatrixCompleter(2, network="star", random_state=0).fit(tables)
    assert together.n_agents_ == 3
    assert together.network_ == gv.networks.star(3)
    assert together.errors(halves[1])["rmse"] == pytest.approx(
        fitted.errors(halves[1])["rmse"], abs=1e-6
    )


def test_the_library_of_the_table_is_that_of_the_answers(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter
) -> None:
    train = halves[0]
    pandas = MatrixCompleter(2, random_state=0).fit(train.to_pandas())
    arrow = MatrixCompleter(2, random_state=0).fit(train.to_arrow())
    ours = fitted.recommend(["u001", "u007"], k=3)
    theirs = pandas.recommend(["u001", "u007"], k=3)
    assert isinstance(ours, pl.DataFrame) and isinstance(theirs, pd.DataFrame)
    assert type(arrow.recommend(["u001"], k=1)).__module__.startswith("pyarrow")
    assert theirs["item"].tolist() == ours["item"].to_list()
    assert list(theirs.columns) == ["user", "item", "score", "rank", "known"]


def test_rows_in_another_order_give_the_same_bits(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter
) -> None:
    shuffled = halves[0].sample(fraction=1.0, shuffle=True, seed=3)
    again = MatrixCompleter(2, random_state=0).fit(shuffled)
    assert again.subspace_.tobytes() == fitted.subspace_.tobytes()
    assert again.data_hash_ == fitted.data_hash_


def test_separate_pairs_and_ratings_equal_a_table(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter
) -> None:
    train, test = halves
    pairs = train.select("customer", "product")
    apart = MatrixCompleter(2, random_state=0).fit(pairs, train["stars"])
    assert apart.subspace_.tobytes() == fitted.subspace_.tobytes()
    found = apart.predict(test.select("customer", "product"))
    assert found.shape == (len(test),)
    frame = apart.predict(test["customer"], test["product"])
    assert (frame["rating"].to_numpy() == found).all() and frame["known"].all()
    assert apart.score(pairs, train["stars"]) == pytest.approx(fitted.score(train))


def test_matrices_have_users_as_rows() -> None:
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 12))
    known = rng.random(whole.shape) < 0.7
    dense = np.where(known, whole, np.nan)
    options: dict[str, Any] = {"method": "exact-subspace", "regularization": 0.0, "random_state": 0}
    one = MatrixCompleter(3, **options).fit(dense)
    user, item = np.nonzero(known)
    sparse = csr_array((whole[known], (user, item)), shape=whole.shape)
    other = MatrixCompleter(3, **options).fit(sparse)
    assert one.subspace_.tobytes() == other.subspace_.tobytes()
    pairs = np.argwhere(~known)
    # Rank 2 and the mean are rank 3: recovered without noise, to the descent's 1e-8 and some.
    assert np.allclose(
        one.predict(pairs), np.clip(whole, np.nanmin(dense), np.nanmax(dense))[~known], atol=1e-5
    )


def test_unknown_ids_are_never_silently_the_mean(fitted: MatrixCompleter) -> None:
    with pytest.warns(UnknownIdWarning) as warned:
        frame = fitted.predict(["nobody", "u001", "u002", "nobody"], [3, 3, 99, 99])
    assert [str(one.message) for one in warned] == [
        "3 of 4 pairs are unknown to the model (such as user 'nobody' and item 99); their ratings "
        "are predicted from the known biases alone. Set on_unknown='fallback' to accept this, or "
        "'nan' or 'raise'."
    ]
    assert warned[0].filename == __file__
    assert frame["known"].to_list() == [False, True, False, False]
    with pytest.warns(UnknownIdWarning, match=r"^1 of 2 users are unknown .*the most rated items"):
        assert len(fitted.recommend(["u001", "nobody"], 2)) == 4
    with pytest.raises(DataError, match="whole numbers"):  # in every case
        fitted.predict(["u001"], ["3"])
    chosen = copy.copy(fitted).set_params(on_unknown="fallback")
    assert chosen.predict(["nobody"], [3])["known"].to_list() == [False]
    with pytest.raises(DataError, match="'nobody'"):
        chosen.set_params(on_unknown="raise").predict(["nobody"], [3])


def test_new_users_are_taken_in_without_learning_anew(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter
) -> None:
    train = halves[0]
    newcomer = train.filter(pl.col("customer") == "u007").with_columns(customer=pl.lit("new"))
    alone = fitted.fold_in(newcomer)
    twin = alone.predict(["new"], [3]).ratings
    assert twin == pytest.approx(fitted.model_.predict(["u007"], [3]).ratings, rel=1e-12)
    grown = MatrixCompleter(2, random_state=0).fit(train).partial_fit(newcomer)
    assert grown.predict(["new", "u007"], [3, 3])["known"].all()
    assert grown.subspace_.tobytes() == fitted.subspace_.tobytes()


def test_a_warm_start_needs_fewer_sums(halves: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    options: dict[str, Any] = {"method": "map", "regularization": 2.0, "random_state": 0}
    cold = MatrixCompleter(2, warm_start=True, **options).fit(halves[0])
    first = cold.n_iter_
    again = cold.fit(halves[0])
    assert again.n_iter_ < first
    few = halves[0].filter(pl.col("product") < 9)
    with pytest.raises(DataError, match="a warm start needs the items and the rank"):
        again.fit(few)


def test_saved_and_loaded_it_reports_the_same(
    halves: tuple[pl.DataFrame, pl.DataFrame], fitted: MatrixCompleter, tmp_path: Any
) -> None:
    fitted.save(tmp_path / "model")
    loaded = MatrixCompleter.load(tmp_path / "model")
    asked = halves[1]["customer"], halves[1]["product"]
    assert (loaded.predict(*asked)["rating"] == fitted.predict(*asked)["rating"]).all()
    with pytest.raises(GrassvineError, match="overwrite"):
        fitted.save(tmp_path / "model")


def test_scikit_learn_searches_and_validates(halves: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    train = halves[0]
    pairs, stars = train.select("customer", "product").to_pandas(), train["stars"].to_numpy()
    estimator = MatrixCompleter(2, on_unknown="fallback", random_state=0)
    scores = cross_val_score(estimator, pairs, stars, cv=KFold(3, shuffle=True, random_state=1))
    assert (scores > 0.5).all()
    search = GridSearchCV(
        estimator, {"rank": [1, 2]}, cv=KFold(2, shuffle=True, random_state=2)
    ).fit(pairs, stars)
    assert search.best_params_ == {"rank": 2}
    assert "MatrixCompleter" in estimator._repr_html_()


def test_folds_of_users_that_nobody_knows_have_a_score(
    halves: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    pairs, stars = halves[0].select("customer", "product").to_pandas(), halves[0]["stars"]
    with pytest.warns(UnknownIdWarning) as warned:  # without shuffling, the users of a fold are new
        scores = cross_val_score(MatrixCompleter(2), pairs, stars, cv=3, error_score="raise")
    assert len(warned) == 3 and np.isfinite(scores).all()
    search = GridSearchCV(MatrixCompleter(), {"rank": [1, 2]}, cv=2)
    with pytest.warns(UnknownIdWarning):
        search.fit(pairs, stars)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_without_factors_no_items_are_similar(halves: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    biases = MatrixCompleter(0).fit(halves[0])
    with pytest.raises(DataError, match=r"rank 0, biases alone, .*; fit a model of a higher rank"):
        biases.similar_items(3)


def test_the_agents_choose_the_rank(halves: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    for method in ("bayes", "map", "exact-subspace"):
        found = MatrixCompleter("auto", method=method, agents=2, random_state=0).fit(halves[0])
        assert 2 <= found.rank_ <= 8
        assert found.errors(halves[1])["rmse"] < 0.8 * error_of_means(halves)


def test_progress_is_shown_by_callbacks(
    halves: tuple[pl.DataFrame, pl.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    estimator = MatrixCompleter(2, random_state=0).set_callbacks(ProgressBar())
    estimator.fit(halves[0])
    assert "MatrixCompleter" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rank": -1}, PlanError, "rank is -1, but the table has 30 items; choose a number from 0"),
        (
            {"rank": 0, "method": "gossip"},
            PlanError,
            "rank is 0, but the table has 30 items; choose a number from 1",
        ),
        ({"rank": 31}, PlanError, "rank is 31, but the table has 30 items"),
        ({"rank": 2.0}, PlanError, "rank must be an integer"),
        ({"rank": "five"}, PlanError, "^rank is 'five'; use an integer or 'auto'.$"),
        ({"regularization": "ato"}, PlanError, "^regularization is 'ato'; use a number or 'auto'."),
        ({"rho": "ato"}, PlanError, "^rho is 'ato'; use a number or 'auto'.$"),
        ({"method": "baies"}, PlanError, "unknown method 'baies'; did you mean 'bayes'"),
        ({"agents": 0}, DataError, "agents is 0"),
        (
            {"agents": 500},
            DataError,
            r"^agents is 500, but there are \d+ users and each agent needs",
        ),
        ({"agents": "shopp"}, DataError, "did you mean 'shop'"),
        ({"network": "rong"}, PlanError, "unknown network 'rong'; did you mean 'ring'"),
        (
            {"network": gv.networks.ring(4)},
            NetworkError,
            "4 agents, but the data are divided among 1;",
        ),
        ({"engine": "ra"}, PlanError, "unknown engine 'ra'"),
        ({"regularization": -1.0, "method": "map"}, PlanError, "regularization is -1"),
        (
            {"regularization": 2.0},
            PlanError,
            "^method 'bayes' learns how strongly to regularise; use regularization='auto', or "
            "method='map'.$",
        ),
        ({"method": "gossip"}, PlanError, "'gossip' needs two agents or more"),
        ({"method": "gossip", "agents": 2, "rank": "auto"}, PlanError, "cannot choose the rank"),
        ({"duplicates": "x"}, DataError, "duplicates"),
        ({"user": "who"}, DataError, "there is no column 'who' for the users"),
        ({"random_state": -1}, PlanError, "random_state is -1"),
    ],
)
def test_wrong_options_are_reported_at_fit(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        MatrixCompleter(**options).fit(table())


def test_before_a_fit_nothing_is_known() -> None:
    with pytest.raises(NotFittedError):
        MatrixCompleter().predict(["a"], [1])


def test_the_table_is_never_changed(halves: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    frame = halves[0].to_pandas()
    before = frame.copy(deep=True)
    MatrixCompleter(2, random_state=0).fit(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_digits_with_holes_are_completed_better_than_by_pooled_rtrmc() -> None:
    images = masked_digits(0.6, seed=0)
    holes = np.argwhere(~images.known)
    truth = images.pixels[~images.known]

    def relative_error(estimator: Any) -> float:
        found = estimator.fit(np.where(images.known, images.pixels, np.nan)).predict(holes)
        return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))

    # Some pixels at the border are never known: nobody can do more than fall back on the mean.
    options: dict[str, Any] = {"on_unknown": "fallback", "random_state": 0}
    ours = relative_error(MatrixCompleter(10, agents=6, **options))
    assert ours <= relative_error(RTRMCCompleter(10, **options))  # .433 and .467
