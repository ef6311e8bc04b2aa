"""Folders altered as somebody would who knows how they are sealed."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from grassvine.models.persistence.sealed import digest, seal

SHARED = {"model.json", "shared.safetensors", "items.arrow"}
PRIVATE = {"private.json", "private.safetensors", "users.arrow"}


def reseal(folder: Path, change: Callable[[dict[str, Any]], None], part: str = "model") -> None:
    """Alter a card and update what depends on it."""
    path = folder / f"{part}.json"
    document = json.loads(path.read_text())
    del document["sha256"]
    change(document)
    path.write_bytes(seal(document))
    if part == "model" and (folder / "private.json").exists():
        body = {key: document.get(key) for key in ("kind", "numbers", "files")}
        reseal(folder, lambda private: private.update(shared=digest(body)), "private")


def forge(folder: Path, name: str, data: bytes) -> None:
    """Put another file in the place of one and update all checksums."""
    (folder / name).write_bytes(data)
    part = "model" if name in SHARED else "private"
    entry = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    reseal(folder, lambda document: document["files"].update({name: entry}), part)


def forge_tensors(folder: Path, part: str, **changes: Any) -> None:
    name = f"{part}.safetensors"
    arrays = {**load_tensors((folder / name).read_bytes()), **changes}
    forge(folder, name, save_tensors({k: v for k, v in arrays.items() if v is not None}))


def arrow(column: Any, name: str = "id", compression: str | None = None) -> bytes:
    buffer = io.BytesIO()
    table = pa.table({name: column})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(buffer, table.schema, options=options) as writer:
        writer.write_table(table)
    return buffer.getvalue()
