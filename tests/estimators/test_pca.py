"""Components of divided samples, held against scikit-learn's of all."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import grassvine as gv
from grassvine.estimators import AltMinRegressor, DecentralizedPCA
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import ConvergenceWarning, DataError, ModelError, PlanError
from grassvine.foundations.seeds import stream

N_FEATURES, RANK = 12, 3
NAMES = [f"pixel {number}" for number in range(N_FEATURES)]


def samples(n_samples: int = 90, seed: int = 0) -> Array:
    """Far from the origin, and in an order that gives agents very different samples."""
    rng = stream(seed, "data", "samples of components")
    spread = np.array([6.0, 4.0, 3.0, *np.linspace(1.5, 0.5, N_FEATURES - 3)])
    turn = np.linalg.qr(rng.standard_normal((N_FEATURES, N_FEATURES)))[0]
    values = rng.standard_normal((n_samples, N_FEATURES)) * spread @ turn
    return 50.0 + values[np.argsort(values[:, 0])]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"agents": 4},
        {"agents": 5, "network": "star", "engine": "threads"},
        {"agents": 4, "method": "deepca"},
    ],
    ids=str,
)
def test_it_finds_what_scikit_learn_finds(options: dict[str, Any]) -> None:
    x = samples()
    wanted = PCA(RANK, svd_solver="full").fit(x)
    found = DecentralizedPCA(RANK, random_state=0, **options).fit(x)
    angles = subspace_angles(found.components_.T, wanted.components_.T)
    assert angles.max() <= 1e-8
    np.testing.assert_allclose(found.explained_variance_, wanted.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(
        found.explained_variance_ratio_, wanted.explained_variance_ratio_, rtol=1e-8
    )
    np.testing.assert_allclose(found.mean_, wanted.mean_, rtol=1e-14)
    # Axes are known less well than the subspace they span: angles over the gaps of variances.
    np.testing.assert_allclose(found.components_, wanted.components_, atol=1e-7)
    np.testing.assert_allclose(found.transform(x), wanted.transform(x), atol=1e-5)
    assert found.n_samples_ == len(x) and found.n_components_ == RANK
    assert len(found.subspaces_) == options.get("agents", 1)
    assert found.agreement_ < 1e-6


def test_gossip_comes_near() -> None:
    x = samples()
    wanted = PCA(RANK).fit(x)
    for method in ("gossip", "precon-parallel", "tracked"):
        found = DecentralizedPCA(RANK, method=method, agents=3, max_iter=100, random_state=0).fit(x)
        angles = np.degrees(subspace_angles(found.components_.T, wanted.components_.T))
        assert angles.max() < 5.0, method
        assert found.agreement_ < 5.0


@pytest.mark.parametrize("n_samples", [5, 90])
def test_all_components_give_samples_back(n_samples: int) -> None:
    x = samples(n_samples)
    found = DecentralizedPCA(min(x.shape), random_state=0).fit(x)
    assert found.explained_variance_ratio_.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(found.inverse_transform(found.transform(x)), x, rtol=1e-9)


def test_without_centring_the_origin_is_the_mean() -> None:
    x = samples()
    found = DecentralizedPCA(1, center=False, random_state=0).fit(x)
    assert not found.mean_.any()
    leading = np.linalg.svd(x)[2][:1]
    np.testing.assert_allclose(np.abs(found.components_), np.abs(leading), atol=1e-10)


def test_samples_that_do_not_vary_have_components_that_explain_nothing() -> None:
    found = DecentralizedPCA(2, random_state=0).fit(np.full((6, 4), 7.0))
    assert not found.explained_variance_.any() and not found.explained_variance_ratio_.any()


def test_frames_in_and_out() -> None:
    x = samples()
    frame = pd.DataFrame(x, columns=NAMES)
    found = DecentralizedPCA(RANK, random_state=0).fit(frame)
    names = ["decentralizedpca0", "decentralizedpca1", "decentralizedpca2"]
    assert found.get_feature_names_out().tolist() == names
    assert found.feature_names_in_.tolist() == NAMES == list(found.model_.features)
    out = clone(found).set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == names and out.index.equals(frame.index)
    other = pl.DataFrame(dict(zip(NAMES, x.T, strict=True)))
    out = clone(found).set_output(transform="polars").fit_transform(other)
    assert isinstance(out, pl.DataFrame) and out.columns == names
    np.testing.assert_allclose(out.to_numpy(), found.transform(frame), atol=1e-12)


def test_pipelines_and_searches_take_it() -> None:
    x = samples()
    pipeline = make_pipeline(DecentralizedPCA(agents=3, random_state=0), KNeighborsRegressor(3))
    search = GridSearchCV(pipeline, {"decentralizedpca__n_components": [1, 3]}, cv=3).fit(
        x, x.sum(axis=1)
    )
    assert search.best_params_["decentralizedpca__n_components"] in (1, 3)
    assert "DecentralizedPCA" in pipeline._repr_html_()


def test_what_was_saved_transforms_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(samples(), columns=NAMES)
    found = DecentralizedPCA(
        np.int64(RANK),  # type: ignore[arg-type]
        agents=3,
        network=gv.networks.ring(3),
        random_state=0,
    ).fit(frame)
    again = DecentralizedPCA.load(found.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(frame), found.transform(frame))
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "mean_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert again.n_components == RANK and again.network == "ring"  # a network is no plain value
    assert again.get_feature_names_out().tolist() == found.get_feature_names_out().tolist()
    with pytest.raises(ModelError, match="of DecentralizedPCA, not of AltMinRegressor"):
        AltMinRegressor.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 13}, PlanError, "n_components is 13, but 90 samples of 12 features"),
        ({"n_components": 0}, PlanError, "choose a number from 1 to 12"),
        ({"n_components": 1.0}, PlanError, "n_components is 1.0; pass the number of components as"),
        ({"n_components": "2"}, PlanError, "n_components must be an integer, not '2'"),
        (
            {"n_components": 0.9, "method": "gossip", "agents": 2},
            PlanError,
            "a fraction of the variance, which method 'gossip' does not support",
        ),
        ({"agents": "owner"}, DataError, "'owner', the name of a column, but X is a ndarray"),
        ({"center": "yes"}, PlanError, "center is 'yes'; pass True or False"),
        (
            {"agents": 91},
            PlanError,
            "agents is 91, but there are 90 samples and each agent needs one",
        ),
        ({"method": "deepca"}, PlanError, "method 'deepca' needs two agents or more"),
        ({"method": "pca"}, PlanError, "unknown method 'pca'; did you mean 'deepca'"),
    ],
)
def test_options_that_cannot_be_are_reported(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DecentralizedPCA(**options).fit(samples())


def test_a_fit_that_did_not_converge_warns() -> None:
    with pytest.warns(ConvergenceWarning, match="the fit did not converge in"):
        DecentralizedPCA(RANK, method="deepca", agents=3, max_iter=3, random_state=0).fit(samples())


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("n_samples", [8, 90])
def test_a_share_of_the_variance_takes_as_many_components_as_in_scikit_learn(
    share: float, n_samples: int
) -> None:
    x = samples(n_samples)
    wanted = PCA(share, svd_solver="full").fit(x)
    found = DecentralizedPCA(share, agents=4, random_state=0).fit(x)
    assert found.n_components_ == wanted.n_components_ == len(found.components_)
    np.testing.assert_allclose(found.components_, wanted.components_, atol=1e-7)
    assert found.explained_variance_ratio_.sum() > share


OWNERS = np.array(["north", "east", "south"])[np.arange(90) % 3]


def by_column(frame: pd.DataFrame) -> DecentralizedPCA:
    model = DecentralizedPCA(RANK, agents="hospital", random_state=0)
    return model.fit(frame.assign(hospital=OWNERS))


def by_array(frame: pd.DataFrame) -> DecentralizedPCA:
    return DecentralizedPCA(RANK, random_state=0).fit(frame, owners=OWNERS)


def by_list(frame: pd.DataFrame) -> DecentralizedPCA:
    tables = [frame[owner == OWNERS] for owner in ("east", "north", "south")]
    return DecentralizedPCA(RANK, random_state=0).fit(tables)


@pytest.mark.parametrize("fit", [by_column, by_array, by_list])
def test_owners_are_a_column_an_array_or_a_list_of_tables(fit: Any) -> None:
    frame = pd.DataFrame(samples(), columns=NAMES)
    before = frame.copy()
    found = fit(frame)
    wanted = PCA(RANK, svd_solver="full").fit(frame)
    np.testing.assert_allclose(found.components_, wanted.components_, atol=1e-7)
    assert found.network_.n_agents == 3 and found.feature_names_in_.tolist() == NAMES
    names = [0, 1, 2] if fit is by_list else ["east", "north", "south"]
    assert found.owners_.tolist() == names
    sums = found.history_.final()["mse"]
    lost = (frame - wanted.inverse_transform(wanted.transform(frame))) ** 2
    for owner, mse in zip(("east", "north", "south"), sums, strict=True):
        assert mse == pytest.approx(lost[owner == OWNERS].to_numpy().mean(), rel=1e-9)
    pd.testing.assert_frame_equal(frame, before)


def test_tables_with_owners_are_transformed_too() -> None:
    frame = pd.DataFrame(samples(), columns=NAMES)
    marked = frame.assign(hospital=OWNERS)
    model = DecentralizedPCA(RANK, agents="hospital", random_state=0)
    out = model.set_output(transform="pandas").fit_transform(marked)
    assert out.shape == (90, RANK)
    np.testing.assert_array_equal(model.transform(frame), out)
    arrays = [frame.to_numpy()[:20], frame.to_numpy()[20:]]
    both = DecentralizedPCA(RANK, random_state=0).fit_transform(arrays)
    np.testing.assert_allclose(both, out, atol=1e-9)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (samples(), {"owners": OWNERS[:5]}, "90 samples but 5 owners; pass one per sample"),
        ([samples(), samples()[:, 1:]], {}, "table 1 has 11 features and table 0 has 12"),
        ([samples(), samples()], {"owners": OWNERS}, "by a list of tables and by owners"),
        (
            [pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"a": [1.0], "c": [2.0]})],
            {},
            "tables 0 and 1 have different columns, such as 'b'",
        ),
    ],
)
def test_owners_that_do_not_fit_are_reported(x: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        DecentralizedPCA(1).fit(x, **options)


def test_an_unknown_column_of_owners_is_reported() -> None:
    frame = pd.DataFrame(samples(), columns=NAMES).assign(hospital=OWNERS)
    with pytest.raises(DataError, match="no column 'hospitol' for the owners; did you mean 'hosp"):
        DecentralizedPCA(2, agents="hospitol").fit(frame)


def test_sending_more_than_the_samples_is_reported() -> None:
    rng = stream(3, "data", "wide")
    x = rng.standard_normal((40, 6000))
    with pytest.warns(
        UserWarning, match="sent .* MB, more than the 2 MB of all samples; use fewer"
    ):
        found = DecentralizedPCA(5, agents=4, random_state=0).fit(x)
    assert found.bytes_ > 10_000_000 > x.nbytes


def test_samples_whose_products_would_overflow_are_refused() -> None:
    x = samples()
    x[3, 4] = -1e300
    with pytest.raises(
        DataError, match=r"^the samples contain -1e\+300, which is above 1e\+50 in absolute value; "
    ):
        DecentralizedPCA(2).fit(x)
    x[3, 4] = 1e50
    assert np.isfinite(DecentralizedPCA(2).fit(x).components_).all()


# Missing values


def with_holes(x: Array, share: float = 0.2, seed: int = 0) -> Array:
    return np.where(stream(seed, "data", "holes").random(x.shape) < share, np.nan, x)


@pytest.mark.parametrize("options", [{"agents": 4}, {"agents": 10, "network": "star"}], ids=str)
def test_agents_fit_samples_with_holes_like_one_owner(options: dict[str, Any]) -> None:
    x = with_holes(samples())
    alone = DecentralizedPCA(RANK, random_state=0).fit(x)
    many = DecentralizedPCA(RANK, random_state=0, **options).fit(x)
    np.testing.assert_allclose(many.components_, alone.components_, atol=1e-8)
    np.testing.assert_allclose(many.explained_variance_, alone.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(many.transform(x), alone.transform(x), atol=1e-7)
    assert many.agreement_ < 1e-6 and many.validation_path_ is not None
    assert "missing values follow from" in many.stop_reason_


def test_few_holes_hardly_change_the_components() -> None:
    x = samples(300)
    complete = DecentralizedPCA(RANK, random_state=0).fit(x)
    holed = x.copy()
    holed[5, 2] = holed[100, 7] = np.nan
    found = DecentralizedPCA(RANK, random_state=0).fit(holed)
    np.testing.assert_allclose(found.components_, complete.components_, atol=0.02)
    np.testing.assert_allclose(found.explained_variance_, complete.explained_variance_, rtol=0.01)
    known = ~np.isnan(holed).any(axis=1)
    wanted = (x[known] - found.mean_) @ found.components_.T
    np.testing.assert_allclose(found.transform(holed)[known], wanted, atol=1e-12)
    share = DecentralizedPCA(0.9, random_state=0).fit(holed)
    assert share.n_components_ == DecentralizedPCA(0.9, random_state=0).fit(x).n_components_


@pytest.mark.filterwarnings("ignore:.IterativeImputer. Early stopping")
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_images_with_holes_are_filled_better_than_by_imputers(share: float) -> None:
    images = load_digits().data[:600]
    x = with_holes(images, share)
    keep = ~np.isnan(x).all(axis=0)
    x, images = x[:, keep], images[:, keep]
    holes, centred = np.isnan(x), images - images.mean(axis=0)
    found = DecentralizedPCA(5, agents=3, random_state=0).fit(x)

    def captured(components: Array) -> float:
        return float(np.sum((centred @ components.T) ** 2))

    def error(filled: Array) -> float:
        return float(np.mean((filled - images)[holes] ** 2))

    best = captured(PCA(5).fit(images).components_)
    lost = best - captured(found.components_)
    iterative = IterativeImputer(max_iter=3, n_nearest_features=20, random_state=0)
    others: list[Any] = [SimpleImputer(), iterative]
    if share > 0.3:  # with fewer holes, the nearest neighbours know more than a linear model
        others.append(KNNImputer())
    for imputer in others:
        filled = imputer.fit_transform(x)
        assert error(found.impute(x)) < error(filled)
        # Of the variance of the complete images, at most .1 % less.
        assert lost < best - captured(PCA(5).fit(filled).components_) + 1e-3 * best
    filled = SimpleImputer().fit_transform(x)
    assert lost < 0.5 * (best - captured(PCA(5).fit(filled).components_))


def test_models_of_complete_samples_transform_those_with_holes() -> None:
    x = samples(300)
    model = DecentralizedPCA(RANK, random_state=0).fit(x)
    holed = with_holes(x, 0.1)
    wrong = np.abs(model.transform(holed) - model.transform(x))
    filled = np.where(np.isnan(holed), x.mean(axis=0), holed)
    assert np.mean(wrong) < 0.7 * np.mean(np.abs(model.transform(filled) - model.transform(x)))
    np.testing.assert_array_equal(model.impute(x), x)
    restored = model.inverse_transform(model.transform(holed))
    assert restored.shape == x.shape and np.isfinite(restored).all()


def test_holes_come_from_any_library_and_are_saved(tmp_path: Path) -> None:
    x = with_holes(samples())
    plain = DecentralizedPCA(RANK, random_state=0).fit(x)
    polars = pl.DataFrame(x, schema=NAMES).fill_nan(None)
    for frame in (pd.DataFrame(x, columns=NAMES), polars):
        found = DecentralizedPCA(RANK, random_state=0).fit(frame)
        np.testing.assert_array_equal(found.components_, plain.components_)
        np.testing.assert_array_equal(found.transform(frame), plain.transform(x))
    again = DecentralizedPCA.load(plain.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(x), plain.transform(x))
    np.testing.assert_array_equal(again.impute(x), plain.impute(x))
    owners = np.arange(len(x)) % 3
    assert len(DecentralizedPCA(RANK, random_state=0).fit(x, owners=owners).subspaces_) == 3


def test_holes_that_cannot_be_are_reported() -> None:
    x = with_holes(samples())
    with pytest.raises(
        DataError, match=r"values of the samples are missing, which method 'gossip'"
    ):
        DecentralizedPCA(RANK, method="gossip", agents=2).fit(x)
    x[:, 4] = np.nan
    with pytest.raises(DataError, match="the feature 'x4' has no values at all; remove it"):
        DecentralizedPCA(RANK).fit(x)
    x[:, 4] = 1.0
    x[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        DecentralizedPCA(RANK).fit(x)
