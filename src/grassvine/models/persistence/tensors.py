"""Arrays as safetensors, whose header is checked before an array is believed or made.

A file of arrays has a *layout*: the names of all its arrays, their types, and the axes of each by
name. Axes of one name are equally long, within a file and between the files of a model.
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

MOST_HEADER_BYTES = 1 << 20
MOST_TENSORS = 64
LENGTH = 8  # bytes, before the header, that tell how long it is
LARGEST_AXIS = 1 << 40

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Sizes: TypeAlias = dict[str, int]


@dataclass(frozen=True, slots=True)
class Tensor:
    """The type of an array in safetensors' letters, and its axes by name."""

    kind: str
    axes: tuple[str, ...]


Layout: TypeAlias = Mapping[str, Tensor]
BYTES = {"F64": 8, "I64": 8, "I32": 4}


def write_tensors(arrays: Arrays) -> bytes:
    """Write arrays."""
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def check_header(name: str, head: bytes, n_bytes: int, layout: Layout, sizes: Sizes) -> Sizes:
    """Check a file by its header alone, and return the lengths of all axes.

    Parameters
    ----------
    head : bytes
        The beginning of the file, at least its header if that is not too long.
    n_bytes : int
        The length of the whole file.
    sizes : dict
        The lengths of the axes that are known already.
    """
    length = int.from_bytes(head[:LENGTH], "little")
    if n_bytes < LENGTH or length > n_bytes - LENGTH:
        raise ModelError(f"{name} is no safetensors file or truncated; save the model again.")
    if length > MOST_HEADER_BYTES:
        raise ModelError(
            f"the header of {name} has {length} bytes, more than {MOST_HEADER_BYTES}; "
            "no saved model has such a header."
        )
    found = _entries(name, head[LENGTH : LENGTH + length])
    if len(found) > MOST_TENSORS:
        raise ModelError(
            f"{name} holds {len(found)} arrays, more than {MOST_TENSORS}; it is no saved model."
        )
    if extra := sorted(found.keys() - layout.keys()):
        raise ModelError(f"{name} holds {extra[0]!r}, which is no part of a model; save it again.")
    if missing := sorted(layout.keys() - found.keys()):
        raise ModelError(f"{name} lacks {missing[0]!r}; save the model again.")
    known, total = dict(sizes), 0
    for key, wanted in layout.items():
        shape = _shape(name, key, found[key], wanted)
        for axis, size in zip(wanted.axes, shape, strict=True):
            if known.setdefault(axis, size) != size:
                raise ModelError(
                    f"{key!r} in {name} has {size} {axis} where there are {known[axis]}; "
                    "the parts do not belong together."
                )
        total += BYTES[wanted.kind] * prod(shape)
    if n_bytes != LENGTH + length + total:
        raise ModelError(
            f"{name} has {n_bytes} bytes where its header tells {LENGTH + length + total}; "
            "it is truncated or altered."
        )
    return known


def read_tensors(name: str, data: bytes, layout: Layout) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file whose header was checked; all their numbers are finite."""
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise ModelError(f"{name} cannot be read ({cause}); save the model again.") from None
    for key in layout:
        if not np.isfinite(arrays[key]).all():
            raise ModelError(
                f"{key!r} in {name} holds NaN or infinity; such a model cannot be used. Fit again."
            )
    return {key: arrays[key].copy() for key in layout}  # a copy is aligned


def _entries(name: str, header: bytes) -> dict[str, Any]:
    try:
        found = json.loads(header.decode())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ModelError(f"the header of {name} is no JSON; it is altered or of another kind.")
    return found


def _shape(name: str, key: str, entry: Any, wanted: Tensor) -> tuple[int, ...]:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape = entry.get("dtype"), entry.get("shape")
    if kind != wanted.kind:
        raise ModelError(f"{key!r} in {name} is of type {kind}, not {wanted.kind}; save it again.")
    if (
        not isinstance(shape, list)
        or len(shape) != len(wanted.axes)
        or not all(type(size) is int and 0 <= size <= LARGEST_AXIS for size in shape)
    ):
        raise ModelError(
            f"{key!r} in {name} has shape {shape}, not {'×'.join(wanted.axes)}; save it again."
        )
    return tuple(shape)
