"""Sizes are told from metadata, before anything is decompressed."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data.tables import read_table
from grassvine.data.tables.files import reader
from grassvine.data.tables.files.arrow_size import arrow_size
from grassvine.data.tables.files.parquet_size import parquet_groups, parquet_size
from grassvine.foundations import memory
from grassvine.foundations.errors import DataError

N = 200_000
FRAME = pl.DataFrame(
    {"user": np.zeros(N, np.int64), "text": ["x" * 40] * N, "rating": np.ones(N), "on": [True] * N}
)


def parquet(compression: Any, frame: pl.DataFrame = FRAME) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression=compression)
    return buffer.getvalue()


def parquet_of_pyarrow(compression: str) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(FRAME.to_arrow(), buffer, compression=compression)
    return buffer.getvalue()


def arrow(compression: Any, frame: pl.DataFrame = FRAME) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression=compression)
    return buffer.getvalue()


def stream(compression: Any) -> bytes:
    buffer = io.BytesIO()
    FRAME.write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


def arrow_of_pyarrow(
    compression: str | None, new: Callable[..., pa.RecordBatchFileWriter]
) -> bytes:
    buffer, table = io.BytesIO(), FRAME.to_arrow(compat_level=pl.CompatLevel.oldest())
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(buffer, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=N // 7)
    return buffer.getvalue()


PARQUET = {
    **{kind: parquet(kind) for kind in ("uncompressed", "zstd", "lz4", "gzip")},
    "pyarrow": parquet_of_pyarrow("zstd"),
}
ARROW = {
    **{kind: arrow(kind) for kind in ("uncompressed", "zstd", "lz4")},
    **{f"stream, {kind}": stream(kind) for kind in ("uncompressed", "zstd")},
    "pyarrow": arrow_of_pyarrow("lz4", pa.ipc.new_file),
    "stream of pyarrow": arrow_of_pyarrow(None, pa.ipc.new_stream),
}


@pytest.mark.parametrize("data", PARQUET.values(), ids=PARQUET)
def test_the_size_of_parquet_is_at_least_that_in_memory(data: bytes) -> None:
    in_memory = pl.read_parquet(data).estimated_size()
    # 16 bytes for each value, of which numbers take 8 and booleans 1/8, and the pages themselves
    assert in_memory <= parquet_size(data) <= 5 * in_memory


@pytest.mark.parametrize("name", ARROW)
def test_the_size_of_arrow_is_at_least_that_in_memory(name: str) -> None:
    size = arrow_size(ARROW[name])
    assert size.rows == N and size.compressed == ("zstd" in name or name in ("lz4", "pyarrow"))
    assert FRAME.estimated_size() <= size.n_bytes <= 5 * FRAME.estimated_size()


def test_a_batch_that_is_listed_twice_counts_twice() -> None:
    """The footer of a file names the place of each batch, and may name one many times."""
    data = bytearray(arrow_of_pyarrow(None, pa.ipc.new_file))
    size = arrow_size(bytes(data))
    footer = len(data) - 10 - int.from_bytes(data[-10:-6], "little")
    # the blocks are structs of 24 bytes: offset, length of the metadata, length of the body
    blocks = [
        place
        for place in range(footer, len(data) - 10 - 24, 4)
        if data[int.from_bytes(data[place : place + 8], "little") :][:4] == b"\xff" * 4
        and int.from_bytes(data[place + 8 : place + 12], "little") in range(100, 2000)
    ]
    assert len(blocks) == 8  # 7 and a rest
    data[blocks[-1] : blocks[-1] + 24] = data[blocks[0] : blocks[0] + 24]
    assert arrow_size(bytes(data)).rows > size.rows


def test_groups_of_rows_that_are_not_those_of_the_table_are_refused() -> None:
    buffer = io.BytesIO()
    pq.write_table(FRAME.head(1000).to_arrow(), buffer, row_group_size=300)
    data = buffer.getvalue()
    assert parquet_groups(data) == [300, 300, 300, 100]
    # 300 in Thrift's compact form is the varint of 600; as the last field but one of a group
    place = data.rindex(b"\x16\xd8\x04")
    altered = data[: place + 1] + b"\xda\x04" + data[place + 3 :]
    with pytest.raises(ValueError, match="groups of rows are not those of the table"):
        parquet_groups(altered)


BOMBS = {
    "parquet": parquet("zstd", FRAME.select("user", "rating")),
    "arrow": arrow("zstd", FRAME.select("user", "rating")),
    "stream": stream("zstd"),
    "csv": b"user,item,rating\n" + b"1,1,1\n" * N,
    "jsonl": b'{"user": 1, "item": 1, "rating": 1}\n' * N,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_table_that_needs_more_than_there_is_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / f"bomb.{name}"
    path.write_bytes(BOMBS[name])
    assert len(read_table(path).frame) == N
    monkeypatch.setattr(memory, "available_memory", lambda: 5_000_000)
    for name_of_reader in ("read_parquet", "read_ipc", "read_ipc_stream", "read_csv", "DataFrame"):
        monkeypatch.delattr(pl, name_of_reader)
    with pytest.raises(DataError, match=rf"bomb.{name} needs about .* MB of memory, more than 80"):
        read_table(path)


def test_a_file_of_zeros_that_takes_no_space_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse.csv").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(DataError, match=r"sparse.csv needs about 2,199.0 GB of memory"):
        read_table(tmp_path / "sparse.csv")


@pytest.mark.parametrize("data", [parquet("zstd", FRAME.head(50)), arrow("lz4", FRAME.head(50))])
@given(random=st.data())
def test_altered_metadata_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, random: st.DataObject
) -> None:
    altered = bytearray(data)
    for _ in range(random.draw(st.integers(1, 4))):
        altered[random.draw(st.integers(6, len(data) - 1))] = random.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("tables") / "table"
    path.write_bytes(altered)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "LARGE", 0)
        for narrow in (False, True):
            with contextlib.suppress(DataError):
                assert read_table(path, narrow=narrow).frame.height
