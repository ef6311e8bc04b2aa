import datetime
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data.ids import UNKNOWN, Ids
from grassvine.foundations.errors import DataError

KINDS: dict[str, list[Any]] = {
    "text": ["b", "a", "", "a ", "á", "á", "007", "b"],
    "whole": [7, -3, 0, 10**18, 7],
    "fraction": [1.0, 2.5, 1.0],
    "date": [datetime.date(2026, 1, 2), datetime.date(2025, 1, 2)],
    "truth": [True, False, True],
}


def column(ids: list[Any]) -> Any:
    """A column of a pyarrow table."""
    return pa.chunked_array([ids])


CONTAINERS = [list, np.array, pd.Series, pl.Series, column]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_kept_as_given_in_any_container(container: Any, kind: str) -> None:
    given_ids = KINDS[kind]
    ids, numbers = Ids.number(container(given_ids), "user")
    assert ids.at(numbers).to_list() == given_ids
    assert ids.series.to_list() == sorted(set(given_ids))
    assert (ids.numbers(given_ids, "user") == numbers).all()


@given(st.lists(st.text(), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(given_ids: list[str], random: Any) -> None:
    shuffled = random.sample(given_ids, len(given_ids))
    one, other = (Ids.number(order, "user")[0] for order in (given_ids, shuffled))
    assert one.series.to_list() == other.series.to_list()


@pytest.mark.parametrize("kind", [*KINDS, "dense"])
def test_columns_in_chunks_are_numbered_in_parts(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("grassvine.data.ids.AT_ONCE", 3)
    given_ids: list[Any] = 5 * KINDS.get(kind, [0, 3, 2, 3])
    chunks = pl.concat([pl.Series(given_ids[k : k + 4]) for k in range(0, len(given_ids), 4)])
    assert chunks.n_chunks() > 1
    columns = [chunks]
    if kind == "dense":
        columns.append(chunks.cast(pl.Int32))
    for one in columns:
        ids, numbers = Ids.number(one, "user")
        assert numbers.dtype == np.int32 and ids.at(numbers).to_list() == given_ids
        assert ids.series.to_list() == sorted(set(given_ids))
        assert not ids.series.dtype.is_integer() or ids.series.dtype == pl.Int64


def test_unknown_ids_have_no_number() -> None:
    ids, _ = Ids.number(["a", "b"], "item")
    assert ids.numbers(["b", "x", "a"], "item").tolist() == [1, UNKNOWN, 0]
    assert ids.numbers([], "item").tolist() == []


@pytest.mark.parametrize("dtype", ["i1", "u4", ">i4", "<i8", "u8"])
def test_whole_numbers_of_every_width_are_the_same(dtype: str) -> None:
    ids, _ = Ids.number([3, 5], "user")
    assert ids.numbers(np.array([5, 4, 3], dtype=dtype), "user").tolist() == [1, UNKNOWN, 0]


def test_categories_are_text() -> None:
    ids, numbers = Ids.number(pd.Series(["x", "y", "x"], dtype="category"), "user")
    assert numbers.tolist() == [0, 1, 0]
    assert ids.numbers(["y"], "user").tolist() == [1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, "1"], r"user ids have different types: 1 \(int\) and '1' \(str\); convert them"),
        (["a", None, "b", None], r"2 of 4 user ids are missing \(rows 1, 3, .*\); remove those"),
        (pd.Series(["a", np.nan]), r"1 of 2 user ids are missing \(row 1, counting from 0\)"),
        (np.array([1.0, np.nan]), r"1 of 2 user ids are NaN \(row 1, counting from 0\)"),
        ([uuid.UUID(int=1)], "convert them to text"),
        ([(1, 2)], "convert them to text"),
        (np.array([2**63], dtype=np.uint64), "a user id is 2⁶³ or larger; convert the user ids to"),
        ([2**63], "text"),
        ("anna", "the user ids are 'anna'; pass a list"),
        (7, "the user ids are 7; pass a list"),
        ({"film": 5.0}, r"the user ids are \{'film': 5.0\}; pass a list"),
        (np.zeros((2, 2)), "the user ids have 2 dimensions; pass a list"),
    ],
)
def test_what_is_no_list_of_ids_is_refused(ids: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Ids.number(ids, "user")


@pytest.mark.parametrize(("known", "asked"), [([7], ["7"]), (["7"], [7]), ([7], [7.0])])
def test_text_and_numbers_are_not_taken_for_each_other(known: Any, asked: Any) -> None:
    ids, _ = Ids.number(known, "item")
    with pytest.raises(DataError, match=r"the item ids are .*, but the known ones are .*same type"):
        ids.numbers(asked, "item")


def test_giant_ids_take_no_memory() -> None:
    ids, numbers = Ids.number([10**18, 0], "item")
    assert len(ids) == 2 and numbers.tolist() == [1, 0]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=30),
    st.sampled_from([1, 1000]),
    st.sampled_from(["i4", "u4", "i8"]),
)
def test_dense_and_spread_numbers_are_numbered_alike(
    given_ids: list[int], spread: int, kind: str
) -> None:
    # Small numbers are numbered by a table, others by sorting.
    column = np.array(given_ids, kind) * spread
    ids, numbers = Ids.number(column, "user")
    assert ids.series.to_list() == sorted(set(column.tolist()))
    assert ids.at(numbers).to_list() == column.tolist()
