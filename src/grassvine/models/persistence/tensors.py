"""Arrays as safetensors files, whose headers are checked before any array is allocated.

The *layout* of a file gives the names and types of all its arrays, and the names of their axes.
Axes of the same name have the same length, within a file and across the files of a model.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from grassvine.foundations.errors import ModelError

MAX_HEADER_BYTES = 1 << 20
MAX_TENSORS = 64
LENGTH_BYTES = 8  # of the prefix that holds the header length
MAX_AXIS = 1 << 40

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Sizes: TypeAlias = dict[str, int]


@dataclass(frozen=True, slots=True)
class Tensor:
    """The safetensors type of an array, and the names of its axes."""

    kind: str
    axes: tuple[str, ...]


Layout: TypeAlias = Mapping[str, Tensor]
BYTES = {"F64": 8, "I64": 8, "I32": 4}


def write_tensors(arrays: Arrays) -> bytes:
    """Encode arrays as a safetensors file."""
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def check_header(name: str, head: bytes, n_bytes: int, layout: Layout, sizes: Sizes) -> Sizes:
    """Check a file by its header, and return the lengths of all axes.

    Parameters
    ----------
    head : bytes
        The start of the file, including the header unless that is too long.
    n_bytes : int
        Size of the whole file.
    sizes : dict
        Lengths of the axes already known.
    """
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if n_bytes < LENGTH_BYTES or length > n_bytes - LENGTH_BYTES:
        raise ModelError(f"{name} is not a safetensors file or is truncated; save the model again.")
    if length > MAX_HEADER_BYTES:
        raise ModelError(
            f"the header of {name} has {length} bytes, more than the limit of {MAX_HEADER_BYTES}; "
            "save the model again."
        )
    found = _entries(name, head[LENGTH_BYTES : LENGTH_BYTES + length])
    if len(found) > MAX_TENSORS:
        raise ModelError(
            f"{name} contains {len(found)} arrays, more than the limit of {MAX_TENSORS}; "
            "save the model again."
        )
    if extra := sorted(found.keys() - layout.keys()):
        raise ModelError(
            f"{name} contains {extra[0]!r}, which is not part of a model; save the model again."
        )
    if missing := sorted(layout.keys() - found.keys()):
        raise ModelError(f"{name} is missing {missing[0]!r}; save the model again.")
    known, total = dict(sizes), 0
    for key, wanted in layout.items():
        shape = _shape(name, key, found[key], wanted)
        for axis, size in zip(wanted.axes, shape, strict=True):
            if known.setdefault(axis, size) != size:
                raise ModelError(
                    f"{key!r} in {name} has length {size} along axis {axis!r}, not {known[axis]}; "
                    "use files of the same model."
                )
        total += BYTES[wanted.kind] * prod(shape)
    if n_bytes != LENGTH_BYTES + length + total:
        raise ModelError(
            f"{name} has {n_bytes} bytes, but its header implies {LENGTH_BYTES + length + total}; "
            "save the model again."
        )
    return known


def read_tensors(name: str, data: bytes, layout: Layout) -> dict[str, NDArray[Any]]:
    """Decode the arrays of a file with a valid header; raise if a value is not finite."""
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise ModelError(f"{name} cannot be read ({cause}); save the model again.") from None
    for key in layout:
        if not np.isfinite(arrays[key]).all():
            raise ModelError(f"{key!r} in {name} contains NaN or infinity; fit the model again.")
    return {key: arrays[key].copy() for key in layout}  # copies are aligned


def _entries(name: str, header: bytes) -> dict[str, Any]:
    try:
        found = json.loads(header.decode())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ModelError(f"the header of {name} is not valid JSON; save the model again.")
    return found


def _shape(name: str, key: str, entry: Any, wanted: Tensor) -> tuple[int, ...]:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape = entry.get("dtype"), entry.get("shape")
    if kind != wanted.kind:
        raise ModelError(
            f"{key!r} in {name} is of type {kind}, not {wanted.kind}; save the model again."
        )
    if (
        not isinstance(shape, list)
        or len(shape) != len(wanted.axes)
        or not all(type(size) is int and 0 <= size <= MAX_AXIS for size in shape)
    ):
        raise ModelError(
            f"{key!r} in {name} has shape {shape}, not {'×'.join(wanted.axes)}; "
            "save the model again."
        )
    return tuple(shape)
