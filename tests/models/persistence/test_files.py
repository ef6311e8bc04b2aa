"""Saved models: the same bits come back, and nothing else is let in."""

import hashlib
import os
import shutil
import tracemalloc
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.model_samples import MODELS, ratings_model, subspace_model, tasks_model
from tests.models.persistence.forging import PRIVATE, SHARED

import grassvine as gv
from grassvine.data.ids import Ids
from grassvine.foundations import folders
from grassvine.foundations.errors import ModelError, OutputError
from grassvine.models import Card, RatingsModel, TasksModel, inspect, load, save
from grassvine.models.persistence.folder import open_folder

CARD = Card(
    title="films — «ünïcode»",
    parameters={"rank": 3, "method": "exact", "rho": 1e-3, "seed": None, "warm": True},
    metrics={"test_rmse": np.float64(0.1) * 3},
    data_hash=hashlib.sha256(b"data").hexdigest(),
)


def assert_same(one: Any, other: Any) -> None:
    """Everything inside is of the same type and has the same bits."""
    assert type(one) is type(other)
    if isinstance(one, Ids):
        assert one.series.dtype == other.series.dtype and one.series.equals(other.series)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    elif is_dataclass(one):
        for entry in fields(one):
            assert_same(getattr(one, entry.name), getattr(other, entry.name))
    else:
        assert one == other


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(ratings_model(), tmp_path / "model", CARD)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@given(seed=st.integers(0, 3))
def test_what_is_saved_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, model: Any, seed: int
) -> None:
    made = model(seed)
    folder = save(made, tmp_path_factory.mktemp("models") / "one", CARD)
    assert_same(load(folder), made)
    again = save(load(folder), folder.parent / "two", CARD)
    for name in names(folder) | names(again):
        assert (folder / name).read_bytes() == (again / name).read_bytes()


KINDS = [
    pl.Series([-5, 10**18]),
    pl.Series(["", "a", "ü", "007"]).sort(),
    pl.Series([0.5, 1.5]),
    pl.Series([False, True]),
    pl.Series(["2024-01-01", "2025-01-01"]).str.to_date(),
    pl.Series(["2024-01-01 10:00", "2025-01-01 10:00"]).str.to_datetime(),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.dtype))
def test_ids_of_every_plain_type_come_back(tmp_path: Path, kind: pl.Series) -> None:
    shared = tasks_model().shared
    x = np.eye(len(kind), len(shared.features))
    model = TasksModel(shared).fold_in(x, np.arange(float(len(kind))), kind)
    assert_same(load(save(model, tmp_path / "model")), model)


def test_the_shared_part_travels_alone(saved: Path, tmp_path: Path) -> None:
    whole = load(saved)
    assert isinstance(whole, RatingsModel) and names(saved) == SHARED | PRIVATE
    (tmp_path / "sent").mkdir()
    for name in SHARED:
        shutil.copy(saved / name, tmp_path / "sent" / name)
        assert b"user 05" not in (saved / name).read_bytes()
    alone = RatingsModel(whole.shared)
    assert_same(load(tmp_path / "sent"), alone)
    assert_same(load(saved, private=False), alone)
    assert names(save(whole, tmp_path / "shared only", private=False)) == SHARED
    for name in PRIVATE:
        assert (saved / name).stat().st_mode & 0o077 == 0


def test_the_private_part_stays_with_its_own_shared_part(saved: Path, tmp_path: Path) -> None:
    other = save(ratings_model(seed=1), tmp_path / "other")
    for name in PRIVATE:
        shutil.copy(other / name, saved / name)
    with pytest.raises(ModelError, match=r"private.json and model.json belong to different models"):
        load(saved)
    with pytest.raises(ModelError, match="belong to different models"):
        inspect(saved)
    # What people write about a model is no part of it.
    retitled = save(load(other), tmp_path / "retitled", Card(title="another"), private=False)
    for name in PRIVATE:
        shutil.copy(other / name, retitled / name)
    assert_same(load(retitled), load(other))


def test_inspect_reports_without_reading_arrays(saved: Path) -> None:
    told = inspect(saved)
    assert (told.kind, told.version) == ("ratings", 1)
    assert told.private.keys() == PRIVATE and "seen_values" in told.private["private.safetensors"]
    model = ratings_model().private
    assert model is not None
    assert told.sizes == {"items": 20, "rank": 3, "users": 60, "ratings": model.seen.n_values}
    assert told.card == CARD and told.numbers["solver"] == {
        "regularization": 2.0,
        "bias_regularization": 3.0,
    }
    assert told.nbytes == {name: (saved / name).stat().st_size for name in SHARED | PRIVATE}
    assert told.written_by["numpy"] == np.__version__
    data = bytearray((saved / "shared.safetensors").read_bytes())
    data[-1] ^= 1
    (saved / "shared.safetensors").write_bytes(data)
    assert inspect(saved) == told
    for name in PRIVATE:
        (saved / name).unlink()
    assert not inspect(saved).private and inspect(saved).sizes == {"items": 20, "rank": 3}


def test_a_place_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no folder .*nowhere; pass the folder of a"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"contains no model.json; pass the complete folder of"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"contains no model.json"):
        inspect(tmp_path)


def test_nothing_is_replaced_unless_it_is_a_model_and_may_be(saved: Path, tmp_path: Path) -> None:
    new = ratings_model(seed=1)
    with pytest.raises(OutputError, match="model already exists; choose another path, or use over"):
        save(new, saved)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"contains notes.txt, which is not part of a model"):
        save(new, saved, overwrite=True)
    (saved / "notes.txt").unlink()
    assert_same(load(saved), ratings_model())
    assert_same(load(save(new, saved, overwrite=True)), new)
    (saved / "model.json").write_text("{}")
    with pytest.raises(OutputError, match="already exists and is not a saved model"):
        save(new, saved, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="file already exists and is not a folder"):
        save(new, tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    assert_same(load(save(new, tmp_path / "empty")), new)
    assert names(tmp_path) == {"model", "file", "empty"}


def test_a_save_flushes_its_files_its_folder_and_the_one_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[Path] = []
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        flush(descriptor)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not name open files")
    monkeypatch.setattr(os, "fsync", fsync)
    save(ratings_model(), tmp_path / "model")
    files, (folder, above) = flushed[:-2], flushed[-2:]
    assert {path.name for path in files} == SHARED | PRIVATE
    assert all(path.parent == folder for path in files) and above == tmp_path


@pytest.mark.parametrize("size", [2**21, 2**24])
def test_large_files_are_hashed_in_pieces(tmp_path: Path, size: int) -> None:
    (tmp_path / "large").write_bytes(bytes(size))
    with open_folder(tmp_path, {"large"}) as folder:
        tracemalloc.start()
        digest = folder.sha256("large")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert digest == hashlib.sha256(bytes(size)).hexdigest()
    assert peak < 2**20


@pytest.mark.parametrize("at", ["fsync", "exchange", "first rename", "second rename"])
def test_a_failed_save_loses_nothing(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    moves: list[Path] = []
    move = Path.rename

    def fail(*_: object) -> bool:
        raise OSError("no space left")

    def rename(self: Path, target: Path) -> Path:
        moves.append(self)
        if len(moves) == (1 if at == "first rename" else 2):
            fail()
        return move(self, target)

    if at == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    elif at == "exchange":
        monkeypatch.setattr(folders, "_exchange", fail)
    else:
        monkeypatch.setattr(folders, "_exchange", lambda *_: False)
        monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OutputError, match=r"no space left.*, and nothing was changed; choose"):
        save(ratings_model(seed=1), saved, overwrite=True)
    monkeypatch.undo()
    assert names(tmp_path) == {"model"}
    assert_same(load(saved), ratings_model())


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"title": 7}, "the title is 7; pass a string"),
        ({"parameters": {"x": [1]}}, r"the parameter 'x' is \[1\]; pass a string or a finite"),
        ({"parameters": {1: 2}}, "parameters are {1: 2}; pass a mapping from names"),
        ({"metrics": {"rmse": float("nan")}}, "the metric 'rmse' is nan; pass a finite number"),
        ({"metrics": 3}, "metrics are 3; pass a mapping from names"),
        ({"data_hash": "abc"}, "the data hash is 'abc'; pass the 64 hexadecimal digits"),
    ],
)
def test_what_cannot_be_written_on_a_card_is_refused(card: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Card(**card)


def test_numpy_s_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    numpy: dict[str, Any] = {"seed": np.int64(3), "rho": np.float32(0.5), "warm": np.True_}
    folder = save(subspace_model(), tmp_path / "model", Card(parameters=numpy))
    assert inspect(folder).card.parameters == {"seed": 3, "rho": 0.5, "warm": True}


def test_a_card_has_its_limits(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="more than the limit of 1048576; shorten its title"):
        save(subspace_model(), tmp_path / "model", Card(title="x" * (1 << 20)))
    assert not names(tmp_path)


@pytest.mark.parametrize("other", [gv.MatrixCompleter(), None, 3, {"basis": np.eye(2)}], ids=type)
def test_what_is_not_a_model_is_refused(tmp_path: Path, other: Any) -> None:
    with pytest.raises(ModelError, match=rf"model is of type {type(other).__name__}; pass a model"):
        save(other, tmp_path / "model")
    assert not names(tmp_path)


def test_ids_of_other_types_are_not_written(tmp_path: Path) -> None:
    model = ratings_model()
    nested = Ids(pl.Series([[number] for number in range(20)]))
    with pytest.raises(ModelError, match="are of type List"):
        save(replace(model, shared=replace(model.shared, items=nested)), tmp_path / "model")
    assert not names(tmp_path)
