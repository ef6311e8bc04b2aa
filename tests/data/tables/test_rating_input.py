import datetime
import re
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.real_data import real_file

from grassvine.data import Ratings
from grassvine.data.tables import (
    RatingTable,
    ratings_from_arrays,
    ratings_from_frame,
    ratings_from_frames,
    ratings_from_matrix,
    read_table,
)
from grassvine.data.tables.rating_table import require_ratings_memory
from grassvine.datasets import read_movielens
from grassvine.foundations import memory
from grassvine.foundations.errors import DataError

Rating = tuple[Any, Any, float]
NAN, INF = float("nan"), float("inf")


def as_dict(table: RatingTable) -> dict[tuple[Any, Any], float]:
    users = table.users.at(table.ratings.users_of_values()).to_list()
    items = table.items.at(table.ratings.items).to_list()
    values = table.ratings.values.tolist()
    return dict(zip(zip(users, items, strict=True), values, strict=True))


def columns(rows: list[Any]) -> dict[str, list[Any]]:
    return {
        name: [row[k] for row in rows]
        for k, name in enumerate(("user", "item", "rating", "hospital")[: len(rows[0])])
    }


def frame(*rows: Any) -> pl.DataFrame:
    return pl.DataFrame(columns(list(rows)), strict=False)


LIBRARIES: dict[str, Any] = {
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas, objects": lambda data: pd.DataFrame(data).astype(object),
    "pyarrow": pa.table,
}
ratings = st.just(0.0) | st.floats(1e-9, 10) | st.floats(-10, -1e-9)
ids = st.one_of(st.integers(-5, 10**18), st.integers(0, 3))
entries = st.lists(
    st.tuples(ids, st.text(max_size=3), ratings),
    min_size=1,
    max_size=20,
    unique_by=lambda row: row[:2],
)


@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=15)  # of each library
@given(entries, st.randoms(use_true_random=False))
def test_every_library_and_order_of_rows_gives_the_same(
    library: str, rows: list[Rating], random: Any
) -> None:
    table = ratings_from_frame(LIBRARIES[library](columns(rows)))
    assert as_dict(table) == {(user, item): rating for user, item, rating in rows}
    assert table.assumed[0] == (
        "By name, 'user' holds the users, 'item' holds the items, 'rating' holds the ratings."
    )
    shuffled = random.sample(rows, len(rows))
    other = ratings_from_arrays(*columns(shuffled).values())
    assert other.digest() == table.digest()
    assert other.ratings.values.tobytes() == table.ratings.values.tobytes()


def test_the_frame_is_not_modified() -> None:
    given_frame = pd.DataFrame(columns([("b", 2, 1.0), ("a", 1, NAN)]))
    before = given_frame.copy()
    ratings_from_frame(given_frame, missing="drop")
    pd.testing.assert_frame_equal(given_frame, before)


@pytest.mark.parametrize("form", ["f2", "longdouble", ">f8", "i1", "u4", object])
def test_numbers_of_every_form_are_ratings(form: Any) -> None:
    values = np.array([1, 2, 3, 9, 9], dtype=form)[:3]
    values.flags.writeable = False
    table = ratings_from_arrays(["a", "b", "c"], [1, 1, 1], values)
    assert table.ratings.values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("a", 1, "4,5"), ("a", 2, "3,5")],
            "2 of 2 .* not numbers, rows 0, 1, counting from 0: '4,5', '3,5'; use .* a deci",
        ),
        (
            [("a", 1, "★★★")],
            "1 of 1 ratings in column 'rating' is not a number, row 0, .*: '★★★'; use ",
        ),
        ([("a", 1, "4.5")], "not a number, .*: '4.5'; convert the text to numbers"),
        ([("a", 1, True)], "1 of 1 ratings .* is not a number, .*: True; use numbers"),
        (
            [("a", 1, datetime.date(2026, 1, 1))],
            r"not a number, .*: datetime.date\(2026, 1, 1\)",
        ),
        (
            [("a", 1, "x"), ("a", 2, "y"), ("b", 1, "z"), ("b", 2, "w")],
            "rows 0, 1, 2, …, counting from 0: 'x', 'y', 'z', …;",
        ),
    ],
)
def test_ratings_that_are_no_numbers_are_refused(rows: list[Any], message: str) -> None:
    for library in LIBRARIES.values():
        with pytest.raises(DataError, match=message):
            ratings_from_frame(library(columns(rows)))


def test_arrays_that_are_no_numbers_are_refused() -> None:
    for values, message in [
        ([True], "of type bool, such as np.True_; pass numbers"),
        (["4"], "of type <U1, such as np.str_.*pass numbers"),
        ([1j], "complex"),
        (np.ma.masked_array([1.0], [True]), "masked"),
        ([1.0, 2.0], "1 users, 1 items and ratings of shape .2,.; pass one of each"),
    ]:
        with pytest.raises(DataError, match=message):
            ratings_from_arrays(["a"], ["b"], values)


def test_decimals_are_numbers() -> None:
    assert as_dict(ratings_from_frame(frame(("a", 1, Decimal("4.5"))))) == {("a", 1): 4.5}


MISSING = [
    ("a", 1, 4.0),
    ("b", 1, NAN),
    ("a", 2, None),
    ("c", 9, INF),
    ("d", 1, 2.0),
    ("e", 1, NAN),
]


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_ratings_are_named_or_dropped(library: str) -> None:
    data = LIBRARIES[library](columns(MISSING))
    with pytest.raises(
        DataError,
        match=r"4 of 6 ratings are missing, NaN or infinite \(rows 1, "
        r"2, 3, …, counting from 0\); remove those rows, or use missing='drop'",
    ):
        ratings_from_frame(data)
    table = ratings_from_frame(data, missing="drop")
    assert as_dict(table) == {("a", 1): 4.0, ("d", 1): 2.0}
    assert table.users.series.to_list() == ["a", "d"] and table.items.series.to_list() == [1]
    assert table.assumed[-1] == "4 rows without a rating were dropped."


def test_nothing_but_missing_ratings_is_refused() -> None:
    with pytest.raises(DataError, match="all ratings are missing, NaN or infinite"):
        ratings_from_frame(frame(("a", 1, NAN)), missing="drop")


TWICE = [("a", 1, 0.25), ("b", 2, 5.0), ("a", 1, 0.5), ("a", 2, 4.0), ("a", 1, 0.75), ("b", 2, 1.0)]


def test_repeated_ratings_are_counted_and_shown() -> None:
    with pytest.raises(
        DataError,
        match="3 ratings repeat a user and an item: user 'a' and item 1, "
        "user 'a' and item 1, user 'b' and item 2; keep one of each, or use "
        "duplicates='mean' or duplicates='last'",
    ):
        ratings_from_frame(frame(*TWICE))


def test_repeated_ratings_are_resolved_on_request() -> None:
    last = ratings_from_frame(frame(*TWICE), duplicates="last")
    assert as_dict(last) == {("a", 1): 0.75, ("a", 2): 4.0, ("b", 2): 1.0}
    mean = ratings_from_frame(frame(*TWICE), duplicates="mean")
    assert as_dict(mean) == {("a", 1): 0.5, ("a", 2): 4.0, ("b", 2): 3.0}
    assert mean.assumed[-1] == "3 ratings repeat a user and an item; their mean was taken."


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), ratings), min_size=1),
    st.randoms(use_true_random=False),
)
def test_means_are_the_same_to_the_bit_in_any_order(rows: list[Rating], random: Any) -> None:
    one, other = (
        ratings_from_arrays(*columns(order).values(), duplicates="mean")
        for order in (rows, random.sample(rows, len(rows)))
    )
    assert one.ratings.values.tobytes() == other.ratings.values.tobytes()


@pytest.mark.parametrize("rating", [1e300, -1.7e308, 1e51, 1e-300, -5e-324])
def test_a_rating_beyond_what_can_be_multiplied_is_refused(rating: float) -> None:
    message = (
        rf"the rating {rating:g} in row 1 (counting from 0) is not between 1e-50 and 1e+50 in "
        "absolute value; correct it, or rescale all ratings."
    )
    rows = [("a", 1, NAN), ("a", 2, rating), ("b", 1, 3.0)]
    for duplicates in ("error", "mean", "last"):
        with pytest.raises(DataError, match=re.escape(message)):
            ratings_from_frame(frame(*rows), missing="drop", duplicates=duplicates)
    with pytest.raises(DataError, match=re.escape(message)):
        ratings_from_arrays([7, 7, 8], [1, 2, 1], [NAN, rating, 3.0], missing="drop")
    in_matrix = message.replace("row 1 ", "row 1, column 0 ")
    for matrix in (
        np.array([[1.0, 2.0], [rating, 2.0]]),
        sparse.csr_array([[1.0, 2.0], [rating, 2.0]]),
    ):
        with pytest.raises(DataError, match=re.escape(in_matrix)):
            ratings_from_matrix(matrix)
    with pytest.raises(DataError, match="at position 1 is not between 1e-50 and"):
        Ratings.from_arrays([0, 0], [0, 1], [1.0, rating])


def test_ratings_of_any_ordinary_size_are_accepted() -> None:
    values = [0.0, 1e-50, -1e50, 1e50, -1e-9]
    assert ratings_from_arrays(range(5), range(5), values).ratings.values.tolist() == values


def test_ratings_outside_the_scale_are_refused() -> None:
    rows = [("a", 1, 1.0), ("a", 2, 5.0), ("b", 1, 6.0), ("b", 2, 0.0)]
    with pytest.raises(
        DataError,
        match=r"2 ratings lie outside the scale from 1 to 5: 6 \(user 'b', "
        r"item 1\), 0 \(user 'b', item 2\); correct them, or pass the actual scale",
    ):
        ratings_from_frame(frame(*rows), scale=(1, 5))
    assert ratings_from_frame(frame(*rows), scale=(0, 6)).ratings.n_values == 4
    for scale in ((5, 1), (1,), "x", (NAN, 1)):
        with pytest.raises(
            DataError, match=r"the scale is .*; pass the lowest and the highest rating"
        ):
            ratings_from_frame(frame(*rows), scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            pl.DataFrame({"user": [], "item": [], "rating": []}),
            "the table has 3 columns but no rows",
        ),
        (pd.DataFrame(), "the table has 0 columns but no rows"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["user", "user", "rating"]),
            "several columns of the same na",
        ),
        (pd.DataFrame([[1, 2, 3]]), "neither the index nor the first column looks like the users"),
        ({"user": [1]}, "got an object of type dict; pass a data frame of pandas, polars"),
        (np.ones((3, 3)), "got an object of type ndarray; pass a data frame"),
        (
            frame((None, 1, 1.0), ("a", 2, 1.0)),
            r"1 of 2 user ids are missing \(row 0, counting from 0\); rem",
        ),
        (
            frame((1, "x", 1.0), (1, None, 1.0)),
            r"1 of 2 item ids are missing \(row 1, counting from 0\); rem",
        ),
        (
            pd.DataFrame(columns([(1, 1, 1), ("1", 1, 1)])),
            r"user ids have different types: 1 \(i",
        ),
        (
            pl.DataFrame({"a": [1], "b": [2], "c": [3], "d": [4]}),
            r"names are not recognised, and 'd' \(by position the times\) contains no",
        ),
        (
            pl.DataFrame({"a": [1.5], "b": [2], "c": [3]}),
            r"'a' \(by position the users\) contains fractions",
        ),
        (
            pl.DataFrame({k: range(101) for k in "abc"}),
            r"'c' \(by position the ratings\) contains more than 100 distinct whole",
        ),
        (pl.DataFrame({k: ["x"] for k in "abc"}), "ratings in column 'c' is not a number"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ratings_from_frame(data)


@pytest.mark.parametrize("name", ["duplicates", "missing"])
def test_unknown_choices_are_refused(name: str) -> None:
    with pytest.raises(DataError, match=f"{name} is 'eror'; did you mean 'error'"):
        ratings_from_frame(frame(("a", 1, 1.0)), **{name: "eror"})  # type: ignore[arg-type]


def test_positions_identify_where_no_name_does_and_it_is_reported() -> None:
    times = [978300760, 978300761]
    table = ratings_from_frame(pl.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 4], "d": times}))
    assert as_dict(table) == {(1, 3): 5.0, (2, 4): 4.0}
    assert table.assumed == (
        "By position, 'a' holds the users, 'b' holds the items, 'c' holds the ratings.",
    )


def test_trivial_tables_are_tables() -> None:
    for rows in ([("a", 1, 3.0)], [("a", 1, 3.0), ("a", 2, 4.0)], [("a", 1, 3.0), ("b", 1, 4.0)]):
        assert as_dict(ratings_from_frame(frame(*rows))) == {row[:2]: row[2] for row in rows}
    equal = ratings_from_frame(frame(("a", 1, 3.0), ("b", 2, 3.0)))
    assert equal.assumed[-1] == "All ratings are 3; there is nothing to learn."


def test_giant_ids_take_no_memory() -> None:
    ratings_from_arrays([0], [0], [1.0])
    tracemalloc.start()
    table = ratings_from_arrays([0, 10**18], [10**18, -4], [1.0, 2.0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert as_dict(table) == {(0, 10**18): 1.0, (10**18, -4): 2.0}
    assert peak < 2**20


OWNED = [("ann", 1, 1.0, "north"), ("bob", 1, 2.0, "south"), ("ann", 2, 3.0, "north")]


def test_a_column_may_name_the_agents() -> None:
    table = ratings_from_frame(frame(*OWNED), agent="hospital")
    assert table.agents is not None and table.owners is not None
    assert table.agents.at(table.owners).to_list() == ["north", "south"]


def test_a_user_of_two_agents_is_two_users_unless_refused() -> None:
    shared = frame(*OWNED, ("ann", 2, 1.0, "south"))  # and the same item, which is no duplicate
    table = ratings_from_frame(shared, agent="hospital")
    assert table.users.series.to_list() == ["ann", "ann", "bob"]
    assert table.users.owners is not None and table.owners is not None
    assert table.users.owners.to_list() == ["north", "south", "south"]
    assert table.owners.tolist() == [0, 1, 1]
    assert [part.values.tolist() for part in table.split(1)] == [[1.0, 3.0], [1.0, 2.0]]
    note = "1 user id has ratings with several agents, such as 'ann' with 'north' and 'south'; "
    assert table.assumed[-1] == note + "they are separate users."
    with pytest.raises(DataError, match=note + r"rename or .* use shared_users='separate'"):
        ratings_from_frame(shared, agent="hospital", shared_users="error")
    with pytest.raises(DataError, match="shared_users is 'both'; choose"):
        ratings_from_frame(shared, agent="hospital", shared_users="both")  # type: ignore[arg-type]
    assert table.digest() != ratings_from_frame(shared, duplicates="last").digest()


def test_a_column_of_agents_must_exist() -> None:
    with pytest.raises(
        DataError, match=r"no column 'ward' for the agents; .*The columns are 'user'"
    ):
        ratings_from_frame(frame(*OWNED), agent="ward")


def test_a_user_of_two_tables_is_two_users_unless_refused() -> None:
    tables = [frame(("a", 1, 1.0), ("b", 1, 1.0)), frame(("b", 2, 1.0))]
    table = ratings_from_frames(tables)
    assert table.users.owners is not None and table.users.owners.to_list() == [0, 0, 1]
    with pytest.raises(DataError, match="several tables, such as 'b' in 0 and 1; rename or merge"):
        ratings_from_frames(tables, shared_users="error")


def test_tables_of_several_owners_are_united() -> None:
    north = pd.DataFrame(columns([("zoe", 2, 1.0), ("ann", 1, 2.0)]))
    south = pa.table({"Movie": [3, 1], "member": ["bob", "bob"], "stars": [5, 4]})
    table = ratings_from_frames([north, south])
    assert as_dict(table) == {("ann", 1): 2.0, ("bob", 1): 4.0, ("bob", 3): 5.0, ("zoe", 2): 1.0}
    assert table.owners is not None and table.owners.tolist() == [0, 1, 0]
    assert table.agents is None
    assert table.assumed[1].startswith("Table 1: By name, 'member' holds the users")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "there are no tables; pass at least one"),
        ([frame(("a", 1, 1.0)), frame(("b", 1, NAN))], "table 1: 1 of 1 ratings are missing, NaN"),
        (
            [frame(("a", 7, 1.0)), frame(("b", "7", 1.0))],
            r"ids of table 0 are whole numbers \(such as 7\), but those of table 1 are text \(such",
        ),
    ],
)
def test_tables_that_do_not_go_together_are_refused(tables: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ratings_from_frames(tables)


DENSE = np.array([[1.0, NAN, 0.0], [NAN, NAN, NAN], [NAN, 2.0, NAN]])


def test_a_table_is_refused_if_a_fit_would_need_more_memory_than_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hundred million ratings need 12.8 GB, of which a machine with 20 GB has room."""
    monkeypatch.setattr(memory, "available_memory", lambda: 20 * 10**9)
    require_ratings_memory(10**8, "a table")
    monkeypatch.setattr(memory, "available_memory", lambda: 128 * 2)
    table = ratings_from_arrays([1], [1], [5.0])
    assert table.n_ratings == 1
    message = "^a table of 2 ratings needs about 0.0 MB of memory, more than 80%"
    with pytest.raises(DataError, match=message):
        ratings_from_arrays([1, 2], [1, 2], [5.0, 4.0])


def test_matrices_have_users_as_rows() -> None:
    stored = sparse.coo_array(([1.0, 0.0, 2.0], ([0, 0, 2], [0, 2, 1])), shape=(3, 3))
    wanted = {(0, 0): 1.0, (0, 2): 0.0, (2, 1): 2.0}
    for form in (
        DENSE,
        np.asfortranarray(DENSE),
        DENSE.tolist(),
        stored.tocsr(),
        stored.tocsc(),
        sparse.csr_matrix(stored),
        stored.astype("i2"),
    ):
        table = ratings_from_matrix(form)
        assert as_dict(table) == wanted
        assert table.users.series.to_list() == table.items.series.to_list() == [0, 1, 2]
    assert table.report == {
        "ratings": 3, "users": 3, "items": 3, "users_without_rating": 1,
        "users_with_one_rating": 1, "items_without_rating": 0, "items_with_one_rating": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([[1.0, INF]]), "1 of 2 ratings are NaN or infinite"),
        (np.array([[NAN]]), "there are no ratings; pass at least one"),
        (None, "the ratings are of type NoneType; pass a data frame, a file, a matrix or a dict"),
        (np.array([1.0]), r"the matrix has shape \(1,\); pass a 2-d matrix with one row per user"),
        (np.array([[True]]), "the ratings are of type bool"),
        (sparse.csr_array([[True]]), "the ratings are of type bool"),
        (np.array([["x"]]), "the ratings are of type <U1"),
        (sparse.coo_array(([1.0, 2.0], ([0, 0], [0, 0]))), "1 rating repeats an existing entry"),
        (np.ma.masked_array([[1.0]], [[True]]), "masked"),
    ],
)
def test_matrices_that_cannot_be_used_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ratings_from_matrix(matrix)


def test_a_file_reports_what_was_assumed_of_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user_id;stars;book\n007;4;a\n7;5;a\n")
    table = ratings_from_frame(read_table(tmp_path / "x.csv"))
    assert as_dict(table) == {("007", "a"): 4.0, ("7", "a"): 5.0}
    assert [sentence.split("x.csv ")[-1] for sentence in table.assumed] == [
        "is separated by semicolons.",
        "has a header.",
        "By name, 'user_id' holds the users, 'book' holds the items, 'stars' holds the ratings.",
    ]


@pytest.mark.parametrize("name", ["ml-100k/u.data", "ml-1m/ratings.dat"])
def test_movielens_is_what_its_own_reader_reads(name: str) -> None:
    path = real_file(name)
    table, published = ratings_from_frame(read_table(path)), read_movielens(path)
    assert np.array_equal(table.users.series.to_numpy(), published.users.series.to_numpy())
    assert np.array_equal(table.items.series.to_numpy(), published.items.series.to_numpy())
    for part in ("starts", "items", "values"):
        assert np.array_equal(getattr(table.ratings, part), getattr(published.ratings, part))
