from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from grassvine.data import Ratings
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream

N_USERS, N_ITEMS = 5, 4
USERS = np.array([3, 0, 1, 0, 3, 3])
ITEMS = np.array([2, 3, 1, 0, 0, 3])
VALUES = np.array([0.5, -1.0, 2.0, 3.25, 0.0, 8.0])

entries = st.lists(
    st.sampled_from(list(product(range(N_USERS), range(N_ITEMS)))), min_size=1, unique=True
)


def table_of(places: list[tuple[int, int]]) -> Ratings:
    values = np.sqrt(np.arange(1.0, len(places) + 1))
    users, items = np.array(places).T
    return Ratings.from_arrays(users, items, values, n_users=N_USERS, n_items=N_ITEMS)


def bits(ratings: Ratings) -> tuple[int, list[bytes]]:
    arrays: list[NDArray[Any]] = [ratings.starts, ratings.items, ratings.values]
    return ratings.n_items, [array.tobytes() for array in arrays]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[NDArray[Any]], ArrayLike]] = {
    "lists": lambda a: a.tolist(),
    "read-only": read_only,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "narrow": lambda a: a.astype(np.uint8 if a.dtype.kind == "i" else np.float32),
    "strided": lambda a: np.repeat(a, 3)[1::3],
    "backwards": lambda a: a[::-1].copy()[::-1],
}


def test_entries_are_kept_user_by_user_in_the_order_of_items() -> None:
    ratings = Ratings.from_arrays(USERS, ITEMS, VALUES)
    assert ratings.starts.tolist() == [0, 2, 3, 3, 6]
    assert ratings.items.tolist() == [0, 3, 1, 0, 2, 3]
    assert ratings.values.tolist() == [3.25, -1.0, 2.0, 0.0, 0.5, 8.0]


def test_the_largest_numbers_count_where_no_count_is_given() -> None:
    ratings = Ratings.from_arrays(USERS, ITEMS, VALUES)
    assert (ratings.n_users, ratings.n_items, ratings.n_values) == (4, 4, 6)


def test_given_counts_include_users_and_items_without_rating() -> None:
    ratings = Ratings.from_arrays(USERS, ITEMS, VALUES, n_users=6, n_items=10)
    assert (ratings.n_users, ratings.n_items, ratings.density) == (6, 10, 0.1)


@given(entries)
def test_every_entry_is_found_again(places: list[tuple[int, int]]) -> None:
    ratings = table_of(places)
    found = zip(ratings.users_of_values().tolist(), ratings.items.tolist(), strict=True)
    wanted = {place: np.sqrt(k) for k, place in enumerate(places, start=1)}
    assert dict(zip(found, ratings.values.tolist(), strict=True)) == wanted


@given(entries, st.integers(0, 1000))
def test_shuffled_rows_give_the_same_bits(places: list[tuple[int, int]], seed: int) -> None:
    users, items = np.array(places).T
    values = np.sqrt(np.arange(1.0, len(places) + 1))
    order = stream(seed, "test").permutation(len(places))
    shuffled = Ratings.from_arrays(
        users[order], items[order], values[order], n_users=N_USERS, n_items=N_ITEMS
    )
    assert bits(shuffled) == bits(table_of(places))


@given(entries, st.integers(0, N_USERS))
def test_users_taken_in_two_parts_make_up_the_whole(
    places: list[tuple[int, int]], cut: int
) -> None:
    whole = table_of(places)
    parts = [whole.take_users(0, cut), whole.take_users(cut, N_USERS)]
    users = np.concatenate(
        [p.users_of_values() + at for p, at in zip(parts, (0, cut), strict=True)]
    )
    items = np.concatenate([p.items for p in parts])
    values = np.concatenate([p.values for p in parts])
    again = Ratings.from_arrays(users, items, values, n_users=N_USERS, n_items=N_ITEMS)
    assert [p.n_users for p in parts] == [cut, N_USERS - cut]
    assert bits(again) == bits(whole)


def test_taken_users_are_numbered_from_zero_and_share_the_entries() -> None:
    ratings = Ratings.from_arrays(USERS, ITEMS, VALUES)
    taken = ratings.take_users(1, 4)
    assert taken.starts.tolist() == [0, 1, 1, 4]
    assert taken.users_of_values().tolist() == [0, 2, 2, 2]
    assert np.shares_memory(taken.stored, ratings.stored)
    assert np.shares_memory(taken.items, ratings.items)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_same_bits_and_is_left_as_it_was(
    layout: Callable[[NDArray[Any]], ArrayLike],
) -> None:
    inputs = [layout(array) for array in (USERS, ITEMS, VALUES)]
    assert bits(Ratings.from_arrays(*inputs)) == bits(Ratings.from_arrays(USERS, ITEMS, VALUES))
    for given_array, before in zip(inputs, (USERS, ITEMS, VALUES), strict=True):
        assert np.array_equal(np.asarray(given_array), before)


def test_a_later_change_of_the_input_does_not_reach_the_ratings() -> None:
    users, items, values = np.arange(3), np.arange(3), np.ones(3)
    ratings = Ratings.from_arrays(users, items, values)
    before = bits(ratings)
    for array in (users, items, values):
        array[:] = 0
    assert bits(ratings) == before


NAN, INF = np.nan, np.inf
REFUSALS: list[tuple[Any, Any, Any, str]] = [
    ([0, 1], [0, 1], [1, NAN], r"1 of 2 .* NaN or infinite \(at positions 1\); omit unknown"),
    ([0] * 6, range(6), [1, NAN, INF, 2, -INF, NAN], r"4 of 6 .* \(at positions 1, 2, 4, …\)"),
    ([2, 0, 2, 0], [0, 1, 0, 1], [1] * 4, r"2 ratings repeat .*: \(user 0, item 1\), \(user 2, "),
    ([0, 1, 2, 3] * 2, [0] * 8, [1] * 8, r"4 .* \(user 2, item 0\), …; keep one rating per user"),
    ([0, -1], [0, 1], [1, 1], "user index -1 at position 1 is out of range; .* from 0 to 0"),
    ([0, 1], [0, -3], [1, 1], "item index -3 at position 1 is out of range; .* from 0 to 0"),
    ([0, 1, 2], [0, 1], [1], "3 users, 2 items and 1 values; pass one of each per rating"),
    ([0.0], [0], [1], "user indices are of type float64; pass integers.*ratings_from_arrays takes"),
    ([True], [0], [1], "user indices are of type bool; pass integers from 0"),
    ([0], ["tea"], [1], "item indices are of type <U3; pass integers.*ratings_from_arrays takes"),
    ([[0, 1]], [0, 1], [1, 1], "user indices have 2 dimensions; pass a 1-d array"),
    ([0, 1], [0, 1], [[1, 1]], "ratings have 2 dimensions; pass a 1-d array"),
    ([0], [0], ["good"], r"ratings cannot be converted to real numbers \(.*'good'\)"),
    ([2**62], [0], [1], "largest user index is 4611686018427387904, .*; index only the users"),
    (np.array([2**64 - 1], np.uint64), [0], [1], "largest user index is 18446744073709551615"),
    ([[0], [0, 1]], [0], [1], "user indices are not an array .*; pass a 1-d array"),
    ([0, 1], [0, 1], np.ma.masked_equal([1, 2], 2), "ratings is a masked array; drop the masked"),
    ([-1], [0], [1], "user index -1 at position 0 is out of range"),
    ([], [], [], "there are no ratings; pass at least one"),
    ([0], [2**31], [1], "largest item index is 2147483648, above .*; index only the items"),
]


@pytest.mark.parametrize(("users", "items", "values", "message"), REFUSALS)
def test_bad_ratings_are_refused(users: Any, items: Any, values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Ratings.from_arrays(users, items, values)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"n_users": 2}, "user index 3 at position 0 is out of range; with 2 users, .* 0 to 1"),
        ({"n_items": 3}, "item index 3 at position 1 is out of range; with 3 items, .* 0 to 2"),
        ({"n_users": 0}, "n_users is 0; choose a number from 1 to 2147483647"),
        ({"n_items": True}, "n_items must be an integer, not True; pass an int"),
        ({"n_users": 2.0}, "n_users must be an integer, not 2.0; pass an int"),
    ],
)
def test_counts_that_do_not_fit_are_refused(counts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Ratings.from_arrays(USERS, ITEMS, VALUES, **counts)


@pytest.mark.parametrize(("first", "last"), [(2, 0), (-2, 2), (0, 99)])
def test_only_a_range_of_users_can_be_taken(first: int, last: int) -> None:
    ratings = Ratings.from_arrays(USERS, ITEMS, VALUES)
    with pytest.raises(DataError, match=f"{first} … {last} is not a valid range of the .* users"):
        ratings.take_users(first, last)
