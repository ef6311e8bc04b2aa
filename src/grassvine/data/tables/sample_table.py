"""Samples with the names of their features."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grassvine.data.tables.columns import listing, named_column
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """Samples×features, the names of the features, and what was assumed about the table."""

    samples: Array
    features: tuple[str, ...]
    assumed: tuple[str, ...] = ()

    def hash(self) -> str:
        """Return the sha256 of names and numbers, which the order of the rows does not change."""
        numbers = self.samples + 0.0  # −0 is 0
        digest = hashlib.sha256(b"grassvine samples 1\n" + repr(self.features).encode())
        digest.update(numbers[np.lexsort(numbers.T)].astype("<f8").tobytes())
        return digest.hexdigest()


def samples_from_frame(frame: Any, features: Sequence[str] | None = None) -> SampleTable:
    """Take samples from a table with a row for each.

    Parameters
    ----------
    frame : data frame or Table
    features : sequence of str, optional
        The columns; all that hold numbers, unless told. Those left out are named in ``assumed``.
    """
    read = frame if isinstance(frame, Table) else Table(frame)
    table = open_frame(read.frame)
    names = table.columns
    assumed = read.assumed
    if features is None:
        chosen = [name for name in names if table[name].dtype.is_numeric()]
        left = [name for name in names if name not in chosen]
        if left:
            assumed += (f"Not numbers, and left out: {', '.join(map(repr, left))}.",)
    else:
        chosen = [named_column(names, name, "feature") for name in features]
    if not chosen:
        raise DataError(f"no column holds numbers. {listing(names)}")
    columns = [numbers_in(table[name], f"values in column {name!r}") for name in chosen]
    for name, column in zip(chosen, columns, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            rows = ", ".join(map(str, bad[:3])) + (", …" if len(bad) > 3 else "")
            raise DataError(
                f"the feature {name!r} is missing, NaN or infinite in {len(bad)} rows (at {rows}, "
                "counted from 0); leave those rows out, or fill them in."
            )
    return SampleTable(np.column_stack(columns), tuple(chosen), assumed)
