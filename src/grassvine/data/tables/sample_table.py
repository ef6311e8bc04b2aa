"""Samples with their feature names."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import Ids, add_ids, as_column
from grassvine.data.places import places
from grassvine.data.tables.columns import listing, named_column
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, noting

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """A samples×features matrix, the feature names, notes on what was assumed, and owners."""

    samples: Array
    features: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    owners: "pl.Series | None" = None

    def digest(self) -> str:
        """Return the SHA-256 of names and numbers, which does not depend on the row order."""
        numbers = np.where(np.isnan(self.samples), np.nan, self.samples + 0.0)  # −0 is 0
        digest = hashlib.sha256(b"grassvine samples 1\n" + repr(self.features).encode())
        if self.owners is not None:
            owners, owner = Ids.number(self.owners, "owner")
            numbers = np.column_stack([numbers, owner])
            add_ids(digest, owners)
        digest.update(numbers[np.lexsort(numbers.T)].astype("<f8").tobytes())
        return digest.hexdigest()


def samples_from_frame(
    frame: Any,
    features: Sequence[str] | None = None,
    owner: str | None = None,
    *,
    allow_missing: bool = False,
) -> SampleTable:
    """Build a sample table from a data frame with one row per sample.

    Parameters
    ----------
    frame : data frame or Table
    features : sequence of str, optional
        Columns to use; by default, all numeric ones. ``assumed`` names the others.
    owner : str, optional
        Column that names the owner of each sample; it is not a feature.
    allow_missing : bool, default=False
        Whether to keep missing values, as NaN, instead of raising an error.
    """
    read = frame if isinstance(frame, Table) else Table(frame)
    with noting(read.assumed):
        return _samples(read, features, owner, allow_missing)


def _samples(
    read: Table, features: Sequence[str] | None, owner: str | None, allow_missing: bool
) -> SampleTable:
    table = open_frame(read.frame)
    owners = None
    if owner is not None:
        named = table[named_column(table.columns, owner, "owner")]
        owners = as_column(named.to_list(), "owner", read.lines)
        table = table.drop(owner)
    names = table.columns
    assumed = read.assumed
    if features is None:
        chosen = [name for name in names if table[name].dtype.is_numeric()]
        ignored = [name for name in names if name not in chosen]
        if ignored:
            assumed += (f"Columns without numbers were ignored: {', '.join(map(repr, ignored))}.",)
    else:
        chosen = [named_column(names, name, "feature") for name in features]
    if not chosen:
        raise DataError(
            f"no column contains numbers; use a table with numeric columns. {listing(names)}"
        )
    columns = [numbers_in(table[name], f"values in column {name!r}", read.lines) for name in chosen]
    for name, column in zip(chosen, columns, strict=True):
        bad = np.flatnonzero(np.isinf(column) if allow_missing else ~np.isfinite(column))
        if len(bad):
            what = "infinite" if allow_missing else "missing, NaN or infinite"
            raise DataError(
                f"the feature {name!r} is {what} in {len(bad)} of {len(column)} "
                f"rows ({places(bad, read.lines)}); remove those rows or fill in the values."
            )
    samples = np.column_stack(columns)
    if n_missing := np.count_nonzero(np.isnan(samples)):
        assumed += (f"{n_missing} of {samples.size} values are missing.",)
    return SampleTable(samples, tuple(chosen), assumed, owners)
