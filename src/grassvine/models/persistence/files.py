"""Models saved as folders, with separate files for the shared and the private part.

::

    model.json           kind, numbers, parameters, metrics, versions, checksums
    shared.safetensors   arrays of the shared part
    items.arrow          ids of items, or names of features
    private.json         identity of the matching shared part, checksums
    private.safetensors  arrays of the private part
    users.arrow          ids of users or tasks

The first three alone are a model without users. Files are not trusted: sizes and headers are
checked before memory is allocated, checksums before a library parses anything, and the result
must be a valid model.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, TypeAlias

from grassvine.foundations.errors import InputError, ModelError, OutputError, unknown
from grassvine.foundations.files import exists
from grassvine.foundations.folders import located, write_folder
from grassvine.foundations.memory import require_memory
from grassvine.models.persistence.card import Card
from grassvine.models.persistence.folder import OpenFolder, open_folder
from grassvine.models.persistence.forms import (
    FORMS,
    Form,
    Model,
    Part,
    Shape,
    form_of,
    shared_shape,
)
from grassvine.models.persistence.id_files import read_ids, write_ids
from grassvine.models.persistence.sealed import MAX_BYTES, check_keys, digest, seal, unseal
from grassvine.models.persistence.tensors import (
    LENGTH_BYTES,
    MAX_HEADER_BYTES,
    Sizes,
    check_header,
    read_tensors,
    write_tensors,
)

FORMAT = "grassvine model"
PRIVATE_FORMAT = "grassvine private part"
VERSION = 1
COPIES = 4  # of a part in memory while it is read: the file, its arrays, aligned, and the model
WRITERS = ("grassvine", "numpy", "polars", "safetensors")

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The file names of a part."""

    card: str
    tensors: str
    ids: str

    def all(self) -> set[str]:
        """Return the three file names."""
        return {self.card, self.tensors, self.ids}


SHARED = Names("model.json", "shared.safetensors", "items.arrow")
PRIVATE = Names("private.json", "private.safetensors", "users.arrow")


@dataclass(frozen=True, slots=True)
class Description:
    """Summary of a saved model, from its headers.

    Attributes
    ----------
    sizes : dict
        Numbers of items (or features), users or tasks, and ratings, and the rank.
    numbers : dict
        Scalars of the model.
    written_by : dict
        Versions of the packages that wrote it.
    nbytes : dict
        Size of each file.
    private : dict
        What each file of the private part contains; empty if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> _ = gv.DecentralizedPCA(2).fit(X).save("components.model", overwrite=True)
    >>> description = gv.models.inspect("components.model")
    >>> description.kind, description.private
    ('subspace', {})
    """

    kind: str
    version: int
    sizes: dict[str, int]
    numbers: dict[str, Any]
    card: Card
    written_by: dict[str, str]
    nbytes: dict[str, int]
    private: dict[str, tuple[str, ...]]


def save(
    model: Model,
    path: PathLike,
    card: Card | None = None,
    *,
    private: bool = True,
    overwrite: bool = False,
) -> Path:
    """Save a model as a folder, atomically.

    Parameters
    ----------
    model : RatingsModel, RankingModel, TasksModel or SubspaceModel
        ``model_`` of a fitted estimator.
    path : path
        The folder to create.
    card : Card, optional
        Metadata to save with the model.
    private : bool, default=True
        Whether to save the private part, if the model has one.
    overwrite : bool, default=False
        Whether to replace an existing saved model; nothing else is ever replaced.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings).model_
    >>> path = gv.save(model, "films.model", private=False, overwrite=True)  # without any user
    >>> gv.load(path).private is None
    True
    """
    target, form = Path(os.path.abspath(path)), form_of(model)
    may_replace(target, overwrite)
    shared, own = form.split(model)
    files = _encoded(SHARED, shared)
    body = {"kind": form.kind, "numbers": dict(shared.numbers), "files": _checksums(files)}
    plain = asdict(card or Card())
    written_by = {name: version_of(name) for name in WRITERS}
    document = {"format": FORMAT, "version": VERSION, **body, "card": plain}
    files[SHARED.card] = _check_size(seal({**document, "written_by": written_by}))
    if private and own is not None:
        private_files = _encoded(PRIVATE, own)
        files |= private_files
        checksums = _checksums(private_files)
        private_body = {"kind": form.kind, "shared": digest(body), "files": checksums}
        files[PRIVATE.card] = seal({"format": PRIVATE_FORMAT, "version": VERSION, **private_body})
    write_folder(target, files, PRIVATE.all(), lambda: may_replace(target, overwrite))
    return target


def load(path: PathLike, *, private: bool = True) -> Model:
    """Load a model from a folder.

    Parameters
    ----------
    path : path
        A folder written by :func:`save`.
    private : bool, default=True
        Whether to load the private part, if there is one.

    Returns
    -------
    RatingsModel, TasksModel or SubspaceModel

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> path = gv.save(gv.DecentralizedPCA(2).fit(X).model_, "components.model", overwrite=True)
    >>> gv.load(path).components.shape
    (8, 2)
    """
    names = SHARED.all() | PRIVATE.all() if private else SHARED.all()
    with open_folder(Path(path), names) as folder:
        document, form = _model_document(folder)
        shared, sizes = _decoded(
            folder, SHARED, shared_shape(form, document["numbers"]), document, {}
        )
        own = None
        if form.private is not None and _has_private(folder):
            private_document = _private_document(folder, document)
            own, _ = _decoded(folder, PRIVATE, form.private, private_document, sizes)
    try:
        return form.combine(shared, own)
    except ModelError as cause:
        raise ModelError(f"{folder.path}: {cause}") from None
    except InputError as cause:
        raise ModelError(f"{folder.path} does not contain a valid model: {cause}") from None


def inspect(path: PathLike) -> Description:
    """Summarise a saved model from its headers; arrays are neither read nor verified.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> _ = gv.DecentralizedPCA(2).fit(X).save("components.model", overwrite=True)
    >>> gv.models.inspect("components.model").sizes
    {'items': 8, 'rank': 2}
    """
    with open_folder(Path(path), SHARED.all() | PRIVATE.all()) as folder:
        document, form = _model_document(folder)
        sizes = _header(folder, SHARED, shared_shape(form, document["numbers"]), document, {})
        nbytes = {name: folder.size_of(name) for name in SHARED.all()}
        private: dict[str, tuple[str, ...]] = {}
        if form.private is not None and _has_private(folder):
            private_document = _private_document(folder, document)
            sizes = _header(folder, PRIVATE, form.private, private_document, sizes)
            nbytes |= {name: folder.size_of(name) for name in PRIVATE.all()}
            private = {
                PRIVATE.ids: (f"ids of {form.private.axis}",),
                PRIVATE.tensors: tuple(form.private.layout),
                PRIVATE.card: ("checksums",),
            }
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


def _model_document(folder: OpenFolder) -> tuple[dict[str, Any], Form]:
    """Return the validated content of model.json, and the form of the model."""
    where = str(folder.path / SHARED.card)
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
        raise ModelError(f"written_by of {where} is not a list of versions; save the model again.")
    _check_files(where, document["files"], SHARED)
    return document, FORMS[kind]


def _private_document(folder: OpenFolder, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated content of private.json; raise if it belongs to another model."""
    where = str(folder.path / PRIVATE.card)
    document = unseal(where, _json(folder, PRIVATE.card), form=PRIVATE_FORMAT, version=VERSION)
    check_keys(where, document, {"format", "version", "kind", "shared", "files"})
    body = {key: shared[key] for key in ("kind", "numbers", "files")}
    if document["shared"] != digest(body) or document["kind"] != shared["kind"]:
        raise ModelError(
            f"{where} and {SHARED.card} belong to different models; use the private part together "
            "with the shared part it was saved with."
        )
    _check_files(where, document["files"], PRIVATE)
    return document


def _encoded(names: Names, part: Part) -> dict[str, bytes]:
    return {names.tensors: write_tensors(part.arrays), names.ids: write_ids(part.ids)}


def _decoded(
    folder: OpenFolder, names: Names, shape: Shape, document: Mapping[str, Any], sizes: Sizes
) -> tuple[Part, Sizes]:
    """Read a part: check sizes, header and checksums, then parse arrays and ids."""
    sizes = _header(folder, names, shape, document, sizes)
    n_bytes = sum(folder.size_of(name) for name in (names.tensors, names.ids))
    require_memory(COPIES * n_bytes, str(folder.path / names.tensors), ModelError)
    for name in (names.tensors, names.ids):
        if folder.sha256(name) != document["files"][name]["sha256"]:
            raise ModelError(
                f"{folder.path / name} was modified after it was saved: its checksum differs; "
                "save the model again."
            )
    where = str(folder.path / names.tensors)
    arrays = read_tensors(where, folder.read(names.tensors), shape.layout)
    where, count = str(folder.path / names.ids), sizes[shape.axis]
    ids = read_ids(where, folder.read(names.ids), count, ascending=shape.ascending)
    return Part(document.get("numbers", {}), arrays, ids), sizes


def _header(
    folder: OpenFolder, names: Names, shape: Shape, document: Mapping[str, Any], sizes: Sizes
) -> Sizes:
    """Check the file sizes and the tensor header of a part; return the sizes of all axes."""
    for name in (names.tensors, names.ids):
        size, wanted = folder.size_of(name), document["files"][name]["bytes"]
        if size != wanted:
            raise ModelError(
                f"{folder.path / name} has {size} bytes instead of {wanted}, so it was truncated "
                "or modified; save the model again."
            )
    head = folder.read(names.tensors, max_bytes=LENGTH_BYTES + MAX_HEADER_BYTES)
    n_bytes = document["files"][names.tensors]["bytes"]
    return check_header(str(folder.path / names.tensors), head, n_bytes, shape.layout, sizes)


def _json(folder: OpenFolder, name: str) -> bytes:
    if (size := folder.size_of(name)) > MAX_BYTES:
        raise ModelError(
            f"{folder.path / name} has {size} bytes, more than the limit of {MAX_BYTES}; save the "
            "model again."
        )
    return folder.read(name, max_bytes=MAX_BYTES)


def _check_size(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise ModelError(
            f"the model card takes {len(data)} bytes, more than the limit of {MAX_BYTES}; "
            "shorten its title, parameters or metrics."
        )
    return data


def _checksums(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    return {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in files.items()
    }


def _check_files(where: str, files: object, names: Names) -> None:
    """Reject unexpected file names, so that no path can lead out of the folder."""
    for name, entry in check_keys(f"files of {where}", files, {names.tensors, names.ids}).items():
        check_keys(f"{name} in files of {where}", entry, {"sha256", "bytes"})


def _has_private(folder: OpenFolder) -> bool:
    """Return whether any file of the private part is open; if one exists, all must."""
    return not PRIVATE.all().isdisjoint(folder.files)


def may_replace(target: Path, overwrite: bool) -> bool:
    """Return whether the target exists; raise if it may not be replaced."""
    folder = located(target)
    if not os.path.lexists(folder):
        return False
    if folder.is_symlink() or not folder.is_dir():
        raise OutputError(f"{target} already exists and is not a folder; choose another path.")
    try:
        inside = set(os.listdir(folder))
    except FileNotFoundError:  # replaced since
        return may_replace(target, overwrite)
    if not inside:
        return True
    if unexpected := sorted(inside - SHARED.all() - PRIVATE.all()):
        raise OutputError(
            f"{target} already exists and contains {unexpected[0]}, which is not part of a model; "
            "choose another path."
        )
    if not overwrite:
        raise exists(target)
    try:
        with open_folder(target, SHARED.all()) as opened:
            _model_document(opened)
    except ModelError as cause:
        raise OutputError(
            f"{target} already exists and is not a saved model ({cause}); choose another path."
        ) from None
    return True
