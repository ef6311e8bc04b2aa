"""Fits whose agents read their own ratings from files."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engines.elsewhere_engine import ElsewhereEngine

import grassvine as gv
from grassvine.data.stored import RatingPart
from grassvine.estimators import DLMaFitCompleter, MatrixCompleter, RTRMCCompleter
from grassvine.fits.rating_formulations import METHODS
from grassvine.foundations.errors import DataError
from grassvine.models import BayesianSolver

SHOPS = ("north", "south", "west")
# Twenty updates are enough to compare bits, and too few for gossip to agree.
pytestmark = pytest.mark.filterwarnings("ignore:the agents do not agree")


def table() -> pl.DataFrame:
    """Half stars of 90 users in three shops, for 25 products of a table of rank 2."""
    rng = np.random.default_rng([3, 17])
    taste = rng.normal(size=(90, 2)) @ rng.normal(size=(2, 25))
    user, item = np.nonzero(rng.random((90, 25)) < 0.5)
    return pl.DataFrame(
        {
            "customer": [f"u{number:03d}" for number in user],
            "product": item * 7,
            "stars": np.clip(np.round(6 + 2 * taste[user, item]) / 2, 0.5, 5.0),
            "shop": [SHOPS[number % 3] for number in user],
        }
    )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> gv.RatingDataset:
    path = tmp_path_factory.mktemp("apart") / "ratings.parquet"
    table().sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path, row_group_size=100)
    return gv.RatingDataset.by_column(path, "shop")


def completer(method: str = "bayes", **options: Any) -> MatrixCompleter:
    given: dict[str, Any] = {"rho": 30.0, "max_iter": 20, "random_state": 0, **options}
    return MatrixCompleter(2, method=method, agents="shop", **given)


def shared_bits(fitted: Any) -> tuple[Any, ...]:
    part = fitted.model_.shared
    arrays = part.factors, part.item_biases, part.counts
    numbers: tuple[Any, ...] = part.centre, part.lowest, part.highest
    if isinstance(part.solver, BayesianSolver):
        arrays = (*arrays, *part.solver.bayesian_model.arrays().values())
    else:
        numbers = *numbers, part.solver
    return (*(array.tobytes() for array in arrays), *numbers, part.items.series.to_list())


@pytest.mark.parametrize("method", METHODS)
def test_the_items_are_learned_to_the_bits_of_a_table_that_is_here(
    method: str, dataset: gv.RatingDataset
) -> None:
    found, wanted = completer(method).fit(dataset), completer(method).fit(table())
    assert shared_bits(found) == shared_bits(wanted)
    assert found.bytes_ == wanted.bytes_ and found.n_agents_ == 3
    for name in ("n_users_", "n_items_", "n_ratings_", "rank_", "assumed_"):
        assert getattr(found, name) == getattr(wanted, name)
    assert found.data_hash_ == dataset.digest() != wanted.data_hash_
    assert found.model_.private is None


def test_what_the_scale_of_the_ratings_chooses_agrees_to_rounding(
    dataset: gv.RatingDataset,
) -> None:
    found, wanted = (completer("gossip", rho="auto").fit(given) for given in (dataset, table()))
    # ρ is a sum of a thousand squares, whose order differs; 20 updates carry its last bits on
    np.testing.assert_allclose(found.subspace_, wanted.subspace_, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [MatrixCompleter("auto", random_state=0), DLMaFitCompleter(2, max_iter=30, random_state=0)],
)
def test_ranks_that_are_chosen_and_baselines_learn_so_too(
    estimator: Any, dataset: gv.RatingDataset
) -> None:
    found = shared_bits(estimator.fit(dataset))
    assert found == shared_bits(estimator.set_params(agents="shop").fit(table()))


def test_users_are_taken_in_later_to_the_bits_of_a_table_that_is_here(
    dataset: gv.RatingDataset,
) -> None:
    found, wanted = completer().fit(dataset), completer().fit(table())
    pairs = table().select("customer", "product")
    for agent in dataset.agents:  # each where it is
        found.partial_fit(dataset.part(agent).read())
    assert found.predict(pairs).tobytes() == wanted.predict(pairs).tobytes()
    assert found.recommend(["u007"], 3).equals(wanted.recommend(["u007"], 3))


def test_a_model_without_users_reports_it(dataset: gv.RatingDataset, tmp_path: Path) -> None:
    fitted = completer(on_unknown="raise").fit(dataset)
    why = "the model does not know .*: it was fitted or loaded without users; .*fold them in"
    with pytest.raises(DataError, match=why):
        fitted.recommend(["u007"])
    with pytest.raises(DataError, match=why):
        fitted.predict(["u007"], [7])
    with pytest.raises(
        DataError, match=r"fitted or loaded without users, .*; add users with partial_fit"
    ):
        fitted.errors(table())
    fallback = fitted.set_params(on_unknown="fallback").recommend(["u007"], 3)
    assert fallback["known"].to_list() == [False] * 3
    fitted.save(tmp_path / "model")
    again = MatrixCompleter.load(tmp_path / "model")
    assert shared_bits(again) == shared_bits(fitted) and again.model_.private is None


def test_a_file_an_agent(tmp_path: Path) -> None:
    paths = []
    for shop in SHOPS:
        paths.append(tmp_path / f"{shop}.csv")
        table().filter(shop=shop).drop("shop").write_csv(paths[-1])
    found = completer().fit(gv.RatingDataset.by_file(paths))
    assert shared_bits(found) == shared_bits(completer().fit(table()))


def test_nothing_is_read_where_the_agents_are_not(
    dataset: gv.RatingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = completer().fit(dataset)

    def refuse(part: RatingPart) -> None:
        raise AssertionError("a part was read here")

    monkeypatch.setattr(RatingPart, "read", refuse)  # which the other process does not know
    found = completer(engine=ElsewhereEngine()).fit(dataset)
    assert shared_bits(found) == shared_bits(wanted)
    with pytest.raises(AssertionError, match="a part was read here"):
        completer().fit(dataset)


def test_an_agent_s_faulty_part_ends_the_fit_in_its_words(tmp_path: Path) -> None:
    twice = pl.concat([table(), table()[:1]])
    twice.write_parquet(tmp_path / "ratings.parquet")
    dataset = gv.RatingDataset.by_column(tmp_path / "ratings.parquet", "shop")
    for engine in ("local", ElsewhereEngine()):
        with pytest.raises(DataError, match=r"^agent 'north': 1 rating repeats a user and an item"):
            completer(engine=engine).fit(dataset)


def test_a_warm_start_begins_at_the_earlier_items(dataset: gv.RatingDataset) -> None:
    fitted = completer("map", regularization=2.0, warm_start=True).fit(dataset)
    first = fitted.n_iter_
    assert fitted.fit(dataset).n_iter_ < first


def test_where_ratings_are_needed_here_a_dataset_is_refused(dataset: gv.RatingDataset) -> None:
    with pytest.raises(DataError, match="reads its ratings from its files; omit y"):
        completer().fit(dataset, [1.0])
    refused = r"RatingDataset stay in files; pass one part, dataset.part\(name\).read\(\)"
    with pytest.raises(DataError, match=refused):
        RTRMCCompleter(2).fit(dataset)
    with pytest.raises(DataError, match=refused):
        completer().fit(table()).partial_fit(dataset)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.cluster
def test_actors_read_their_own_parts(
    dataset: gv.RatingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = completer().fit(dataset)
    monkeypatch.setattr(RatingPart, "read", None)
    with gv.engines.ray_cluster(cpus=2):
        found = completer(engine=gv.RayEngine(agents_per_actor=2)).fit(dataset)
    assert shared_bits(found) == shared_bits(wanted)
