"""Models as folders. What may travel and what stays are different files.

::

    model.json           what it is: kind, numbers, parameters, metrics, versions, checksums
    shared.safetensors   the arrays that all share
    items.arrow          the ids of items, or the names of features
    private.json         to which shared part the private one belongs, checksums
    private.safetensors  the arrays of single users or tasks
    users.arrow          the ids of users or tasks

The first three are a model without users. Nothing in a folder is believed: sizes and headers are
checked before anything is made of them, checksums before anything is parsed by a library, and
what comes out must be a model.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, TypeAlias

from grassvine.foundations.errors import InputError, ModelError, OutputError, unknown
from grassvine.models.persistence.card import Card
from grassvine.models.persistence.folder import read, size_of, write_folder
from grassvine.models.persistence.forms import FORMS, Form, Model, Part, Shape, form_of
from grassvine.models.persistence.id_files import read_ids, write_ids
from grassvine.models.persistence.sealed import MOST_BYTES, check_keys, digest, seal, unseal
from grassvine.models.persistence.tensors import (
    LENGTH,
    MOST_HEADER_BYTES,
    Sizes,
    check_header,
    read_tensors,
    write_tensors,
)

FORMAT = "grassvine model"
PRIVATE_FORMAT = "grassvine private part"
VERSION = 1
WRITERS = ("grassvine", "numpy", "polars", "safetensors")

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The files of a part."""

    card: str
    tensors: str
    ids: str

    def all(self) -> set[str]:
        """Return the three names."""
        return {self.card, self.tensors, self.ids}


SHARED = Names("model.json", "shared.safetensors", "items.arrow")
PRIVATE = Names("private.json", "private.safetensors", "users.arrow")


@dataclass(frozen=True, slots=True)
class Description:
    """What a saved model is, as far as its headers tell.

    Attributes
    ----------
    sizes : dict
        How many items (or features), ranks, users or tasks, and ratings there are.
    numbers : dict
        The numbers that are part of the model.
    written_by : dict
        Versions.
    nbytes : dict
        The size of each file.
    private : bool
        Whether the private part is there.
    """

    kind: str
    version: int
    sizes: dict[str, int]
    numbers: dict[str, Any]
    card: Card
    written_by: dict[str, str]
    nbytes: dict[str, int]
    private: bool


def save(
    model: Model,
    path: PathLike,
    card: Card | None = None,
    *,
    private: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write a model as a folder, whole or not at all.

    Parameters
    ----------
    private : bool
        Whether to write the private part, if the model has one.
    overwrite : bool
        Whether a saved model at this place, and only that, may be replaced.
    """
    target, form = Path(os.path.abspath(path)), form_of(model)
    replace = may_replace(target, overwrite)
    shared, own = form.split(model)
    files = _encoded(SHARED, shared)
    body = {"kind": form.kind, "numbers": dict(shared.numbers), "files": _checksums(files)}
    plain = asdict(card or Card())
    written_by = {name: version_of(name) for name in WRITERS}
    document = {"format": FORMAT, "version": VERSION, **body, "card": plain}
    files[SHARED.card] = _bounded(seal({**document, "written_by": written_by}))
    if private and own is not None:
        theirs = _encoded(PRIVATE, own)
        belongs = {"kind": form.kind, "shared": digest(body), "files": _checksums(theirs)}
        files |= theirs
        files[PRIVATE.card] = seal({"format": PRIVATE_FORMAT, "version": VERSION, **belongs})
    write_folder(target, files, PRIVATE.all(), replace=replace)
    return target


def load(path: PathLike, *, private: bool = True) -> Model:
    """Read a model from a folder, with its private part if that is there and wanted."""
    folder = Path(path)
    document, form = _described(folder)
    shared, sizes = _decoded(folder, SHARED, form.shared, document, {})
    own = None
    if private and form.private is not None and _has_private(folder):
        theirs = _private_document(folder, document)
        own, _ = _decoded(folder, PRIVATE, form.private, theirs, sizes)
    try:
        return form.together(shared, own)
    except ModelError as cause:
        raise ModelError(f"{folder}: {cause}") from None
    except InputError as cause:
        raise ModelError(f"{folder} holds what is no model: {cause}") from None


def inspect(path: PathLike) -> Description:
    """Tell what a saved model is, by its headers; no array is read, no checksum of one checked."""
    folder = Path(path)
    document, form = _described(folder)
    sizes = _header(folder, SHARED, form.shared, document, {})
    nbytes = {name: size_of(folder, name) for name in SHARED.all()}
    private = form.private is not None and _has_private(folder)
    if private and form.private is not None:
        theirs = _private_document(folder, document)
        sizes = _header(folder, PRIVATE, form.private, theirs, sizes)
        nbytes |= {name: size_of(folder, name) for name in PRIVATE.all()}
    return Description(
        kind=form.kind,
        version=document["version"],
        sizes=sizes,
        numbers=document["numbers"],
        card=Card(**document["card"]),
        written_by=document["written_by"],
        nbytes=dict(sorted(nbytes.items())),
        private=private,
    )


def _described(folder: Path) -> tuple[dict[str, Any], Form]:
    """Return what model.json tells, checked, and the form of the model."""
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder}; give one that a model was saved to.")
    where = str(folder / SHARED.card)
    document = unseal(where, _json(folder, SHARED.card), form=FORMAT, version=VERSION)
    wanted = {"format", "version", "kind", "numbers", "files", "card", "written_by"}
    check_keys(where, document, wanted)
    kind = document["kind"]
    if not isinstance(kind, str) or kind not in FORMS:
        raise ModelError(f"in {where}: {unknown('kind of model', kind, FORMS)}")
    check_keys(f"card of {where}", document["card"], set(Card.__dataclass_fields__))
    Card(**document["card"])
    writers = check_keys(f"written_by of {where}", document["written_by"], set(WRITERS))
    if not all(isinstance(value, str) for value in writers.values()):
        raise ModelError(f"written_by of {where} is no list of versions; save the model again.")
    _check_files(where, document["files"], SHARED)
    return document, FORMS[kind]


def _private_document(folder: Path, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what private.json tells, refused where it belongs to another model."""
    where = str(folder / PRIVATE.card)
    document = unseal(where, _json(folder, PRIVATE.card), form=PRIVATE_FORMAT, version=VERSION)
    check_keys(where, document, {"format", "version", "kind", "shared", "files"})
    body = {key: shared[key] for key in ("kind", "numbers", "files")}
    if document["shared"] != digest(body) or document["kind"] != shared["kind"]:
        raise ModelError(
            f"{where} belongs to another model than {SHARED.card} beside it; put the private part "
            "beside the shared part that it was saved with."
        )
    _check_files(where, document["files"], PRIVATE)
    return document


def _encoded(names: Names, part: Part) -> dict[str, bytes]:
    return {names.tensors: write_tensors(part.arrays), names.ids: write_ids(part.ids)}


def _decoded(
    folder: Path, names: Names, shape: Shape, document: Mapping[str, Any], sizes: Sizes
) -> tuple[Part, Sizes]:
    """Read a part: sizes, then header, then checksums, then arrays and ids."""
    sizes = _header(folder, names, shape, document, sizes)
    data = {name: read(folder, name) for name in (names.tensors, names.ids)}
    for name, content in data.items():
        if hashlib.sha256(content).hexdigest() != document["files"][name]["sha256"]:
            raise ModelError(
                f"{folder / name} is not what was saved: its checksum differs, so it was altered. "
                "Save the model again."
            )
    arrays = read_tensors(str(folder / names.tensors), data[names.tensors], shape.layout)
    where, count = str(folder / names.ids), sizes[shape.axis]
    ids = read_ids(where, data[names.ids], count, ascending=shape.ascending)
    return Part(document.get("numbers", {}), arrays, ids), sizes


def _header(
    folder: Path, names: Names, shape: Shape, document: Mapping[str, Any], sizes: Sizes
) -> Sizes:
    """Check the sizes of the files of a part and the header of its arrays."""
    for name in (names.tensors, names.ids):
        size, wanted = size_of(folder, name), document["files"][name]["bytes"]
        if size != wanted:
            raise ModelError(
                f"{folder / name} has {size} bytes, not the {wanted} that were saved; it is "
                "truncated or altered. Save the model again."
            )
    head = read(folder, names.tensors, most=LENGTH + MOST_HEADER_BYTES)
    n_bytes = document["files"][names.tensors]["bytes"]
    return check_header(str(folder / names.tensors), head, n_bytes, shape.layout, sizes)


def _json(folder: Path, name: str) -> bytes:
    if (size := size_of(folder, name)) > MOST_BYTES:
        raise ModelError(
            f"{folder / name} has {size} bytes, more than {MOST_BYTES}; no saved model has that."
        )
    return read(folder, name, most=MOST_BYTES)


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise ModelError(
            f"what is told of the model takes {len(data)} bytes, more than {MOST_BYTES}; "
            "give fewer parameters or metrics."
        )
    return data


def _checksums(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    return {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in files.items()
    }


def _check_files(where: str, files: object, names: Names) -> None:
    """Refuse names of files that are not ours: none may lead out of the folder."""
    for name, entry in check_keys(f"files of {where}", files, {names.tensors, names.ids}).items():
        check_keys(f"{name} in files of {where}", entry, {"sha256", "bytes"})


def _has_private(folder: Path) -> bool:
    """Tell whether any file of a private part is there; then all must be."""
    return any(os.path.lexists(folder / name) for name in PRIVATE.all())


def may_replace(target: Path, overwrite: bool) -> bool:
    """Tell whether something is at the place, refused unless it may be replaced."""
    if not os.path.lexists(target):
        return False
    if target.is_symlink() or not target.is_dir():
        raise OutputError(f"{target} is there already and no folder; choose another place.")
    inside = {entry.name for entry in target.iterdir()}
    if not inside:
        return True
    if strange := sorted(inside - SHARED.all() - PRIVATE.all()):
        raise OutputError(
            f"{target} is there already and holds {strange[0]}, which is no part of a model; "
            "choose another place."
        )
    if not overwrite:
        raise OutputError(f"{target} is there already; choose another place, or overwrite=True.")
    try:
        _described(target)
    except ModelError as cause:
        raise OutputError(
            f"{target} is there already and is no saved model ({cause}); choose another place."
        ) from None
    return True
