from fractions import Fraction

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from grassvine.data.stored.exact_sums import exact_sum


def summed(values: list[float]) -> Fraction:
    largest = max(map(abs, values), default=0.0)
    table = pl.LazyFrame({"value": values}, schema={"value": pl.Float64})
    return exact_sum(table, pl.col("value"), largest, "a table")


@settings(deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_the_sum_is_that_of_fractions(values: list[float]) -> None:
    wanted = sum(map(Fraction, values), Fraction(0))
    # What lies below a unit is cut off: less than one for each value. Where the largest value is
    # below 2⁻⁹²⁰, a unit cannot be finer than 2⁻¹⁰⁰⁰.
    unit = max(Fraction(max(map(abs, values), default=0.0)) / 2**79, Fraction(1, 2**1000))
    assert abs(summed(values) - wanted) <= len(values) * unit


@settings(deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40).map(lambda k: k / 4), max_size=30))
def test_quarters_are_added_up_without_any_error(values: list[float]) -> None:
    assert summed(values) == sum(map(Fraction, values), Fraction(0))


def test_values_that_floats_would_lose_are_counted() -> None:
    assert summed([1e16, 1.0, -1e16]) == 1
