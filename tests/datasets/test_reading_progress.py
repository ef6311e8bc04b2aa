"""Whoever reads ratings is told how far it has come; the shares grow in steps, up to all."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from grassvine.data.stored import RatingDataset, rating_scan
from grassvine.data.tables import read_table
from grassvine.data.tables.files import json_lines
from grassvine.datasets import published_text, read_movielens, read_netflix, read_ratings
from grassvine.foundations.watch import part_of

N_ROWS = 3000  # enough for several blocks of the published formats below


def frame() -> pl.DataFrame:
    row = np.arange(N_ROWS)
    columns = {"userId": row // 30 + 1, "movieId": row % 30 + 1, "rating": row % 5 + 1.0}
    return pl.DataFrame({**columns, "timestamp": row + 10**9})


def grows(read: Callable[[Callable[[float], None]], Any], at_least: int) -> None:
    shares: list[float] = []
    read(shares.append)
    assert len(shares) >= at_least and shares == sorted(shares)
    assert shares[0] >= 0.0 and shares[-1] <= 1.0
    assert len(set(shares)) >= at_least


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_reading_a_table_of_ratings_reports_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(json_lines, "ROWS_AT_ONCE", 1000)
    table, path = frame(), tmp_path / f"ratings.{kind}"
    if kind == "parquet":
        table.write_parquet(path)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_dicts())))
    else:
        text = table.rename({"timestamp": "time"}).write_csv().encode()
        path.write_bytes(gzip.compress(text) if kind == "csv.gz" else text)
    grows(lambda watch: read_ratings(path, watch=watch), 5)
    if kind != "parquet":
        grows(lambda watch: read_table(path, watch=watch), 3)


def test_reading_a_published_file_reports_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_text, "BLOCK", 2**14)
    frame().write_csv(tmp_path / "ratings.csv")
    grows(lambda watch: read_movielens(tmp_path, watch), 8)
    grows(lambda watch: read_ratings(tmp_path, watch=watch), 8)
    for number in (1, 2):
        lines = [f"{user},{user % 5 + 1},2005-01-02" for user in range(1, 1001)]
        (tmp_path / f"mv_{number}.txt").write_text("\n".join([f"{number}:", *lines]))
    (tmp_path / "ratings.csv").unlink()
    grows(lambda watch: read_netflix(tmp_path, watch), 6)


def test_scanning_stored_ratings_reports_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating_scan, "ROWS_AT_ONCE", 1000)
    path = tmp_path / "ratings.parquet"
    frame().with_columns(shop=pl.col("userId") % 3).write_parquet(path)
    grows(lambda watch: RatingDataset.by_column(path, "shop", watch=watch), 6)


def test_a_part_of_an_operation_reports_its_share_of_the_whole() -> None:
    shares: list[float] = []
    part = part_of(shares.append, 0.5, 1.0)
    part(0.0)
    part(0.5)
    assert shares == [0.5, 0.75]
    part_of(None, 0.0, 1.0)(0.3)
