"""Saved models: the same bits come back, and nothing else is let in."""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from tests.models.model_samples import MODELS, ids, ratings_model, subspace_model, tasks_model

from grassvine.data.ids import Ids
from grassvine.foundations.errors import ModelError, OutputError
from grassvine.models import Card, RatingsModel, TasksModel, inspect, load, save
from grassvine.models.sealed import digest, seal

SHARED = {"model.json", "shared.safetensors", "items.arrow"}
PRIVATE = {"private.json", "private.safetensors", "users.arrow"}
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


def reseal(folder: Path, change: Callable[[dict[str, Any]], None], part: str = "model") -> None:
    """Alter a card as somebody would who knows how it is sealed."""
    path = folder / f"{part}.json"
    document = json.loads(path.read_text())
    del document["sha256"]
    change(document)
    path.write_bytes(seal(document))
    if part == "model" and (folder / "private.json").exists():
        body = {key: document.get(key) for key in ("kind", "numbers", "files")}
        reseal(folder, lambda private: private.update(shared=digest(body)), "private")


def forge(folder: Path, name: str, data: bytes) -> None:
    """Put another file in the place of one and mend all checksums."""
    (folder / name).write_bytes(data)
    part = "model" if name in SHARED else "private"
    entry = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    reseal(folder, lambda document: document["files"].update({name: entry}), part)


def forge_tensors(folder: Path, part: str, **changes: Any) -> None:
    name = f"{part}.safetensors"
    arrays = {**load_tensors((folder / name).read_bytes()), **changes}
    forge(folder, name, save_tensors({k: v for k, v in arrays.items() if v is not None}))


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
    with pytest.raises(ModelError, match=r"private.json belongs to another model than model.json"):
        load(saved)
    with pytest.raises(ModelError, match="belongs to another model"):
        inspect(saved)
    # What people write about a model is no part of it.
    retitled = save(load(other), tmp_path / "retitled", Card(title="another"), private=False)
    for name in PRIVATE:
        shutil.copy(other / name, retitled / name)
    assert_same(load(retitled), load(other))


def test_inspect_tells_without_reading_arrays(saved: Path) -> None:
    told = inspect(saved)
    assert (told.kind, told.version, told.private) == ("ratings", 1, True)
    model = ratings_model().private
    assert model is not None
    assert told.sizes == {"items": 20, "rank": 3, "users": 60, "ratings": model.seen.n_values}
    assert told.card == CARD and told.numbers["penalties"] == {"mu": 2.0, "mu_b": 3.0}
    assert told.nbytes == {name: (saved / name).stat().st_size for name in SHARED | PRIVATE}
    assert told.written_by["numpy"] == np.__version__
    data = bytearray((saved / "shared.safetensors").read_bytes())
    data[-1] ^= 1
    (saved / "shared.safetensors").write_bytes(data)
    assert inspect(saved) == told
    for name in PRIVATE:
        (saved / name).unlink()
    assert not inspect(saved).private and inspect(saved).sizes == {"items": 20, "rank": 3}


@pytest.mark.parametrize("name", sorted(SHARED | PRIVATE))
@given(data=st.data())
def test_no_altered_byte_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    folder = save(ratings_model(), tmp_path_factory.mktemp("models") / "one", CARD)
    content = bytearray((folder / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del content[place:]
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError):
        load(folder)


@pytest.mark.parametrize("name", sorted((SHARED | PRIVATE) - {"model.json", "private.json"}))
@given(data=st.data())
def test_who_mends_the_checksums_gets_a_model_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    folder = save(ratings_model(), tmp_path_factory.mktemp("models") / "one")
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    forge(folder, name, bytes(content))
    try:
        model = load(folder)
    except ModelError:
        return
    assert isinstance(model, RatingsModel) and np.isfinite(model.shared.factors).all()


def arrow(column: Any, name: str = "id") -> bytes:
    buffer = io.BytesIO()
    table = pa.table({name: column})
    with pa.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


class Foreign(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.string(), "somebody.else")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"code"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> "Foreign":
        return cls()


FILMS = ids("film ", 20).series.to_list()
HEADER = (1 << 21).to_bytes(8, "little")
MANY = {f"t{k}": np.zeros(1) for k in range(70)}

FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "extension type": (
        lambda at: forge(
            at, "items.arrow", arrow(pa.ExtensionArray.from_storage(Foreign(), pa.array(FILMS)))
        ),
        r"the ids of .*items.arrow are of type Extension.*; only text, numbers, dates",
    ),
    "nested type": (
        lambda at: forge(at, "items.arrow", arrow(pa.array([[k] for k in FILMS]))),
        r"items.arrow are of type List",
    ),
    "another column": (
        lambda at: forge(at, "items.arrow", arrow(FILMS, "name")),
        r"items.arrow has the columns name, not 'id' alone",
    ),
    "no arrow": (lambda at: forge(at, "items.arrow", b"PAR1" * 99), "items.arrow is no Arrow file"),
    "too few ids": (
        lambda at: forge(at, "items.arrow", arrow(FILMS[1:])),
        "items.arrow holds 19 ids for 20 rows",
    ),
    "an id twice": (
        lambda at: forge(at, "items.arrow", arrow([*FILMS[1:], FILMS[1]])),
        "items.arrow holds an id twice",
    ),
    "an id missing": (
        lambda at: forge(at, "items.arrow", arrow([*FILMS[1:], None])),
        r"in .*items.arrow: 1 saved ids are missing",
    ),
    "ids in disorder": (
        lambda at: forge(at, "items.arrow", arrow(FILMS[::-1])),
        "items.arrow are not in ascending order",
    ),
    "long header": (
        lambda at: forge(at, "shared.safetensors", HEADER + b" " * (1 << 21)),
        "the header of .*shared.safetensors has 2097152 bytes, more than 1048576",
    ),
    "header beyond the file": (
        lambda at: forge(at, "shared.safetensors", HEADER + b" " * 9),
        "shared.safetensors is no safetensors file or truncated",
    ),
    "header no JSON": (
        lambda at: forge(at, "shared.safetensors", (9).to_bytes(8, "little") + b"[" * 9),
        "the header of .*shared.safetensors is no JSON",
    ),
    "many tensors": (
        lambda at: forge(at, "shared.safetensors", save_tensors(MANY)),
        "shared.safetensors holds 70 arrays, more than 64",
    ),
    "extra tensor": (
        lambda at: forge_tensors(at, "shared", code=np.zeros(3)),
        "shared.safetensors holds 'code', which is no part of a model",
    ),
    "tensor missing": (
        lambda at: forge_tensors(at, "shared", offsets=None),
        "shared.safetensors lacks 'offsets'",
    ),
    "another type": (
        lambda at: forge_tensors(at, "shared", offsets=np.zeros(20, np.float32)),
        "'offsets' in .*shared.safetensors is of type F32, not F64",
    ),
    "another shape": (
        lambda at: forge_tensors(at, "shared", offsets=np.zeros((20, 1))),
        r"'offsets' in .*shared.safetensors has shape \[20, 1\], not items",
    ),
    "inconsistent shapes": (
        lambda at: forge_tensors(at, "shared", offsets=np.zeros(21)),
        "'offsets' in .*shared.safetensors has 21 items where there are 20",
    ),
    "ranks differ": (
        lambda at: forge_tensors(at, "private", weights=np.zeros((60, 4))),
        "'weights' in .*private.safetensors has 4 rank where there are 3",
    ),
    "NaN": (
        lambda at: forge_tensors(at, "shared", offsets=np.full(20, np.nan)),
        "'offsets' in .*shared.safetensors holds NaN or infinity",
    ),
    "negative counts": (
        lambda at: forge_tensors(at, "shared", counts=np.full(20, -1)),
        "holds what is no model: counts are no list of whole numbers",
    ),
    "counts that do not add up": (
        lambda at: forge_tensors(at, "private", seen_counts=np.ones(60, np.int64)),
        "the counts of ratings do not add up",
    ),
    "ratings of no item": (
        lambda at: forge_tensors(at, "private", seen_items=_seen(at) + np.int32(19)),
        "a rating is of an item that is not there",
    ),
    "ratings in disorder": (
        lambda at: forge_tensors(at, "private", seen_items=_seen(at)[::-1].copy()),
        "the ratings of a user are not in order",
    ),
    "newer": (
        lambda at: reseal(at, lambda card: card.update(version=2)),
        "model.json was written by a newer grassvine .format 2, this one reads up to 1.; install",
    ),
    "no version": (
        lambda at: reseal(at, lambda card: card.update(version="1")),
        "model.json names no version of its format",
    ),
    "another format": (
        lambda at: reseal(at, lambda card: card.update(format="other model")),
        "model.json was not written by grassvine",
    ),
    "a kind we do not have": (
        lambda at: reseal(at, lambda card: card.update(kind="rating")),
        r"unknown kind of model 'rating'; did you mean 'ratings'",
    ),
    "unknown key": (
        lambda at: reseal(at, lambda card: card.update(cart={})),
        r"model.json: unknown entry 'cart'; did you mean 'card'",
    ),
    "missing key": (
        lambda at: reseal(at, lambda card: card.pop("card")),
        "model.json lacks card; save the model again",
    ),
    "a path that leads out": (
        lambda at: reseal(at, lambda card: card["files"].update({"../x": {}})),
        r"files of .*model.json: unknown entry '../x'",
    ),
    "numbers are none": (
        lambda at: reseal(at, lambda card: card.update(numbers=[])),
        "the numbers of the model is no table of names and values",
    ),
    "a centre that is none": (
        lambda at: reseal(at, lambda card: card["numbers"].update(centre="high")),
        "holds what is no model: centre must be a number",
    ),
    "no formulation": (
        lambda at: reseal(at, lambda card: card["numbers"].update(formulation="magic")),
        "there is no formulation 'magic'",
    ),
    "a metric that is none": (
        lambda at: reseal(at, lambda card: card["card"].update(metrics={"rmse": 10**400})),
        "the metric 'rmse' is 1000.*; give a finite number",
    ),
    "versions that are none": (
        lambda at: reseal(at, lambda card: card["written_by"].update(numpy=2)),
        "written_by of .*model.json is no list of versions",
    ),
    "no JSON": (lambda at: _write(at, b"model"), "model.json is no JSON"),
    "endless number": (lambda at: _write(at, b'{"format": NaN}'), "is no JSON .it holds NaN."),
    "deep JSON": (lambda at: _write(at, b"[" * 100_000), "model.json is no JSON"),
    "large JSON": (lambda at: _write(at, b" " * 1_048_577), "model.json has 1048577 bytes, more"),
    "infinite JSON": (
        lambda at: _write(at, b'{"format": "grassvine model", "version": 1, "x": 1e999}'),
        "model.json is not what was saved: its checksum differs",
    ),
    "checksum": (
        lambda at: _flip(at / "items.arrow"),
        "items.arrow is not what was saved: its che",
    ),
    "truncated": (
        lambda at: (at / "users.arrow").write_bytes((at / "users.arrow").read_bytes()[:-1]),
        "users.arrow has .* bytes, not the .* that were saved; it is truncated",
    ),
    "missing": (lambda at: (at / "items.arrow").unlink(), "holds no items.arrow; give the whole"),
    "private missing": (lambda at: (at / "private.json").unlink(), "holds no private.json"),
    "link": (lambda at: _link(at / "items.arrow"), "items.arrow is a link and may lead out"),
    "pipe": (lambda at: _pipe(at / "users.arrow"), "users.arrow is no ordinary file"),
}


def _seen(at: Path) -> Any:
    return load_tensors((at / "private.safetensors").read_bytes())["seen_items"]


def _write(at: Path, data: bytes) -> None:
    (at / "model.json").write_bytes(data)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_each_way_to_be_wrong_has_its_sentence(saved: Path, forgery: str) -> None:
    alter, message = FORGERIES[forgery]
    alter(saved)
    with pytest.raises(ModelError, match=message):
        load(saved)


def test_a_place_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no folder .*nowhere; give one that a model"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"holds no model.json; give the whole folder of a saved"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"holds no model.json"):
        inspect(tmp_path)


def test_forged_numbers_of_other_kinds_are_refused(tmp_path: Path) -> None:
    folder = save(tasks_model(), tmp_path / "tasks")
    reseal(folder, lambda card: card["numbers"].update(intercepts=1))
    with pytest.raises(ModelError, match="intercepts are neither true nor false"):
        load(folder, private=False)
    folder = save(subspace_model(), tmp_path / "subspace")
    forge(folder, "items.arrow", arrow(list(range(20))))
    with pytest.raises(ModelError, match="the names of features are of type Int64, not text"):
        load(folder)


def test_nothing_is_replaced_unless_it_is_a_model_and_may_be(saved: Path, tmp_path: Path) -> None:
    new = ratings_model(seed=1)
    with pytest.raises(OutputError, match="model is there already; choose another place, or over"):
        save(new, saved)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds notes.txt, which is no part of a model"):
        save(new, saved, overwrite=True)
    (saved / "notes.txt").unlink()
    assert_same(load(saved), ratings_model())
    assert_same(load(save(new, saved, overwrite=True)), new)
    (saved / "model.json").write_text("{}")
    with pytest.raises(OutputError, match="is there already and is no saved model"):
        save(new, saved, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="file is there already and no folder"):
        save(new, tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    assert_same(load(save(new, tmp_path / "empty")), new)
    assert names(tmp_path) == {"model", "file", "empty"}


@pytest.mark.parametrize("at", ["fsync", "first", "second"])
def test_a_failed_save_loses_nothing(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    moves: list[Path] = []
    move = Path.rename

    def fail(*_: object) -> None:
        raise OSError("no space left")

    def rename(self: Path, target: Path) -> Path:
        moves.append(self)
        if len(moves) == (1 if at == "first" else 2):
            fail()
        return move(self, target)

    if at == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OutputError, match=r"no space left.*what was there before is untouched"):
        save(ratings_model(seed=1), saved, overwrite=True)
    monkeypatch.undo()
    assert names(tmp_path) == {"model"}
    assert_same(load(saved), ratings_model())
    assert at == "fsync" or moves


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"title": 7}, "the title is 7; give text"),
        ({"parameters": {"x": [1]}}, r"the parameter 'x' is \[1\]; give text or a finite number"),
        ({"parameters": {1: 2}}, "parameters are {1: 2}; give names and values"),
        ({"metrics": {"rmse": float("nan")}}, "the metric 'rmse' is nan; give a finite number"),
        ({"metrics": 3}, "metrics are 3; give names and values"),
        ({"data_hash": "abc"}, "the data hash is 'abc'; give the 64 digits of a sha256"),
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
    with pytest.raises(ModelError, match="more than 1048576; give fewer parameters or metrics"):
        save(subspace_model(), tmp_path / "model", Card(title="x" * (1 << 20)))
    assert not names(tmp_path)


def test_ids_of_other_types_are_not_written(tmp_path: Path) -> None:
    model = ratings_model()
    nested = Ids(pl.Series([[number] for number in range(20)]))
    with pytest.raises(ModelError, match="are of type List"):
        save(replace(model, shared=replace(model.shared, items=nested)), tmp_path / "model")
    assert not names(tmp_path)
