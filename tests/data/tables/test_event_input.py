"""Tables of events from frames, dicts and matrices; what is not an event is refused."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from grassvine.data.tables import ratings_from_frame
from grassvine.data.tables.event_input import EventColumns, as_event_table
from grassvine.data.tables.event_table import EventTable
from grassvine.foundations.errors import DataError

CLICKS = {
    "customer": ["ann", "bob", "ann", "ann", "cleo"],
    "product": [1, 2, 1, 3, 2],
    "clicks": [1, 2, 3, 1, 5],
    "timestamp": [1.0e9, 1.1e9, 1.2e9, 1.0e9, 1.3e9],
}


def entries(table: EventTable) -> list[tuple[Any, Any, float]]:
    numbers = table.ratings.users_of_values()
    users, items = table.users.at(numbers), table.items.at(table.ratings.items)
    return list(zip(users, items, table.ratings.values.tolist(), strict=True))


WANTED = [("ann", 1, 4.0), ("ann", 3, 1.0), ("bob", 2, 2.0), ("cleo", 2, 5.0)]


@pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame])
def test_columns_are_found_by_name_and_counts_are_added(library: Any) -> None:
    frame = library(CLICKS)
    table = as_event_table(frame)
    assert entries(table) == WANTED
    assert "1 event repeats a user and an item; their counts were added." in table.assumed
    assert table.times is None


def test_the_order_of_rows_changes_no_bit() -> None:
    frame = pl.DataFrame(CLICKS | {"clicks": [0.1, 0.2, 0.3, 0.4, 0.5]})
    one, other = as_event_table(frame), as_event_table(frame.reverse())
    assert one.digest() == other.digest()
    assert one.ratings.values.tobytes() == other.ratings.values.tobytes()


def test_the_latest_time_of_a_pair_is_kept() -> None:
    table = as_event_table(pl.DataFrame(CLICKS), times=True)
    assert table.times is not None
    assert np.argsort(table.times).tolist() == [1, 2, 0, 3]


def test_without_counts_every_row_counts_once_and_ratings_are_not_counts() -> None:
    frame = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "rating": [3.5, 1.0, 5.0]})
    table = as_event_table(frame)
    assert table.ratings.values.tolist() == [1.0, 1.0, 1.0]
    assert "Every row counts once; 'rating' is not used." in table.assumed
    named = as_event_table(frame, columns=EventColumns(count="rating"))
    assert named.ratings.values.tolist() == [3.5, 1.0, 5.0]


def test_columns_without_names_are_taken_by_position() -> None:
    table = as_event_table(pl.DataFrame({"a": ["x", "y"], "b": [3, 4]}))
    assert table.assumed[0] == "By position, 'a' holds the users, 'b' holds the items."
    published = pl.DataFrame(
        {"c0": [1, 2], "c1": [5, 6], "c2": [4, 5], "c3": [978300760, 97830019]}
    )
    with pytest.raises(DataError, match="contains no times"):
        as_event_table(published)
    table = as_event_table(published.with_columns(c3=pl.lit(978300760)))
    assert "Every row counts once; 'c2' is not used." in table.assumed


def test_other_forms_of_the_same_events() -> None:
    forms: list[Any] = [
        {"ann": {1: 4, 3: 1}, "bob": {2: 2}, "cleo": {2: 5}},
        [pl.DataFrame(CLICKS)],
        pl.DataFrame(CLICKS).lazy(),
    ]
    for form in forms:
        assert entries(as_event_table(form)) == WANTED
    pairs = pl.DataFrame(CLICKS).select("customer", "product")
    assert entries(as_event_table(pairs, CLICKS["clicks"])) == WANTED
    assert entries(as_event_table({"ann": [1, 3], "bob": [2]}))[0] == ("ann", 1, 1.0)
    dense = np.array([[4.0, 0.0, 1.0], [np.nan, 2.0, 0.0]])
    wanted = [(0, 0, 4.0), (0, 2, 1.0), (1, 1, 2.0)]
    assert entries(as_event_table(dense)) == wanted
    assert entries(as_event_table(sparse.csr_array(np.nan_to_num(dense)))) == wanted


def test_ratings_become_events_of_count_one() -> None:
    ratings = ratings_from_frame(
        pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "rating": [-3.5, 0.0, 5.0]})
    )
    table = as_event_table(ratings)
    assert table.ratings.values.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(DataError, match="not positive counts"):
        EventTable.of(ratings)


BAD: dict[str, tuple[dict[str, list[Any]], str]] = {
    "negative": ({"count": [1, -2, 3]}, r"1 of 3 counts is negative \(row 1, counting from 0\)"),
    "zero": ({"count": [0, 0, 3]}, r"2 of 3 counts are 0 \(rows 0, 1, counting from 0\)"),
    "missing": ({"count": [1, None, 3]}, "1 of 3 counts are missing.*missing='drop'"),
    "infinite": ({"count": [1.0, np.inf, 3.0]}, "1 of 3 counts are missing, NaN or infinite"),
    "text": ({"count": ["1", "two", "3"]}, "counts in column 'count'.*use numbers"),
    "huge": ({"count": [1.0, 1e60, 3.0]}, r"the count 1e\+60 in row 1"),
    "future seconds": (
        {"time": [1e9, 1e9, 4e9]},
        "1 of 3 times in column 'time' are in the future",
    ),
    "future dates": ({"date": ["2020-01-01", "2190-01-01", "2020-01-01"]}, "2190-01-01"),
    "several counts": ({"clicks": [1, 1, 1], "plays": [1, 1, 1]}, "could all hold the counts"),
    "mixed ids": ({"user": ["a", 2, "b"]}, "the user ids have different types"),
    "missing ids": ({"item": [1, None, 2]}, "1 of 3 item ids are (missing|NaN)"),
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_refused_in_one_sentence(columns: dict[str, list[Any]], message: str) -> None:
    frame = pd.DataFrame({"user": ["a", "b", "c"], "item": [1, 2, 1], **columns})
    before = frame.copy()
    with pytest.raises(DataError, match=message) as caught:
        as_event_table(frame)
    assert str(caught.value).count(". ") <= 1  # the list of columns may follow
    pd.testing.assert_frame_equal(frame, before)


def test_numbers_that_are_no_times_are_no_future() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 4], "time": [1, 2]})
    assert as_event_table(frame, times=True).times is not None


def test_rows_without_a_count_may_be_dropped() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 4], "count": [2, None]})
    table = as_event_table(frame, missing="drop")
    assert entries(table) == [(1, 3, 2.0)]


def test_users_of_several_shops_are_separate() -> None:
    frame = pl.DataFrame({"user": [1, 1, 2], "item": [3, 4, 3], "shop": ["n", "s", "n"]})
    table = as_event_table(frame, agent="shop")
    assert table.n_users == 3 and len(table.split(1)) == 2
