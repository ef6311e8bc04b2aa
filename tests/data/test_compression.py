"""Sorting by counting and by key give the same entries, and values are kept in as few bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data import Ratings, compression
from grassvine.data.compression import compressed, narrowed, repetitions
from grassvine.data.tables import ratings_from_arrays
from grassvine.data.tables.rating_table import RatingTable
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream

entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60)
real = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("small", [0, 2**16])
@given(places=entries)
def test_entries_are_sorted_by_user_and_item(small: int, places: list[tuple[int, int]]) -> None:
    user, item = np.array(places).T
    place = np.arange(len(places))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "SMALL", small)
        starts, items, rows = compressed([user, item, place], 5, 7)
    users = np.repeat(np.arange(5), np.diff(starts))
    assert starts.dtype == np.int64 and items.dtype == np.int32
    assert list(zip(users.tolist(), items.tolist(), strict=True)) == sorted(places)
    assert sorted(rows.tolist()) == place.tolist()
    assert np.array_equal(user[rows], users) and np.array_equal(item[rows], items)
    before = [(users[k - 1], items[k - 1]) == (users[k], items[k]) for k in range(1, len(items))]
    assert repetitions(starts, items).tolist() == [k + 1 for k, same in enumerate(before) if same]


@pytest.mark.parametrize("duplicates", ["mean", "last"])
@given(places=entries, seed=st.integers(0, 1000))
def test_tables_of_both_ways_have_the_same_bits(
    duplicates: str, places: list[tuple[int, int]], seed: int
) -> None:
    user, item = np.array(places).T
    values = stream(seed, "test").standard_normal(len(places))

    def table(small: int) -> RatingTable:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compression, "SMALL", small)
            return ratings_from_arrays(user, item, values, duplicates=duplicates)  # type: ignore[arg-type]

    one, other = table(0), table(2**16)
    assert one.digest() == other.digest() and one.assumed == other.assumed
    expected: dict[tuple[int, int], list[float]] = {}
    for place, value in zip(places, values, strict=True):
        expected.setdefault(place, []).append(value)
    found = zip(one.ratings.users_of_values(), one.ratings.items, one.ratings.values, strict=True)
    for own_user, own_item, value in found:
        all_of_pair = expected[one.users.series[int(own_user)], one.items.series[int(own_item)]]
        if duplicates == "last":
            assert value == all_of_pair[-1]
        else:
            # at most 60 values are added, each rounded by half a unit
            scale = np.abs(all_of_pair).sum()
            assert abs(value - np.mean(all_of_pair)) <= 60 * np.finfo(float).eps * scale


def test_counting_refuses_repeated_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "SMALL", 0)
    with pytest.raises(DataError, match=r"2 ratings repeat .* \(user 0, item 1\), \(user 2, item"):
        Ratings.from_arrays([2, 0, 0, 2], [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0])


@given(st.lists(real | st.floats(width=32, allow_nan=False), min_size=1))
def test_values_are_float32_where_all_survive_the_round_trip(numbers: list[float]) -> None:
    given_values = np.array(numbers)
    kept = narrowed(given_values)
    assert np.array_equal(kept.astype(np.float64), given_values)
    assert np.array_equal(np.signbit(kept), np.signbit(given_values))
    with np.errstate(over="ignore", under="ignore"):
        survive = np.array_equal(given_values.astype(np.float32), given_values)
    assert kept.dtype == (np.float32 if survive else np.float64)


def test_stars_take_eight_bytes_a_rating_and_are_float64_for_arithmetic() -> None:
    stars = Ratings.from_arrays([0, 1, 1], [0, 0, 1], [3.5, 4.0, 0.5])
    assert stars.stored.dtype == np.float32 and stars.items.dtype == np.int32
    assert stars.values.dtype == np.float64
    assert stars.shifted(0.1).values.tolist() == [3.5 + 0.1, 4.0 + 0.1, 0.5 + 0.1]
    tenths = Ratings.from_arrays([0, 1], [0, 0], [0.1, 4.0])
    assert tenths.stored.dtype == np.float64 and tenths.values.tolist() == [0.1, 4.0]


@pytest.mark.parametrize("value", [1e-45, 3e38])
def test_extreme_float32_values_are_judged_as_float64(value: float) -> None:
    single = np.array([value], np.float32)
    assert Ratings.from_arrays([0], [0], single).values[0] == float(single[0])
