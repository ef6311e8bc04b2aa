from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from grassvine.data.tables import RatingTable, ratings_from_frame
from grassvine.foundations.errors import DataError

NAN = float("nan")
FILMS = {
    "Alien": [5.0, NAN, 1.0],
    "Brazil": [NAN, 2.0, NAN],
    "Casablanca": [4.0, 3.0, NAN],
    "Dune": [1.0, NAN, 2.0],
}
WANTED = {
    ("ann", "Alien"): 5.0,
    ("ann", "Casablanca"): 4.0,
    ("ann", "Dune"): 1.0,
    ("bob", "Brazil"): 2.0,
    ("bob", "Casablanca"): 3.0,
    ("eve", "Alien"): 1.0,
    ("eve", "Dune"): 2.0,
}
USERS = ["ann", "bob", "eve"]


def as_dict(table: RatingTable) -> dict[Any, float]:
    users = table.users.at(table.ratings.users_of_values()).to_list()
    items = table.items.at(table.ratings.items).to_list()
    return dict(zip(zip(users, items, strict=True), table.ratings.values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("frame", "users"),
    [
        (pd.DataFrame({"name": USERS, **FILMS}), "'name'"),
        (pl.DataFrame({"name": USERS, **FILMS}), "'name'"),
        (pl.LazyFrame({"name": USERS, **FILMS}), "'name'"),
        (pd.DataFrame({**FILMS, "reviewer": USERS}).set_index("reviewer").assign(X=NAN), "the ind"),
        (pd.DataFrame(FILMS, index=USERS).rename_axis(columns="film"), "the index"),
    ],
)
def test_a_row_per_user_is_as_a_row_per_rating(frame: Any, users: str) -> None:
    table = ratings_from_frame(frame)
    assert as_dict(table) == WANTED
    assert table.assumed[0].startswith(f"The table is wide: {users}")


def test_a_pivot_has_numbers_as_items_and_users() -> None:
    long = pd.DataFrame({"user": [7, 7, 9], "item": [30, 5, 5], "rating": [1.0, 2.0, 3.0]})
    pivot = long.pivot(index="user", columns="item", values="rating")
    for frame in (pivot, pivot.reset_index()):
        assert as_dict(ratings_from_frame(frame)) == as_dict(ratings_from_frame(long))


def test_rows_of_a_wide_table_may_have_owners_and_a_chosen_column_of_users() -> None:
    frame = pl.DataFrame({**FILMS, "shop": ["x", "y", "x"], "number": [3, 1, 2]})
    table = ratings_from_frame(frame, user="number", agent="shop")
    assert table.users.series.to_list() == [1, 2, 3]
    assert table.owners is not None and table.owners.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (pd.DataFrame({"id": [1, 2, 3], **FILMS}), {}, "neither the index nor the first column"),
        (
            pd.DataFrame({"name": USERS, **FILMS}, index=["x", "y", "z"]),
            {},
            "both the index and the first column",
        ),
        (
            pd.DataFrame({"name": USERS, **FILMS, "Book": [1.0, 2.0, 3.0]}),
            {},
            "no column name of the table identifies the users and ratings",
        ),
        (pd.DataFrame({"name": USERS, **FILMS, "note": USERS}), {}, "no column name of the table"),
        (pd.DataFrame({0: USERS, 1: [1.0] * 3}), {"item": "x"}, "the column name 0 is not text"),
        (
            pd.DataFrame({"name": USERS, **FILMS, "E.T.": [1.0, 1e300, NAN]}),
            {},
            "the rating 1e.300 of user 'bob', item 'E.T.' is not between",
        ),
    ],
)
def test_what_may_be_wide_or_not_is_refused(frame: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ratings_from_frame(frame, **options)


def test_a_matrix_of_numbers_is_no_wide_table() -> None:
    with pytest.raises(DataError, match="options: user, or item and rating"):
        ratings_from_frame(pd.DataFrame(np.ones((4, 6)), columns=list("abcdef")))
