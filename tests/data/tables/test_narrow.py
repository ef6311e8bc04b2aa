"""Tables whose integers were narrowed while they were read are the tables that they were."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from grassvine.data.tables import RatingTable, ratings_from_frame, read_table
from grassvine.data.tables.files import narrow, reader, streamed
from grassvine.data.tables.files.narrow import narrow_parquet
from grassvine.datasets import read_ratings
from grassvine.foundations.errors import DataError

EDGES = [0, 1, -1, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), None]
numbers = st.lists(st.sampled_from(EDGES), min_size=1, max_size=20)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(reader, "LARGE", 0)
    monkeypatch.setattr(streamed, "FIRST_BLOCK", 16)
    monkeypatch.setattr(streamed, "BLOCK", 64)


def fits(column: Sequence[int | None]) -> bool:
    return all(one is None or -(2**31) <= one < 2**31 for one in column)


@given(numbers, st.integers(1, 6))
def test_integers_of_parquet_are_narrow_exactly_if_all_fit(
    column: list[int | None], group: int
) -> None:
    frame = pl.DataFrame(
        {
            "whole": pl.Series(column, dtype=pl.Int64),
            "short": pl.Series([1] * len(column), dtype=pl.UInt8),
            "real": pl.Series(column, dtype=pl.Float64),
            "text": [str(one) for one in column],
        }
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer, row_group_size=group)
    read = narrow_parquet(buffer.getvalue())
    assert read.schema["whole"] == (pl.Int32 if fits(column) else pl.Int64)
    assert_frame_equal(read.with_columns(pl.col("whole").cast(pl.Int64)), frame)


@given(st.lists(st.sampled_from([one for one in EDGES if one is not None]), min_size=2))
def test_integers_of_text_are_narrow_exactly_if_all_fit(column: list[int]) -> None:
    text = "user,item\n" + "".join(f"{one},1\n" for one in column)
    found = streamed.stream_delimited(io.BytesIO(text.encode()), "x.csv", None, None, narrow=True)
    assert found is not None
    large = len(text) > streamed.FIRST_BLOCK
    assert found[0].schema["user"] == (pl.Int32 if large and fits(column) else pl.Int64)
    assert found[0]["user"].to_list() == column


def test_a_table_without_rows_is_read_without_rows() -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"user": []}, schema={"user": pl.Int64}).write_parquet(buffer)
    assert narrow_parquet(buffer.getvalue()).height == 0


ROWS: dict[str, dict[str, list[Any]]] = {
    "dense": {"user": [3, 1, 2, 1], "item": [1, 1, 2, 2], "rating": [1.0, 0.5, 4.0, 2.5]},
    "spread": {"user": [7, -9, 2**31, 7], "item": [10**18, 0, 0, 1], "rating": [1, 2, 3, 4]},
    "text": {"user": ["b", "a", "b", "c"], "item": ["x", "x", "y", "y"], "rating": [1, 2, 3, 4]},
    "fractions": {"user": [0.5, 1.5, 0.5, 2.5], "item": [1, 1, 2, 2], "rating": [0.1, 2, 3, 4]},
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ROWS)
def test_a_table_of_ratings_is_that_of_the_wide_columns(
    tmp_path: Path, name: str, suffix: str
) -> None:
    """Same ids of the same type, and the same bits of the ratings."""
    path = tmp_path / f"x.{suffix}"
    frame = pl.DataFrame(ROWS[name])
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path, row_group_size=1)
    narrowed, wide = read_ratings(path), ratings_from_frame(read_table(path))
    assert isinstance(narrowed, RatingTable) and narrowed.digest() == wide.digest()
    assert narrowed.assumed == wide.assumed
    for mine, other in ((narrowed.users, wide.users), (narrowed.items, wide.items)):
        assert mine.series.equals(other.series) and mine.series.dtype == other.series.dtype
    assert narrowed.ratings.stored.dtype == wide.ratings.stored.dtype
    assert narrowed.ratings.stored.tobytes() == wide.ratings.stored.tobytes()


def test_a_bound_between_two_float32_numbers_is_not_rounded(tmp_path: Path) -> None:
    """1 is stored as float32, as which the bound would be 1 too."""
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating\n1,1,1.0\n2,1,4.0\n")
    with pytest.raises(DataError, match="1 rating lies outside the scale"):
        read_ratings(path, scale=(1.0 + 1e-12, 5.0))
    assert read_ratings(path, scale=(1.0, 5.0)).n_ratings == 2
