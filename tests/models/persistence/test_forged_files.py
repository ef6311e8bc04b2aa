"""What is altered is never loaded; each way to be wrong has its sentence."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from tests.models.model_samples import ids, ratings_model, subspace_model, tasks_model
from tests.models.persistence.forging import PRIVATE, SHARED, arrow, forge, forge_tensors, reseal

from grassvine.foundations.errors import ModelError
from grassvine.models import Card, RatingsModel, load, save

CARD = Card(title="films", parameters={"rho": 1e-3, "seed": None}, metrics={"test_rmse": 0.3})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(ratings_model(), tmp_path / "model", CARD)


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
        r"the ids in .*items.arrow are of type Extension.*, but only text, numbers, dates",
    ),
    "nested type": (
        lambda at: forge(at, "items.arrow", arrow(pa.array([[k] for k in FILMS]))),
        r"items.arrow are of type List",
    ),
    "another column": (
        lambda at: forge(at, "items.arrow", arrow(FILMS, "name")),
        r"items.arrow has the columns name instead of 'id' only",
    ),
    "no arrow": (
        lambda at: forge(at, "items.arrow", b"PAR1" * 99),
        r"items.arrow is not an Arrow file .wrong magic bytes.",
    ),
    "too few ids": (
        lambda at: forge(at, "items.arrow", arrow(FILMS[1:])),
        "items.arrow contains 19 ids for 20 rows",
    ),
    "far too many ids": (
        lambda at: forge(at, "items.arrow", arrow(np.zeros(10**6, np.int64))),
        "items.arrow contains 1000000 ids for 20 rows",
    ),
    "compressed ids": (
        lambda at: forge(at, "items.arrow", arrow(FILMS, compression="zstd")),
        "items.arrow is compressed, and may need far more memory than it has bytes",
    ),
    "tensors of a sparse file": (
        lambda at: _sparse(at, 10**11),
        r"shared.safetensors needs about 16,000.0 GB of memory, more than 80% of the .* available",
    ),
    "an id twice": (
        lambda at: forge(at, "items.arrow", arrow([*FILMS[1:], FILMS[1]])),
        "items.arrow contains duplicate ids",
    ),
    "an id missing": (
        lambda at: forge(at, "items.arrow", arrow([*FILMS[1:], None])),
        r"in .*items.arrow: 1 of 20 saved ids are missing",
    ),
    "ids in disorder": (
        lambda at: forge(at, "items.arrow", arrow(FILMS[::-1])),
        "items.arrow are not in ascending order",
    ),
    "long header": (
        lambda at: forge(at, "shared.safetensors", HEADER + b" " * (1 << 21)),
        "the header of .*shared.safetensors has 2097152 bytes, more than the limit of 1048576",
    ),
    "header beyond the file": (
        lambda at: forge(at, "shared.safetensors", HEADER + b" " * 9),
        "shared.safetensors is not a safetensors file or is truncated",
    ),
    "header no JSON": (
        lambda at: forge(at, "shared.safetensors", (9).to_bytes(8, "little") + b"[" * 9),
        "the header of .*shared.safetensors is not valid JSON",
    ),
    "many tensors": (
        lambda at: forge(at, "shared.safetensors", save_tensors(MANY)),
        "shared.safetensors contains 70 arrays, more than the limit of 64",
    ),
    "extra tensor": (
        lambda at: forge_tensors(at, "shared", code=np.zeros(3)),
        "shared.safetensors contains 'code', which is not part of a model",
    ),
    "tensor missing": (
        lambda at: forge_tensors(at, "shared", item_biases=None),
        "shared.safetensors is missing 'item_biases'",
    ),
    "another type": (
        lambda at: forge_tensors(at, "shared", item_biases=np.zeros(20, np.float32)),
        "'item_biases' in .*shared.safetensors is of type F32, not F64",
    ),
    "another shape": (
        lambda at: forge_tensors(at, "shared", item_biases=np.zeros((20, 1))),
        r"'item_biases' in .*shared.safetensors has shape \[20, 1\], not items",
    ),
    "inconsistent shapes": (
        lambda at: forge_tensors(at, "shared", item_biases=np.zeros(21)),
        "'item_biases' in .*shared.safetensors has length 21 along axis 'items', not 20",
    ),
    "ranks differ": (
        lambda at: forge_tensors(at, "private", weights=np.zeros((60, 4))),
        "'weights' in .*private.safetensors has length 4 along axis 'rank', not 3",
    ),
    "NaN": (
        lambda at: forge_tensors(at, "shared", item_biases=np.full(20, np.nan)),
        "'item_biases' in .*shared.safetensors contains NaN or infinity",
    ),
    "negative counts": (
        lambda at: forge_tensors(at, "shared", counts=np.full(20, -1)),
        "does not contain a valid model: counts are not non-negative integers",
    ),
    "counts that do not add up": (
        lambda at: forge_tensors(at, "private", seen_counts=np.ones(60, np.int64)),
        "the rating counts do not add up",
    ),
    "ratings of no item": (
        lambda at: forge_tensors(at, "private", seen_items=_seen(at) + np.int32(19)),
        "a rating refers to a missing item",
    ),
    "ratings in disorder": (
        lambda at: forge_tensors(at, "private", seen_items=_seen(at)[::-1].copy()),
        "the ratings of a user are not sorted by item",
    ),
    "newer": (
        lambda at: reseal(at, lambda card: card.update(version=2)),
        "model.json was written by a newer grassvine .format 2, this version reads up to 1.; upgr",
    ),
    "no version": (
        lambda at: reseal(at, lambda card: card.update(version="1")),
        "model.json has no valid format version",
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
        "model.json is missing card; save the model again",
    ),
    "a path that leads out": (
        lambda at: reseal(at, lambda card: card["files"].update({"../x": {}})),
        r"files of .*model.json: unknown entry '../x'",
    ),
    "numbers are none": (
        lambda at: reseal(at, lambda card: card.update(numbers=[])),
        "the entry 'numbers' is not a JSON object",
    ),
    "a centre that is none": (
        lambda at: reseal(at, lambda card: card["numbers"].update(centre="high")),
        "does not contain a valid model: centre must be a number",
    ),
    "no formulation": (
        lambda at: reseal(at, lambda card: card["numbers"].update(formulation="magic")),
        "unknown formulation 'magic'",
    ),
    "a metric that is none": (
        lambda at: reseal(at, lambda card: card["card"].update(metrics={"rmse": 10**400})),
        "the metric 'rmse' is 1000.*; pass a finite number",
    ),
    "versions that are none": (
        lambda at: reseal(at, lambda card: card["written_by"].update(numpy=2)),
        "written_by of .*model.json is not a list of versions",
    ),
    "no JSON": (lambda at: _write(at, b"model"), "model.json is not valid JSON"),
    "endless number": (
        lambda at: _write(at, b'{"format": NaN}'),
        "model.json is not valid JSON .it contains NaN.",
    ),
    "deep JSON": (lambda at: _write(at, b"[" * 100_000), "model.json is not valid JSON"),
    "large JSON": (lambda at: _write(at, b" " * 1_048_577), "model.json has 1048577 bytes, more"),
    "infinite JSON": (
        lambda at: _write(at, b'{"format": "grassvine model", "version": 1, "x": 1e999}'),
        "model.json was modified after it was saved: its checksum differs",
    ),
    "checksum": (
        lambda at: _flip(at / "items.arrow"),
        "items.arrow was modified after it was saved: its che",
    ),
    "truncated": (
        lambda at: (at / "users.arrow").write_bytes((at / "users.arrow").read_bytes()[:-1]),
        "users.arrow has .* bytes instead of .*, so it was truncated or modified",
    ),
    "missing": (lambda at: (at / "items.arrow").unlink(), "contains no items.arrow; pass the"),
    "private missing": (lambda at: (at / "private.json").unlink(), "contains no private.json"),
    "link": (lambda at: _link(at / "items.arrow"), "items.arrow is a link and may point outside"),
    "pipe": (lambda at: _pipe(at / "users.arrow"), "users.arrow is not a regular file"),
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


def _sparse(at: Path, n_items: int) -> None:
    """Arrays of zeros that take no space on disk."""
    shapes = {"counts": [n_items], "factors": [n_items, 3], "item_biases": [n_items]}
    kinds = {"counts": "I64", "factors": "F64", "item_biases": "F64"}
    entries, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 8 * int(np.prod(shape))
        entries[name] = {"dtype": kinds[name], "shape": shape, "data_offsets": [start, end]}
    header = json.dumps(entries).encode()
    with (at / "shared.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    entry = {"sha256": "0" * 64, "bytes": 8 + len(header) + end}
    reseal(at, lambda card: card["files"].update({"shared.safetensors": entry}))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_each_way_to_be_wrong_has_its_sentence(saved: Path, forgery: str) -> None:
    alter, message = FORGERIES[forgery]
    alter(saved)
    with pytest.raises(ModelError, match=message):
        load(saved)


def test_forged_numbers_of_other_kinds_are_refused(tmp_path: Path) -> None:
    folder = save(tasks_model(), tmp_path / "tasks")
    reseal(folder, lambda card: card["numbers"].update(intercepts=1))
    with pytest.raises(ModelError, match="intercepts must be true or false"):
        load(folder, private=False)
    folder = save(subspace_model(), tmp_path / "subspace")
    forge(folder, "items.arrow", arrow(list(range(20))))
    with pytest.raises(ModelError, match="the feature names are of type Int64, not text"):
        load(folder)
