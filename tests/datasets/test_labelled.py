from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.rating_files import as_dict, wanted

from grassvine.datasets import LabelledRatings
from grassvine.foundations.errors import DataError

places = st.lists(st.sampled_from(list(product(range(6), range(6)))), min_size=1, unique=True)


@given(places, st.sampled_from([1, 1000]), st.sampled_from(["i4", "u4", "i8"]))
def test_every_rating_is_found_again_under_its_ids(
    table: list[tuple[int, int]], spread: int, kind: str
) -> None:
    # Ids far apart are numbered by sorting, ids close together by a table.
    spread_out = [(user * spread, item * spread, k) for k, (user, item) in enumerate(table)]
    users, items, values = zip(*spread_out, strict=True)
    labelled = LabelledRatings.from_columns(np.array(users, kind), np.array(items, kind), values)
    assert as_dict(labelled) == wanted(spread_out)
    assert labelled.user_ids.tolist() == sorted(set(users))
    assert labelled.item_ids.tolist() == sorted(set(items))
    assert labelled.user_ids.dtype == labelled.item_ids.dtype == np.dtype(kind)


@pytest.mark.parametrize("stretch", [1, 100])
def test_only_ids_that_occur_are_numbered(stretch: int) -> None:
    users = np.array([4, 0, 4, 1, 1]) * stretch
    labelled = LabelledRatings.from_columns(users, [0, 0, 2, 2, 0], [1, 2, 3, 4, 5])
    assert labelled.user_ids.tolist() == [0, stretch, 4 * stretch]
    assert labelled.item_ids.tolist() == [0, 2]
    assert labelled.ratings.starts.tolist() == [0, 1, 3, 5]
    assert labelled.ratings.items.tolist() == [0, 0, 1, 0, 1]
    assert labelled.ratings.values.tolist() == [2, 5, 4, 1, 3]


def test_ids_may_be_negative_or_strings() -> None:
    labelled = LabelledRatings.from_columns(["tea", "ale", "tea"], [-5, 0, 0], [1, 2, 3])
    assert labelled.user_ids.tolist() == ["ale", "tea"]
    assert labelled.item_ids.tolist() == [-5, 0]
    assert as_dict(labelled) == {("tea", -5): 1, ("ale", 0): 2, ("tea", 0): 3}
    few = LabelledRatings.from_columns([0, 0, -1], [0, 1, 1], [1, 2, 3])
    assert as_dict(few) == {(0, 0): 1, (0, 1): 2, (-1, 1): 3}


@pytest.mark.parametrize(
    ("users", "items", "values", "message"),
    [
        ([9, 9], [4, 4], [1, 2], "1 ratings repeat an entry that is there already"),
        ([9, 8], [4, 4], [1, np.nan], "1 of 2 ratings are NaN"),
        ([9], [4, 5], [1], "1 users, 2 items and 1 values; give one of each"),
        ([], [], [], "no rating at all; give at least one"),
        (np.array([1, "tea"], object), [0, 1], [1, 1], "user ids cannot be put in order .*1-d"),
        ([0, 1], [[0], [0, 1]], [1, 1], "item ids cannot be put in order .*; give a 1-d array"),
        ([[0, 1]], [0, 1], [1, 1], "user numbers have 2 axes; give a 1-d array"),
    ],
)
def test_bad_columns_are_refused(users: Any, items: Any, values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        LabelledRatings.from_columns(users, items, values)
