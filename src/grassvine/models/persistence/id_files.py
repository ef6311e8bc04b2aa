"""Ids as Arrow files with one column of a plain type, and perhaps one of their owners.

In memory, ids with owners are a struct of both. Extension and nested types are rejected by the
schema, before any value is read.
"""

import io
from typing import TYPE_CHECKING

from grassvine.data.ids import as_column
from grassvine.data.tables.files.arrow_size import arrow_size
from grassvine.foundations.errors import DataError, ModelError

if TYPE_CHECKING:
    import polars as pl

COLUMN = "id"
OWNER = "owner"
MAGIC = b"ARROW1"


def write_ids(ids: "pl.Series") -> bytes:
    """Encode ids, or a struct of ids and owners, as uncompressed columns."""
    import polars as pl

    buffer = io.BytesIO()
    owned = isinstance(ids.dtype, pl.Struct)
    frame = ids.struct.unnest() if owned else ids.alias(COLUMN).to_frame()
    frame.write_ipc(buffer, compression="uncompressed")
    data = buffer.getvalue()
    check_schema("the id file", data)
    return data


def read_ids(name: str, data: bytes, count: int, *, ascending: bool) -> "pl.Series":
    """Decode ids and check their number, uniqueness and, if ``ascending``, order."""
    import polars as pl

    check_schema(name, data)
    try:
        size = arrow_size(data)
    except ValueError as cause:
        raise ModelError(f"{name} cannot be read ({cause}); save the model again.") from None
    if size.compressed:
        raise ModelError(
            f"{name} is compressed, and may need far more memory than it has bytes; save the model "
            "again."
        )
    if size.rows != count:
        raise ModelError(
            f"{name} contains {size.rows} ids for {count} rows; use files of the same model."
        )
    try:
        frame = pl.read_ipc(io.BytesIO(data)).rechunk()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as cause:
        raise ModelError(f"{name} cannot be read ({cause}); save the model again.") from None
    if len(frame) != count:
        raise ModelError(f"{name} does not contain the {count} ids of its metadata; save it again.")
    try:
        as_column(frame[COLUMN], "saved")
    except DataError as cause:
        raise ModelError(f"in {name}: {cause}") from None
    if frame.n_unique() != count:
        raise ModelError(f"{name} contains duplicate ids; save the model again.")
    if ascending and not frame.sort(frame.columns).equals(frame):
        raise ModelError(f"the ids in {name} are not in ascending order; save the model again.")
    return frame.to_struct("") if OWNER in frame.columns else frame[COLUMN].alias("")


def check_schema(name: str, data: bytes) -> None:
    """Check that the data have a column of ids, and perhaps one of owners, of plain types."""
    import polars as pl

    try:
        if not data.startswith(MAGIC):
            raise ValueError("wrong magic bytes")
        schema = pl.read_ipc_schema(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as cause:
        raise ModelError(f"{name} is not an Arrow file ({cause}); save the model again.") from None
    if list(schema) not in ([COLUMN], [COLUMN, OWNER]):
        raise ModelError(
            f"{name} has the columns {', '.join(schema) or 'none'} instead of {COLUMN!r} only; "
            "save the model again."
        )
    plain = (pl.Int64, pl.Float32, pl.Float64, pl.String, pl.Boolean, pl.Binary)
    for kind in schema.values():
        if not (kind in plain or kind.is_temporal() or kind.is_decimal()):
            raise ModelError(
                f"the ids in {name} are of type {kind}, but only text, numbers, dates and booleans "
                "are supported; convert them to text."
            )
