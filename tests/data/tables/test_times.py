"""``duplicates="last"`` beside a column of times."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from grassvine.data.stored import RatingDataset
from grassvine.data.tables import ratings_from_frame, ratings_from_frames, read_table
from grassvine.foundations.errors import DataError

# The second row is the latest.
TIMES: dict[str, list[Any]] = {
    "integers": [978300760, 978302109, 978301968],
    "fractions": [0.5, 2.5, 1.5],
    "dates": [date(2026, 1, 9), date(2026, 1, 11), date(2026, 1, 10)],
    "datetimes": [datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 11), datetime(2026, 1, 1, 10)],
    "text": ["2026-01-09", "2026-01-11", "2026-01-10"],
    "text of two forms": ["2026-01-09T23:59", "2026-01-10 12:00", "2026-01-10T11:59Z"],
}


def frame(times: list[Any], name: str = "timestamp") -> pl.DataFrame:
    return pl.DataFrame(
        {"user": ["a"] * 3, "item": ["x"] * 3, "rating": [1.0, 2.0, 3.0], name: times}
    )


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_the_last_of_several_ratings_is_the_latest(times: list[Any]) -> None:
    given = frame(times)
    for data in (given, given.to_pandas(), given[::-1]):
        table = ratings_from_frame(data, duplicates="last")
        assert table.ratings.values.tolist() == [2.0]
        assert "the latest one was taken" in table.assumed[-1]


def test_without_times_or_among_equal_ones_it_is_the_last_row() -> None:
    for data in (frame([5, 5, 5]), frame([5, 5, 5], "shelf")):
        assert ratings_from_frame(data, duplicates="last").ratings.values.tolist() == [3.0]
    table = ratings_from_frame(frame([5, 9, 5], "shelf"), duplicates="last")
    assert table.ratings.values.tolist() == [3.0] and "the last one" in table.assumed[-1]


def test_times_that_are_found_by_position_count(tmp_path: Path) -> None:
    path = tmp_path / "ratings.dat"
    path.write_text("1::7::1::978300760\n1::7::2::978302109\n1::7::3::978301968\n")
    table = ratings_from_frame(read_table(path), duplicates="last")
    assert table.ratings.values.tolist() == [2.0]


def test_each_of_several_tables_has_its_own_times() -> None:
    other = frame(["2026-01-03", "2026-01-02", "2026-01-01"]).with_columns(user=pl.lit("b"))
    table = ratings_from_frames(
        [frame(TIMES["integers"]), other, frame([0] * 3, "shelf").with_columns(user=pl.lit("c"))],
        duplicates="last",
    )
    assert table.ratings.values.tolist() == [2.0, 1.0, 3.0]


def test_stored_ratings_have_times_too(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame(TIMES["integers"]).with_columns(shop=pl.lit("north")).write_parquet(path)
    dataset = RatingDataset.by_column(str(path), "shop", duplicates="last")
    assert [part.read().ratings.values.tolist() for part in dataset.parts] == [[2.0]]


def test_rows_without_a_rating_leave_the_times_in_place() -> None:
    data = frame(TIMES["integers"]).with_columns(rating=pl.Series([1.0, None, 3.0]))
    table = ratings_from_frame(data, duplicates="last", missing="drop")
    assert table.ratings.values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (frame(["1/2/26", "2/2/26", "3/2/26"]), "3 of 3 times in column 'timestamp' are not .*26'"),
        (frame([True, False, True]), "3 of 3 times in column 'timestamp' are not numbers"),
        (frame([1, None, 3]), r"1 of 3 times in column 'timestamp' are missing \(row 1"),
        (frame([1, 2, 3]).with_columns(date=1), "'timestamp', 'date' could all hold the times"),
    ],
)
def test_times_without_an_order_are_refused(data: pl.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ratings_from_frame(data, duplicates="last")
    ratings_from_frame(data, duplicates="mean")  # which needs no times
