"""Reading a large table takes less than 60 bytes of memory a rating."""

import sys
from pathlib import Path

import pytest

from benchmarks import large_tables

MOST = 60
# What does not depend on the size of the table: buffers, and pages of libraries at their first use.
# Whole columns of 64 bits take 67 bytes a rating (Parquet) and 91 (text).
FIXED = 16_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured by /proc")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_large_table_is_read_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(large_tables, "USERS_OF_READ", 40_000)
    monkeypatch.setenv("POLARS_MAX_THREADS", "2")  # every thread has buffers of its own
    large_tables.make(tmp_path)
    found = large_tables.alone("read", str(tmp_path / f"ratings.{suffix}"))
    assert found["ratings"] == 4_000_000
    assert found["peak"] <= MOST * found["ratings"] + FIXED
